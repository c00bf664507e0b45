//! Resizes the chat with the window.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

use super::Chat;
use crate::app::Input;

/// A window that is dragged changes its size many times; the chat is redrawn when it rests.
const SETTLING: Duration = Duration::from_millis(80);

/// How long the terminal may take to report the cursor.
///
/// Limit: after a resize, the live part is drawn where it should be although the terminal did not report its
/// cursor.
const LOCATING_TIME: Duration = Duration::from_secs(2);

/// The window is being resized. Nothing is drawn until the place for it is known.
pub(super) enum Resized {
    /// The size may still change.
    Settling {
        size: (usize, usize),
        until: Instant,
    },
    /// The size is final, and the terminal was asked for the cursor.
    Locating {
        size: (usize, usize),
        until: Instant,
    },
}

impl Resized {
    /// A size that may still change.
    pub(super) fn step(size: (usize, usize)) -> Self {
        Self::Settling {
            size,
            until: Instant::now() + SETTLING,
        }
    }

    /// A size that is final.
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

    /// When the next step is due.
    pub(super) fn when(&self) -> Instant {
        match self {
            Self::Settling { until, .. } | Self::Locating { until, .. } => *until,
        }
    }
}

impl Chat {
    /// The size is final, or the terminal has not reported the cursor.
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

    /// The terminal has reported the cursor, or not in time (`None`).
    pub(super) fn find_live(&mut self, cursor: Option<(usize, usize)>) -> io::Result<()> {
        // A late answer: the window is changing again.
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
