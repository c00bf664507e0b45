//! A table: columns as wide as their widest cell, or narrower with wrapped cells if the screen is
//! too narrow.

use pulldown_cmark::Alignment;

use crate::style::{Style, Theme};
use crate::text::{Line, wrap};

const GAP: &str = " │ ";
const MIN_COLUMN_WIDTH: usize = 3;

#[derive(Debug)]
pub(super) struct Table {
    rows: Vec<Vec<Line>>,
    alignments: Vec<Alignment>,
}

impl Table {
    pub(super) fn new(alignments: Vec<Alignment>) -> Self {
        Self {
            rows: Vec::new(),
            alignments,
        }
    }

    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn push_cell(&mut self, cell: Line) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    pub(super) fn lines(self, columns: usize, theme: &Theme) -> Vec<Line> {
        let widths = self.widths(columns);
        let mut lines = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            // A cell that is too wide continues below.
            let cells: Vec<Vec<Line>> = widths
                .iter()
                .enumerate()
                .map(|(column, width)| match row.get(column) {
                    Some(cell) => wrap(cell, *width, 0),
                    None => Vec::new(),
                })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for part in 0..height {
                let mut line = Line::default();
                for (column, width) in widths.iter().enumerate() {
                    if column > 0 {
                        line.push(GAP, theme.muted);
                    }
                    let cell = cells[column].get(part).cloned().unwrap_or_default();
                    let is_last = column + 1 == widths.len();
                    self.push_aligned(&mut line, cell.clipped(*width), column, *width, is_last);
                }
                lines.push(match index {
                    0 => bold(line),
                    _ => line,
                });
            }
            if index == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::styled(rule.join("─┼─"), theme.muted));
            }
        }
        lines
    }

    fn push_aligned(
        &self,
        line: &mut Line,
        cell: Line,
        column: usize,
        width: usize,
        is_last: bool,
    ) {
        if is_last && cell.is_empty() {
            return;
        }
        let missing = width.saturating_sub(cell.width());
        let before = match self.alignments.get(column) {
            Some(Alignment::Right) => missing,
            Some(Alignment::Center) => missing / 2,
            _ => 0,
        };
        line.push(" ".repeat(before), Style::PLAIN);
        line.append(cell);
        if !is_last {
            line.push(" ".repeat(missing - before), Style::PLAIN);
        }
    }

    /// Returns the widths of the columns; the widest are narrowed first.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..count)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells
                    .map(Line::width)
                    .max()
                    .unwrap_or(0)
                    .max(MIN_COLUMN_WIDTH)
            })
            .collect();
        let room = columns.saturating_sub(GAP.chars().count() * count.saturating_sub(1));
        let mut total: usize = widths.iter().sum();
        while total > room {
            let Some(widest) = widths
                .iter_mut()
                .max()
                .filter(|width| **width > MIN_COLUMN_WIDTH)
            else {
                break;
            };
            *widest -= 1;
            total -= 1;
        }
        widths
    }
}

/// Makes the heading of a table bold.
fn bold(line: Line) -> Line {
    let mut all = Line::default();
    for span in line.0 {
        let style = match span.text.trim() {
            "│" => span.style,
            _ => span.style.bold(),
        };
        all.push(&span.text, style);
    }
    all
}
