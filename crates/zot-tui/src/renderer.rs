//! Redraws the lower part of the screen and lets finished lines scroll up into the
//! terminal's own scrollback.
//!
//! Pure: [`Renderer::draw`] returns the bytes to write. Only changed lines are written again,
//! and each call is one synchronised update, so nothing flickers.

mod fullscreen;
#[cfg(test)]
pub(crate) mod model;
mod resizing;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

pub(crate) use fullscreen::Fullscreen;
pub(crate) use resizing::Narrowing;

use crate::image::Drawing;
use crate::style::{Depth, Style, write_style};
use crate::text::Line;

const BEGIN_UPDATE: &str = "\x1b[?2026h\x1b[?25l";
const END_UPDATE: &str = "\x1b[?2026l";

/// Clears in two steps, because tmux copies a screen cleared in one into its history.
const CLEAR_FROM_HERE: &str = "\r\x1b[K\x1b7\x1b[B\x1b[J\x1b8";

/// What the finished lines replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Replaces {
    #[default]
    Nothing,
    /// This many finished rows above the live part.
    Rows(usize),
    /// The whole screen.
    Screen,
    /// The screen and the scrollback.
    Everything,
}

/// What the screen should look like.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Frame {
    pub replaces: Replaces,
    /// Final lines, which scroll away and are never changed again.
    pub finished: Vec<Line>,
    /// How many of the finished lines, like all lines above, cannot be [replaced](Replaces::Rows).
    pub out_of_order: usize,
    /// Images in order, each with the index of the first of the empty finished lines that it covers.
    pub images: Vec<(usize, Drawing)>,
    /// Redrawn as they change; none is wider than the screen.
    pub live: Vec<Line>,
    /// How many of the first live lines belong to an answer that may still change.
    pub tail: usize,
    /// Where the cursor blinks, as row and column of `live`.
    pub cursor: Option<(usize, usize)>,
    /// The width of the frame, or zero if it does not matter.
    pub columns: usize,
}

/// Remembers what is on the screen.
#[derive(Debug)]
pub(crate) struct Renderer {
    depth: Depth,
    shown: Vec<Line>,
    /// The row of `shown` that the cursor is in.
    row: usize,
    cursor: Option<(usize, usize)>,
    /// How many of our finished rows are certainly on the screen.
    above: usize,
    /// How many of our finished rows are directly above the live part, on the screen or beyond.
    written: usize,
    /// Rows of the live part that were pushed off a shrinking screen, right above `shown`.
    pushed_out: Vec<Line>,
    /// The terminal has moved or rewrapped `shown`, so all of it is written again.
    is_moved: bool,
    /// The width of `shown`.
    columns: usize,
}

impl Renderer {
    pub(crate) fn new(depth: Depth) -> Self {
        Self {
            depth,
            shown: Vec::new(),
            row: 0,
            cursor: None,
            above: 0,
            written: 0,
            pushed_out: Vec::new(),
            is_moved: false,
            columns: 0,
        }
    }

    /// Returns whether there is nothing on the screen that the terminal could have moved.
    pub(crate) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    pub(crate) fn depth(&self) -> Depth {
        self.depth
    }

    /// Returns how many of the finished rows can be [replaced](Replaces::Rows).
    pub(crate) fn above(&self) -> usize {
        self.above
    }

    /// Returns the bytes that turn the current screen of `height` rows into `frame`.
    pub(crate) fn draw(&mut self, mut frame: Frame, height: usize) -> String {
        let height = height.max(1);
        self.columns = frame.columns;
        self.drop_hidden_lines(&mut frame, height);
        let Frame {
            replaces,
            finished,
            out_of_order,
            images,
            live,
            cursor,
            ..
        } = frame;
        let has_finished = replaces != Replaces::Nothing || !finished.is_empty();
        let is_same = live == self.shown && cursor == self.cursor;
        if !has_finished && is_same && !self.is_moved {
            return String::new();
        }
        let mut out = String::from(BEGIN_UPDATE);
        let mut pen = Pen::default();
        if has_finished || self.is_moved {
            self.make_room(&mut out, replaces, height);
            self.write_finished(&mut out, &mut pen, &finished, &images);
            if out_of_order > 0 {
                self.written = self
                    .written
                    .min(finished.len().saturating_sub(out_of_order));
                self.above = self.above.min(self.written);
            }
        }
        self.redraw(&mut out, &mut pen, &live);
        pen.reset(&mut out);
        self.above = self.above.min(height - live.len());
        self.shown = live;
        self.place_cursor(&mut out, cursor);
        out.push_str(END_UPDATE);
        out
    }

    fn write_finished(
        &mut self,
        out: &mut String,
        pen: &mut Pen,
        finished: &[Line],
        images: &[(usize, Drawing)],
    ) {
        let mut images = images.iter().peekable();
        let mut index = 0;
        while let Some(line) = finished.get(index) {
            if let Some((_, drawing)) = images.next_if(|(first, _)| *first == index) {
                pen.reset(out);
                write_drawing(out, drawing);
                index += drawing.rows;
                self.count_finished(drawing.rows);
                continue;
            }
            pen.write(out, line, self.depth);
            out.push_str("\r\n");
            index += 1;
            self.count_finished(1);
            if self.columns > 0 && line.width() > self.columns {
                // The terminal wraps it, so the rows above can no longer be counted.
                self.above = 0;
                self.written = 0;
            }
        }
    }

    fn count_finished(&mut self, rows: usize) {
        self.above += rows;
        self.written += rows;
    }

    /// Clears the live part and leaves the cursor where it began.
    pub(crate) fn clear(&mut self) -> String {
        let mut out = String::from(BEGIN_UPDATE);
        self.go_to(&mut out, 0);
        out.push_str(CLEAR_FROM_HERE);
        out.push_str("\x1b[?25h");
        out.push_str(END_UPDATE);
        self.forget();
        out
    }

    /// Clears the live part and the replaced rows, and leaves the cursor where they began.
    fn make_room(&mut self, out: &mut String, replaces: Replaces, height: usize) {
        match replaces {
            Replaces::Nothing => self.go_to(out, 0),
            Replaces::Rows(count) => {
                self.row = self.row.min(height - 1);
                self.go_to(out, 0);
                if count > 0 {
                    let _ = write!(out, "\x1b[{count}A");
                }
                self.above = self.above.saturating_sub(count);
                self.written = self.written.saturating_sub(count);
            }
            Replaces::Screen => {
                out.push_str("\x1b[H");
                self.above = 0;
                self.written = 0;
            }
            Replaces::Everything => {
                out.push_str("\x1b[H\x1b[2J\x1b[3J");
                self.above = 0;
                self.written = 0;
            }
        }
        if replaces != Replaces::Everything {
            out.push_str(CLEAR_FROM_HERE);
        }
        self.shown.clear();
        self.row = 0;
        self.is_moved = false;
    }

    fn forget(&mut self) {
        *self = Self::new(self.depth);
    }

    fn redraw(&mut self, out: &mut String, pen: &mut Pen, live: &[Line]) {
        for (index, line) in live.iter().enumerate() {
            if self.shown.get(index) == Some(line) {
                continue;
            }
            self.go_to(out, index);
            out.push('\r');
            pen.write(out, line, self.depth);
            pen.reset(out);
            out.push_str("\x1b[K");
        }
        if live.len() < self.shown.len() {
            self.go_to(out, live.len());
            out.push_str("\r\x1b[J");
        }
        // The next drawing assumes that there are no rows below the last line.
        let last = live.len().saturating_sub(1);
        if self.row > last {
            self.go_to(out, last);
        }
    }

    /// Moves to a row of the live part, which is created below the last one if necessary.
    fn go_to(&mut self, out: &mut String, row: usize) {
        if row > self.row {
            // Line feeds, because there may be no row yet.
            for _ in self.row..row {
                out.push_str("\r\n");
            }
        } else if row < self.row {
            let _ = write!(out, "\x1b[{}A", self.row - row);
        }
        self.row = row;
    }

    fn place_cursor(&mut self, out: &mut String, cursor: Option<(usize, usize)>) {
        self.cursor = cursor;
        let Some((row, column)) = cursor else {
            // A shrinking screen drops the rows below the cursor before it pushes any out.
            self.go_to(out, 0);
            return;
        };
        self.go_to(out, row);
        out.push('\r');
        if column > 0 {
            let _ = write!(out, "\x1b[{column}C");
        }
        out.push_str("\x1b[?25h");
    }
}

/// Makes room first, which may scroll, and then draws.
fn write_drawing(out: &mut String, drawing: &Drawing) {
    for _ in 0..drawing.rows {
        out.push_str("\r\n");
    }
    let _ = write!(out, "\x1b[{}A", drawing.rows);
    out.push_str(&drawing.preamble);
    out.push_str(&drawing.sequence);
    let _ = write!(out, "\x1b[{}B\r", drawing.rows);
}

/// Writes styled text and remembers the current style.
#[derive(Default)]
struct Pen {
    style: Style,
}

impl Pen {
    fn write(&mut self, out: &mut String, line: &Line, depth: Depth) {
        for span in &line.0 {
            if span.style != self.style {
                write_style(out, span.style, depth);
                self.style = span.style;
            }
            out.push_str(&span.text);
        }
    }

    fn reset(&mut self, out: &mut String) {
        if self.style != Style::PLAIN {
            out.push_str("\x1b[0m");
            self.style = Style::PLAIN;
        }
    }
}
