//! Lays the text of the editor out on the screen.

use unicode_segmentation::UnicodeSegmentation as _;

use super::Editor;
use crate::style::{Style, Theme};
use crate::text::{Line, clean, joined_width, width};

/// The rows of the editor, and where the cursor is in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub rows: Vec<Line>,
    pub cursor: (usize, usize),
}

/// A possible position of the cursor: before a cluster, or at the end.
struct Position<'a> {
    index: usize,
    row: usize,
    column: usize,
    cluster: &'a str,
}

impl Editor {
    /// Lays the text out in `columns`, plus one for a cursor after a full row. Lines are broken
    /// anywhere: the text must not jump when a word ends.
    pub(crate) fn layout(&self, columns: usize, theme: &Theme) -> Layout {
        let mut rows = vec![Line::default()];
        let mut cursor = (0, 0);
        self.walk(columns, |position| {
            rows.resize_with(position.row + 1, Line::default);
            if position.index == self.cursor {
                cursor = (position.row, position.column);
            }
            if let Some(row) = rows.last_mut() {
                let style = match self.chip_of(position.cluster) {
                    Some(_) => theme.accent,
                    None => Style::PLAIN,
                };
                row.push(self.shown(position.cluster), style);
            }
        });
        Layout { rows, cursor }
    }

    /// Moves the cursor up or down by one row of the screen, keeping to its preferred column.
    /// Returns whether there was such a row.
    pub(crate) fn move_row(&mut self, by: isize, columns: usize) -> bool {
        let mut here = (0, 0);
        self.walk(columns, |position| {
            if position.index == self.cursor {
                here = (position.row, position.column);
            }
        });
        let Some(target) = here.0.checked_add_signed(by) else {
            return false;
        };
        let preferred = self.preferred_column.unwrap_or(here.1);
        let mut found = None;
        self.walk(columns, |position| {
            if position.row == target && (position.column <= preferred || found.is_none()) {
                found = Some(position.index);
            }
        });
        let Some(index) = found else { return false };
        self.cursor = index;
        self.preferred_column = Some(preferred);
        self.last = super::LastEdit::Other;
        true
    }

    /// Visits every position, in order.
    fn walk<'a>(&'a self, columns: usize, mut visit: impl FnMut(Position<'a>)) {
        let columns = columns.max(2);
        let mut row = 0;
        // The greatest width the row can have, and where its end is drawn.
        let (mut used, mut column) = (0, 0);
        for (index, cluster) in self.text.grapheme_indices(true) {
            let shown = self.shown(cluster);
            let added = width(&shown);
            if cluster != "\n" && used + added > columns && used > 0 {
                row += 1;
                (used, column) = (0, 0);
            }
            visit(Position {
                index,
                row,
                column,
                cluster,
            });
            if cluster == "\n" {
                row += 1;
                (used, column) = (0, 0);
                continue;
            }
            used += added;
            column += joined_width(&shown);
        }
        visit(Position {
            index: self.text.len(),
            row,
            column,
            cluster: "",
        });
    }

    fn shown<'a>(&'a self, cluster: &'a str) -> std::borrow::Cow<'a, str> {
        match self.chip_of(cluster) {
            Some(chip) => (&*chip.label).into(),
            None if cluster.len() == 1 && cluster.as_bytes()[0].is_ascii_graphic() => {
                cluster.into()
            }
            None => clean(cluster).into(),
        }
    }
}
