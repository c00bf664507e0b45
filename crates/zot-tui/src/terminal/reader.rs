//! Waits for what comes from the terminal.

use std::io;
use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// How much is read at once.
const READ_BYTES: usize = 4096;

/// Standard input, whose flags are left alone: others may share the terminal.
pub(super) struct Reader(AsyncFd<BorrowedFd<'static>>);

impl Reader {
    pub(super) fn new() -> io::Result<Self> {
        #[expect(
            deprecated,
            reason = "the successor is unsafe because a descriptor might be closed early; the \
                      standard streams stay open"
        )]
        let descriptor = AsyncFd::with_interest(stdin(), Interest::READABLE)?;
        Ok(Self(descriptor))
    }

    /// What has come; nothing when the terminal is gone. Nothing is lost when this is dropped.
    pub(super) async fn read(&self) -> io::Result<Vec<u8>> {
        loop {
            let mut guard = self.0.readable().await?;
            // Readiness is remembered from earlier; only the kernel knows whether it still holds.
            if !is_readable()? {
                guard.clear_ready();
                continue;
            }
            let mut bytes = vec![0; READ_BYTES];
            match rustix::io::read(stdin(), &mut bytes) {
                Ok(count) => {
                    bytes.truncate(count);
                    return Ok(bytes);
                }
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn is_readable() -> io::Result<bool> {
    let input = stdin();
    let mut descriptors = [PollFd::from_borrowed_fd(input, PollFlags::IN)];
    match poll(&mut descriptors, Some(&Timespec::default())) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
