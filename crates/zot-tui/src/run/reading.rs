//! Shows the transcript on the alternate screen.

use std::io;

use super::Chat;
use super::resizing::Resized;
use crate::renderer::Fullscreen;

/// The screen that covers the chat.
pub(super) struct Covered {
    screen: Fullscreen,
    /// The size when the chat was covered.
    size: (usize, usize),
}

impl Chat {
    /// Draws the transcript if it is open, or else uncovers the chat. Returns whether nothing else must be
    /// drawn now.
    pub(super) fn draw_fullscreen(&mut self) -> io::Result<bool> {
        let size = self.app.size();
        let Some((lines, cursor)) = self.app.pager_frame() else {
            let Some(size) = self.leave_fullscreen()? else {
                return Ok(false);
            };
            // The terminal has moved the covered lines.
            self.screen.resized = Some(Resized::settled(size));
            return Ok(true);
        };
        if self.screen.fullscreen.is_none() {
            self.terminal.enter_fullscreen()?;
        }
        let depth = self.screen.renderer.depth();
        let covered = self.screen.fullscreen.get_or_insert_with(|| Covered {
            screen: Fullscreen::new(depth),
            size,
        });
        let bytes = covered.screen.draw(lines, cursor, size);
        self.terminal.write(bytes.as_bytes())?;
        Ok(true)
    }

    /// Uncovers the chat, if it is covered. Returns its size if it has changed.
    pub(super) fn leave_fullscreen(&mut self) -> io::Result<Option<(usize, usize)>> {
        let Some(covered) = self.screen.fullscreen.take() else {
            return Ok(None);
        };
        self.app.pager = None;
        self.terminal.leave_fullscreen()?;
        let size = self.app.size();
        Ok((size != covered.size).then_some(size))
    }
}
