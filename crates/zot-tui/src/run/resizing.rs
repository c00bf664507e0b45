//! Resizes the chat with the window.

use std::io;
use std::time::Duration;

use tokio::time::Instant;

use super::Chat;
use crate::app::Input;

/// How long the size must not change before the chat is redrawn: dragging changes it many times.
const SETTLING_TIME: Duration = Duration::from_millis(80);

/// How long the terminal may take to report the cursor.
///
/// Limit: after a resize, the live part is drawn where it should be, without knowing the cursor.
const LOCATING_TIME: Duration = Duration::from_secs(2);

/// A resize in progress. Nothing is drawn until the position of the live part is known.
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
    /// Creates a resize whose size may still change.
    pub(super) fn unsettled(size: (usize, usize)) -> Self {
        Self::Settling {
            size,
            until: Instant::now() + SETTLING_TIME,
        }
    }

    /// Creates a resize whose size is final.
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

    /// Returns when the next step is due.
    pub(super) fn due(&self) -> Instant {
        match self {
            Self::Settling { until, .. } | Self::Locating { until, .. } => *until,
        }
    }
}

impl Chat {
    /// Continues a resize when its size is final, or when the terminal has not reported the cursor.
    pub(super) fn continue_resize(&mut self) -> io::Result<()> {
        match &self.screen.resized {
            Some(Resized::Settling { size, .. }) => {
                let size = *size;
                if self.screen.fullscreen.is_some()
                    || self.screen.renderer.is_empty()
                    || self.app.clears_scrollback_at(size.0)
                {
                    return self.resize(size);
                }
                self.screen.resized = Some(Resized::Locating {
                    size,
                    until: Instant::now() + LOCATING_TIME,
                });
                self.terminal.query_cursor()
            }
            Some(Resized::Locating { .. }) => {
                self.terminal.forget_cursor_queries();
                self.locate_live_part(None)
            }
            None => Ok(()),
        }
    }

    /// Locates the live part by the reported cursor, or without it (`None`).
    pub(super) fn locate_live_part(&mut self, cursor: Option<(usize, usize)>) -> io::Result<()> {
        // A late report: the window is changing again.
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
        self.handle(Input::Resized { columns, rows })?;
        self.draw()
    }
}
