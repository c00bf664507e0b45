//! A table: columns as wide as their widest cell, or cut when the screen is too narrow.

use crate::style::Theme;
use crate::text::Line;

const GAP: &str = " │ ";
const LEAST_COLUMN: usize = 3;

#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<Line>>,
}

impl Table {
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
        for (index, row) in self.rows.into_iter().enumerate() {
            let mut line = Line::default();
            let mut cells = row.into_iter();
            for (column, width) in widths.iter().enumerate() {
                if column > 0 {
                    line.push(GAP, theme.muted);
                }
                let cell = cells.next().unwrap_or_default().clipped(*width);
                let missing = width - cell.width().min(*width);
                for span in cell.0 {
                    let style = match index {
                        0 => span.style.bold(),
                        _ => span.style,
                    };
                    line.push(&span.text, style);
                }
                if column + 1 < widths.len() {
                    line.push(" ".repeat(missing), crate::style::Style::PLAIN);
                }
            }
            lines.push(line);
            if index == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::styled(rule.join("─┼─"), theme.muted));
            }
        }
        lines
    }

    /// The widest columns give way first.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..count)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(Line::width).max().unwrap_or(0).max(LEAST_COLUMN)
            })
            .collect();
        let room = columns.saturating_sub(GAP.chars().count() * count.saturating_sub(1));
        let mut total: usize = widths.iter().sum();
        while total > room {
            let Some(widest) = widths
                .iter_mut()
                .max()
                .filter(|width| **width > LEAST_COLUMN)
            else {
                break;
            };
            *widest -= 1;
            total -= 1;
        }
        widths
    }
}
