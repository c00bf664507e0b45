//! Draws the lower part of the screen again and again, and lets finished lines go up into the
//! terminal's own scrollback.
//!
//! Pure: [`Renderer::draw`] returns the bytes to write. Only lines that changed are written again,
//! and every drawing is one synchronised update, so nothing flickers.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use crate::picture::Drawing;
use crate::style::{Depth, Style, write_style};
use crate::text::Line;

const BEGIN_UPDATE: &str = "\x1b[?2026h\x1b[?25l";
const END_UPDATE: &str = "\x1b[?2026l";

/// Line by line: tmux takes wiping the whole screen at once as a wish to keep it in its history.
const WIPE_FROM_HERE: &str = "\r\x1b[K\x1b7\x1b[B\x1b[J\x1b8";

/// What finished lines come in place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Replaces {
    #[default]
    Nothing,
    /// So many finished rows above the live part.
    Rows(usize),
    /// All that is on the screen.
    Screen,
    /// All that the terminal remembers.
    Everything,
}

/// What the screen is to look like.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Frame {
    pub replaces: Replaces,
    /// Finished: they scroll away and are never touched again.
    pub finished: Vec<Line>,
    /// Each over the finished lines from this one on, which are empty; in order.
    pub pictures: Vec<(usize, Drawing)>,
    /// Redrawn as they change; none is wider than the screen.
    pub live: Vec<Line>,
    /// Where the cursor blinks, as row and column of `live`.
    pub cursor: Option<(usize, usize)>,
}

/// Knows what is on the screen.
#[derive(Debug)]
pub(crate) struct Renderer {
    depth: Depth,
    shown: Vec<Line>,
    /// The row of `shown` the cursor is in.
    row: usize,
    cursor: Option<(usize, usize)>,
    /// Finished rows of ours that are on the screen for sure.
    above: usize,
}

impl Renderer {
    pub(crate) fn new(depth: Depth) -> Self {
        Self {
            depth,
            shown: Vec::new(),
            row: 0,
            cursor: None,
            above: 0,
        }
    }

    /// How many of the finished rows can be [replaced](Replaces::Rows).
    pub(crate) fn above(&self) -> usize {
        self.above
    }

    /// The bytes that turn what is shown into `frame` on a screen of `height` rows.
    pub(crate) fn draw(&mut self, frame: Frame, height: usize) -> String {
        let height = height.max(1);
        let Frame {
            replaces,
            finished,
            pictures,
            mut live,
            mut cursor,
        } = frame;
        // What does not fit is above the screen, where nothing can be redrawn.
        let surplus = live.len().saturating_sub(height);
        live.drain(..surplus);
        cursor = cursor.and_then(|(row, column)| Some((row.checked_sub(surplus)?, column)));
        let is_added = !finished.is_empty();
        let is_same = live == self.shown && cursor == self.cursor;
        if replaces == Replaces::Nothing && !is_added && is_same {
            return String::new();
        }
        let mut out = String::from(BEGIN_UPDATE);
        let mut pen = Pen::default();
        if replaces == Replaces::Nothing && !is_added {
            self.redraw(&mut out, &mut pen, &live);
        } else {
            self.make_room(&mut out, replaces, height);
            self.above += finished.len();
            let mut pictures = pictures.iter().peekable();
            let mut place = 0;
            while let Some(line) = finished.get(place) {
                if let Some((_, drawing)) = pictures.next_if(|(first, _)| *first == place) {
                    pen.lift(&mut out);
                    write_drawing(&mut out, drawing);
                    place += drawing.rows;
                    continue;
                }
                pen.write(&mut out, line, self.depth);
                out.push_str("\r\n");
                place += 1;
            }
            self.redraw(&mut out, &mut pen, &live);
        }
        pen.lift(&mut out);
        self.above = self.above.min(height - live.len());
        self.shown = live;
        self.place_cursor(&mut out, cursor);
        out.push_str(END_UPDATE);
        out
    }

    /// Takes the live part off the screen and leaves the cursor at its place.
    pub(crate) fn clear(&mut self) -> String {
        let mut out = String::from(BEGIN_UPDATE);
        self.go_to(&mut out, 0);
        out.push_str("\r\x1b[J\x1b[?25h");
        out.push_str(END_UPDATE);
        self.forget();
        out
    }

    /// Takes the live part and what is replaced off the screen, and stands where that began.
    fn make_room(&mut self, out: &mut String, replaces: Replaces, height: usize) {
        match replaces {
            Replaces::Nothing => {
                self.go_to(out, 0);
                out.push_str("\r\x1b[J");
            }
            Replaces::Rows(count) => {
                // The screen may have become lower.
                self.row = self.row.min(height - 1);
                self.go_to(out, 0);
                if count > 0 {
                    let _ = write!(out, "\x1b[{count}A");
                }
                out.push_str(WIPE_FROM_HERE);
                self.above = self.above.saturating_sub(count);
            }
            Replaces::Screen => {
                out.push_str("\x1b[H");
                out.push_str(WIPE_FROM_HERE);
                self.above = 0;
            }
            Replaces::Everything => {
                out.push_str("\x1b[H\x1b[2J\x1b[3J");
                self.above = 0;
            }
        }
        self.shown.clear();
        self.row = 0;
    }

    fn forget(&mut self) {
        self.shown.clear();
        self.row = 0;
        self.cursor = None;
        self.above = 0;
    }

    fn redraw(&mut self, out: &mut String, pen: &mut Pen, live: &[Line]) {
        for (index, line) in live.iter().enumerate() {
            if self.shown.get(index) == Some(line) {
                continue;
            }
            self.go_to(out, index);
            out.push('\r');
            pen.write(out, line, self.depth);
            pen.lift(out);
            out.push_str("\x1b[K");
        }
        if live.len() < self.shown.len() {
            self.go_to(out, live.len());
            out.push_str("\r\x1b[J");
        }
        // Rows beyond the last line do not exist for whoever draws next.
        let last = live.len().saturating_sub(1);
        if self.row > last {
            self.go_to(out, last);
        }
    }

    /// Moves to a row of the live part; below the last one that means making a new one.
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
        let Some((row, column)) = cursor else { return };
        self.go_to(out, row);
        out.push('\r');
        if column > 0 {
            let _ = write!(out, "\x1b[{column}C");
        }
        out.push_str("\x1b[?25h");
    }
}

/// Makes room first, which may scroll, and draws into it.
fn write_drawing(out: &mut String, drawing: &Drawing) {
    for _ in 0..drawing.rows {
        out.push_str("\r\n");
    }
    let _ = write!(out, "\x1b[{}A", drawing.rows);
    out.push_str(&drawing.first);
    out.push_str(&drawing.sequence);
    let _ = write!(out, "\x1b[{}B\r", drawing.rows);
}

/// Writes styled text and remembers what it is writing in.
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

    fn lift(&mut self, out: &mut String) {
        if self.style != Style::PLAIN {
            out.push_str("\x1b[0m");
            self.style = Style::PLAIN;
        }
    }
}
