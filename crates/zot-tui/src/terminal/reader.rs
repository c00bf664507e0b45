//! Reads from the terminal.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

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

    /// Waits for input; empty when the terminal is gone. Cancel-safe.
    pub(super) async fn read(&self) -> io::Result<Vec<u8>> {
        loop {
            let mut guard = self.0.readable().await?;
            // Readiness is remembered from earlier; only the kernel knows whether it still holds.
            match read_within(Duration::ZERO)? {
                Some(bytes) => return Ok(bytes),
                None => guard.clear_ready(),
            }
        }
    }
}

/// Input that comes within `patience`; empty when the terminal is gone.
pub(super) fn read_within(patience: Duration) -> io::Result<Option<Vec<u8>>> {
    if !is_readable_within(patience)? {
        return Ok(None);
    }
    let mut bytes = vec![0; READ_BYTES];
    match rustix::io::read(stdin(), &mut bytes) {
        Ok(count) => {
            bytes.truncate(count);
            Ok(Some(bytes))
        }
        Err(Errno::INTR | Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_readable_within(patience: Duration) -> io::Result<bool> {
    let input = stdin();
    let mut descriptors = [PollFd::from_borrowed_fd(input, PollFlags::IN)];
    let patience = Timespec {
        tv_sec: patience.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: patience.subsec_nanos().into(),
    };
    match poll(&mut descriptors, Some(&patience)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
