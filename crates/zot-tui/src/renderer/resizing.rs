//! Finds the live part again after the screen was resized.
//!
//! When a screen becomes lower, terminals (tmux, xterm.js, VTE, Alacritty) drop the rows below the
//! cursor first and then push rows out at the top. When it becomes higher, tmux pulls rows back from
//! the scrollback; xterm.js does so only if the cursor is in the last row. In all of them the cursor
//! stays with its text. So the terminal is asked where the cursor is, and everything else follows
//! from that.

use unicode_segmentation::UnicodeSegmentation as _;

use super::{Frame, Renderer, Replaces};
use crate::text::{Line, width};

/// The share of the screen that shows the end of an answer that may still change, and the least number of
/// rows: a lower screen pushes out what is far above the cursor, although it is not final.
///
/// Limit: only the end of an unfinished response is shown, in one row of so many.
const TAIL_SHARE: usize = 3;
/// Limit: the end of an unfinished response gets at least so many rows.
const LEAST_TAIL_ROWS: usize = 6;

/// What a terminal does with lines that are wider than its new width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Narrowing {
    /// It breaks them, and joins them again when there is room.
    Reflows,
    /// It cuts them off.
    Cuts,
}

impl Narrowing {
    /// Reads the environment. Nearly all terminals reflow.
    pub(crate) fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        if variable("TMUX").is_some() {
            return Self::Reflows;
        }
        let term = variable("TERM").unwrap_or_default();
        let cuts = ["XTERM_VERSION", "STY"]
            .iter()
            .any(|name| variable(name).is_some())
            || ["rxvt", "linux"].iter().any(|name| term.starts_with(name));
        match cuts {
            true => Self::Cuts,
            false => Self::Reflows,
        }
    }
}

impl Renderer {
    /// The screen was resized, and the cursor is in this row and column of it, both counted
    /// from zero; `None` if the terminal does not say.
    pub(crate) fn relocate(
        &mut self,
        cursor: Option<(usize, usize)>,
        (columns, height): (usize, usize),
        narrowing: Narrowing,
    ) {
        self.is_moved = true;
        let is_as_wide = columns == self.columns;
        if !is_as_wide {
            self.written = 0;
        }
        let Some((row, column)) = cursor else {
            // What is above is unknown and left alone.
            self.row = self.row.min(height.saturating_sub(1));
            self.above = 0;
            self.written = 0;
            self.buried.clear();
            return;
        };
        let rows_of = |line: &Line| match narrowing {
            Narrowing::Reflows if !is_as_wide => broken_rows(line, columns),
            _ => 1,
        };
        let lines_before = self.shown.iter().take(self.row);
        let before = lines_before.map(rows_of).sum::<usize>()
            + match self.cursor {
                Some((_, old)) if !is_as_wide => rows_within(old, column, columns),
                _ => 0,
            };
        let mut top = row.saturating_sub(before);
        self.row = before.min(row);
        let mut pushed = before.saturating_sub(row);
        if row == 0 && !is_as_wide {
            // Wrapped lines below the cursor may have pushed its own line off the screen.
            let all: usize = self.shown.iter().map(rows_of).sum();
            pushed += all.saturating_sub(before + height);
        }
        if pushed > 0 {
            let whole = self.shown.iter().take_while(|line| {
                let rows = rows_of(line);
                let is_whole = rows <= pushed;
                pushed = pushed.saturating_sub(rows);
                is_whole
            });
            let count = whole.count();
            self.buried.extend(self.shown.drain(..count));
        }
        // Rows that were pushed out may have come back.
        while let Some(rows) = self.buried.last().map(rows_of)
            && rows <= top
        {
            self.buried.pop();
            self.row += rows;
            top -= rows;
        }
        self.above = match self.buried.is_empty() {
            true => self.written.min(top),
            false => 0,
        };
    }

    /// Drops lines without room, and those that are in the scrollback right above.
    pub(super) fn leave_out_buried(&mut self, frame: &mut Frame, height: usize) {
        if matches!(frame.replaces, Replaces::Screen | Replaces::Everything) {
            self.buried.clear();
        }
        if frame.images.is_empty() {
            let (known, buried) = common(&frame.finished, &self.buried);
            frame.finished.drain(..known);
            frame.out_of_order = frame.out_of_order.saturating_sub(known);
            self.buried.drain(..buried);
            self.written += buried;
        }
        if !frame.finished.is_empty() && !self.buried.is_empty() {
            // Those are other lines, which stay where they are.
            self.buried.clear();
            self.written = 0;
        }
        // Lines that do not fit are above the screen, where nothing can be redrawn.
        let surplus = frame.live.len().saturating_sub(height);
        let room = LEAST_TAIL_ROWS.max(height / TAIL_SHARE);
        let hidden = match frame.live.len() - frame.tail {
            // With nearly everything covered, nothing is missing.
            rest if surplus > 0 && rest + LEAST_TAIL_ROWS > height => frame.tail,
            _ => frame.tail.saturating_sub(room),
        };
        let last = frame.live.len().saturating_sub(1);
        let most = frame.cursor.map_or(last, |(row, _)| row);
        let known = common(&frame.live, &self.buried).0.min(most);
        let surplus = surplus.max(hidden).max(known);
        frame.live.drain(..surplus);
        frame.cursor = frame
            .cursor
            .and_then(|(row, column)| Some((row.checked_sub(surplus)?, column)));
    }
}

/// How many of `lines` equal the first of `others`, and how many those are.
/// Colours, and empty lines before them, make no difference.
fn common(lines: &[Line], others: &[Line]) -> (usize, usize) {
    let empty = |lines: &[Line]| lines.iter().take_while(|line| line.width() == 0).count();
    let (first, other) = (empty(lines), empty(others));
    let pairs = lines[first..].iter().zip(&others[other..]);
    match pairs
        .take_while(|(line, other)| says_same(line, other))
        .count()
    {
        0 => (0, 0),
        count => (first + count, other + count),
    }
}

fn says_same(line: &Line, other: &Line) -> bool {
    let text = |line: &Line| {
        line.0
            .iter()
            .map(|span| span.text.as_str())
            .collect::<String>()
    };
    line == other || text(line) == text(other)
}

/// How many rows a line takes when it is broken at any character.
fn broken_rows(line: &Line, columns: usize) -> usize {
    let mut rows = 1;
    let mut used = 0;
    for span in &line.0 {
        for grapheme in span.text.graphemes(true) {
            let wide = width(grapheme);
            used += wide;
            if used > columns {
                rows += 1;
                used = wide;
            }
        }
    }
    rows
}

/// The row of its own line in which the cursor is after column `old`: not every terminal breaks the
/// line with the cursor, but each reports its position in it.
fn rows_within(old: usize, column: usize, columns: usize) -> usize {
    match columns > 0 && old >= columns && column == old % columns {
        true => old / columns,
        false => 0,
    }
}
