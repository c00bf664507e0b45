//! Finds the live part again after the screen was resized.
//!
//! When a screen loses rows, terminals (tmux, xterm.js, VTE, Alacritty) drop those below the
//! cursor first and then push rows out at the top. When it gains rows, tmux pulls rows back from
//! the scrollback; xterm.js does so only if the cursor is in the last row. In all of them the cursor
//! stays with its text. So the terminal is asked where the cursor is, and everything else follows
//! from that.

use unicode_segmentation::UnicodeSegmentation as _;

use super::{Frame, Renderer, Replaces};
use crate::text::{Line, width};

/// The end of an unfinished answer takes one in this many rows: a shrinking screen would push out
/// rows far above the cursor before they are final.
///
/// Limit: only the end of an unfinished answer is shown.
const TAIL_SHARE: usize = 3;
/// The end of an unfinished answer takes at least this many rows.
///
/// Limit: only the end of an unfinished answer is shown.
const MIN_TAIL_ROWS: usize = 6;

/// What a terminal does with lines wider than its new width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Narrowing {
    /// It wraps them, and joins them again when there is room.
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
    /// Finds the live part after a resize. `cursor` is the row and column that the terminal reports,
    /// counted from zero, or `None` if it does not.
    pub(crate) fn relocate(
        &mut self,
        cursor: Option<(usize, usize)>,
        (columns, height): (usize, usize),
        narrowing: Narrowing,
    ) {
        self.is_moved = true;
        let is_same_width = columns == self.columns;
        if !is_same_width {
            self.written = 0;
        }
        let Some((row, column)) = cursor else {
            // The rows above are unknown and left alone.
            self.row = self.row.min(height.saturating_sub(1));
            self.above = 0;
            self.written = 0;
            self.pushed_out.clear();
            return;
        };
        let rows_of = |line: &Line| match narrowing {
            Narrowing::Reflows if !is_same_width => wrapped_rows(line, columns),
            _ => 1,
        };
        let lines_before = self.shown.iter().take(self.row);
        let before = lines_before.map(rows_of).sum::<usize>()
            + match self.cursor {
                Some((_, old)) if !is_same_width => rows_within(old, column, columns),
                _ => 0,
            };
        let mut top = row.saturating_sub(before);
        self.row = before.min(row);
        let mut pushed = before.saturating_sub(row);
        if row == 0 && !is_same_width {
            // Wrapped lines below the cursor may have pushed the cursor's line off the screen.
            let all: usize = self.shown.iter().map(rows_of).sum();
            pushed += all.saturating_sub(before + height);
        }
        if pushed > 0 {
            let gone = self.shown.iter().take_while(|line| {
                let rows = rows_of(line);
                let is_gone = rows <= pushed;
                pushed = pushed.saturating_sub(rows);
                is_gone
            });
            let count = gone.count();
            self.pushed_out.extend(self.shown.drain(..count));
        }
        // Rows that were pushed out may have come back.
        while let Some(rows) = self.pushed_out.last().map(rows_of)
            && rows <= top
        {
            self.pushed_out.pop();
            self.row += rows;
            top -= rows;
        }
        self.above = match self.pushed_out.is_empty() {
            true => self.written.min(top),
            false => 0,
        };
    }

    /// Drops lines that do not fit, and those already in the scrollback right above.
    pub(super) fn drop_hidden_lines(&mut self, frame: &mut Frame, height: usize) {
        if matches!(frame.replaces, Replaces::Screen | Replaces::Everything) {
            self.pushed_out.clear();
        }
        if frame.images.is_empty() {
            let (known, pushed_out) = common_prefix(&frame.finished, &self.pushed_out);
            frame.finished.drain(..known);
            frame.out_of_order = frame.out_of_order.saturating_sub(known);
            self.pushed_out.drain(..pushed_out);
            self.written += pushed_out;
        }
        if !frame.finished.is_empty() && !self.pushed_out.is_empty() {
            // The pushed out lines are different and stay where they are.
            self.pushed_out.clear();
            self.written = 0;
        }
        // Lines that do not fit are above the screen, where nothing can be redrawn.
        let surplus = frame.live.len().saturating_sub(height);
        let room = MIN_TAIL_ROWS.max(height / TAIL_SHARE);
        let hidden = match frame.live.len() - frame.tail {
            // If almost everything is covered, the answer is not missed.
            rest if surplus > 0 && rest + MIN_TAIL_ROWS > height => frame.tail,
            _ => frame.tail.saturating_sub(room),
        };
        let last = frame.live.len().saturating_sub(1);
        let limit = frame.cursor.map_or(last, |(row, _)| row);
        let known = common_prefix(&frame.live, &self.pushed_out).0.min(limit);
        let surplus = surplus.max(hidden).max(known);
        frame.live.drain(..surplus);
        frame.cursor = frame
            .cursor
            .and_then(|(row, column)| Some((row.checked_sub(surplus)?, column)));
    }
}

/// Returns how many lines at the start of both have the same text, counted in `lines` and in
/// `others`. Colours and leading empty lines make no difference.
fn common_prefix(lines: &[Line], others: &[Line]) -> (usize, usize) {
    let leading_empty = |lines: &[Line]| lines.iter().take_while(|line| line.width() == 0).count();
    let (first, other) = (leading_empty(lines), leading_empty(others));
    let pairs = lines[first..].iter().zip(&others[other..]);
    match pairs
        .take_while(|(line, other)| has_same_text(line, other))
        .count()
    {
        0 => (0, 0),
        count => (first + count, other + count),
    }
}

fn has_same_text(line: &Line, other: &Line) -> bool {
    let text = |line: &Line| {
        line.0
            .iter()
            .map(|span| span.text.as_str())
            .collect::<String>()
    };
    line == other || text(line) == text(other)
}

/// Returns how many rows a line takes when it is wrapped at any character.
fn wrapped_rows(line: &Line, columns: usize) -> usize {
    let mut rows = 1;
    let mut used = 0;
    for span in &line.0 {
        for grapheme in span.text.graphemes(true) {
            let columns_used = width(grapheme);
            used += columns_used;
            if used > columns {
                rows += 1;
                used = columns_used;
            }
        }
    }
    rows
}

/// Returns the row of its wrapped line that the cursor, once in column `old`, is in. Not every
/// terminal wraps the line with the cursor, but each reports the cursor's position in it.
fn rows_within(old: usize, column: usize, columns: usize) -> usize {
    match columns > 0 && old >= columns && column == old % columns {
        true => old / columns,
        false => 0,
    }
}
