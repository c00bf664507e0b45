//! The alternate screen.

use std::fmt::Write as _;

use super::{BEGIN_UPDATE, END_UPDATE, Pen};
use crate::style::Depth;
use crate::text::Line;

/// Remembers what is on the alternate screen.
#[derive(Debug, Default)]
pub(crate) struct Fullscreen {
    depth: Depth,
    shown: Vec<Line>,
    size: (usize, usize),
}

impl Fullscreen {
    pub(crate) fn new(depth: Depth) -> Self {
        Self {
            depth,
            ..Self::default()
        }
    }

    /// Returns the bytes that turn the current screen into `lines`.
    pub(crate) fn draw(
        &mut self,
        lines: Vec<Line>,
        cursor: Option<(usize, usize)>,
        size: (usize, usize),
    ) -> String {
        let mut out = String::from(BEGIN_UPDATE);
        if size != self.size {
            out.push_str("\x1b[H\x1b[2J");
            self.shown.clear();
            self.size = size;
        }
        let mut pen = Pen::default();
        for (row, line) in lines.iter().enumerate().take(size.1) {
            if self.shown.get(row) == Some(line) {
                continue;
            }
            // Writing to a string does not fail.
            let _ = write!(out, "\x1b[{};1H", row + 1);
            pen.write(&mut out, line, self.depth);
            pen.reset(&mut out);
            out.push_str("\x1b[K");
        }
        self.shown = lines;
        if let Some((row, column)) = cursor {
            let _ = write!(out, "\x1b[{};{}H\x1b[?25h", row + 1, column + 1);
        }
        out.push_str(END_UPDATE);
        out
    }
}
