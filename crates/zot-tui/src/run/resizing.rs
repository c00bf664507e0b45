//! The window gets another size.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

use super::Chat;
use crate::app::Input;

/// A window that is dragged changes its size many times; all is drawn anew when it stands still.
const SETTLING: Duration = Duration::from_millis(80);

/// The window is getting another size, step by step while it is dragged.
pub(super) struct Resized {
    size: (usize, usize),
    /// When it has not changed any more for long enough.
    pub(super) settled: Instant,
}

impl Resized {
    /// One step on the way.
    pub(super) fn step(size: (usize, usize)) -> Self {
        Self {
            size,
            settled: Instant::now() + SETTLING,
        }
    }

    /// It has this size for good.
    pub(super) fn settled(size: (usize, usize)) -> Self {
        Self {
            size,
            settled: Instant::now(),
        }
    }
}

impl Chat {
    /// It stands still.
    pub(super) fn take_resize(&mut self) -> io::Result<()> {
        if let Some(Resized { size, .. }) = self.resized.take() {
            let (columns, rows) = size;
            self.take(Input::Resized { columns, rows })?;
            self.draw()?;
        }
        Ok(())
    }
}
