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

    /// Waits for input, which is empty if the terminal has closed. Cancel-safe.
    pub(super) async fn read(&self) -> io::Result<Vec<u8>> {
        loop {
            let mut guard = self.0.readable().await?;
            // The readiness may be stale; only the kernel knows.
            match read_within(Duration::ZERO)? {
                Some(bytes) => return Ok(bytes),
                None => guard.clear_ready(),
            }
        }
    }
}

/// Returns input that arrives within `timeout`, which is empty if the terminal has closed.
pub(super) fn read_within(timeout: Duration) -> io::Result<Option<Vec<u8>>> {
    if !is_readable_within(timeout)? {
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

fn is_readable_within(timeout: Duration) -> io::Result<bool> {
    let input = stdin();
    let mut descriptors = [PollFd::from_borrowed_fd(input, PollFlags::IN)];
    let timeout = Timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    match poll(&mut descriptors, Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
