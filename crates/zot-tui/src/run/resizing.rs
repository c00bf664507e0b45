//! The window gets another size.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

use super::Chat;
use crate::app::Input;

/// A window that is dragged changes its size many times; all is drawn anew when it stands still.
const SETTLING: Duration = Duration::from_millis(80);

/// How long the terminal may take to say where the cursor is.
///
/// Limit: after a resize, the live part is drawn where it should be although the terminal did not report its
/// cursor.
const LOCATING_TIME: Duration = Duration::from_secs(2);

/// The window is getting another size. Nothing is drawn until it is known where that can be done.
pub(super) enum Resized {
    /// Step by step while it is dragged; it counts when it has not changed for long enough.
    Settling {
        size: (usize, usize),
        until: Instant,
    },
    /// It has this size for good, and was asked where the cursor is.
    Locating {
        size: (usize, usize),
        until: Instant,
    },
}

impl Resized {
    /// One step on the way.
    pub(super) fn step(size: (usize, usize)) -> Self {
        Self::Settling {
            size,
            until: Instant::now() + SETTLING,
        }
    }

    /// It has this size for good.
    pub(super) fn settled(size: (usize, usize)) -> Self {
        Self::Settling {
            size,
            until: Instant::now(),
        }
    }

    pub(super) fn size(&self) -> (usize, usize) {
        match self {
            Self::Settling { size, .. } | Self::Locating { size, .. } => *size,
        }
    }

    /// When it goes on by itself.
    pub(super) fn when(&self) -> Instant {
        match self {
            Self::Settling { until, .. } | Self::Locating { until, .. } => *until,
        }
    }
}

impl Chat {
    /// It stands still, or has not said where the cursor is.
    pub(super) fn take_resize(&mut self) -> io::Result<()> {
        match &self.screen.resized {
            Some(Resized::Settling { size, .. }) => {
                let size = *size;
                if self.screen.fullscreen.is_some()
                    || self.screen.renderer.is_empty()
                    || self.app.clears_for(size.0)
                {
                    return self.resize(size);
                }
                self.screen.resized = Some(Resized::Locating {
                    size,
                    until: Instant::now() + LOCATING_TIME,
                });
                self.terminal.ask_cursor()
            }
            Some(Resized::Locating { .. }) => {
                self.terminal.give_up_cursor();
                self.find_live(None)
            }
            None => Ok(()),
        }
    }

    /// The terminal says where the cursor is, or does not.
    pub(super) fn find_live(&mut self, cursor: Option<(usize, usize)>) -> io::Result<()> {
        // An answer that was not waited for: the window is changing again.
        let Some(Resized::Locating { size, .. }) = self.screen.resized else {
            return Ok(());
        };
        self.screen
            .renderer
            .relocate(cursor, size, self.screen.narrowing);
        self.resize(size)
    }

    fn resize(&mut self, (columns, rows): (usize, usize)) -> io::Result<()> {
        self.screen.resized = None;
        self.take(Input::Resized { columns, rows })?;
        self.draw()
    }
}
