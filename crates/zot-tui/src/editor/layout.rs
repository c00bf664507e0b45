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
struct Place<'a> {
    index: usize,
    row: usize,
    column: usize,
    cluster: &'a str,
}

impl Editor {
    /// Lays the text out in `columns`, and one more for a cursor behind a full row. Lines are broken
    /// anywhere: the text must not jump when a word ends.
    pub(crate) fn layout(&self, columns: usize, theme: &Theme) -> Layout {
        let mut rows = vec![Line::default()];
        let mut cursor = (0, 0);
        self.walk(columns, |place| {
            rows.resize_with(place.row + 1, Line::default);
            if place.index == self.cursor {
                cursor = (place.row, place.column);
            }
            if let Some(row) = rows.last_mut() {
                let style = match self.chip_of(place.cluster) {
                    Some(_) => theme.accent,
                    None => Style::PLAIN,
                };
                row.push(self.shown(place.cluster), style);
            }
        });
        Layout { rows, cursor }
    }

    /// Moves the cursor up or down by one row of the screen, to the column it wants to be in.
    /// Returns whether there was such a row.
    pub(crate) fn move_row(&mut self, by: isize, columns: usize) -> bool {
        let mut here = (0, 0);
        self.walk(columns, |place| {
            if place.index == self.cursor {
                here = (place.row, place.column);
            }
        });
        let Some(target) = here.0.checked_add_signed(by) else {
            return false;
        };
        let wanted = self.wanted_column.unwrap_or(here.1);
        let mut found = None;
        self.walk(columns, |place| {
            if place.row == target && (place.column <= wanted || found.is_none()) {
                found = Some(place.index);
            }
        });
        let Some(index) = found else { return false };
        self.cursor = index;
        self.wanted_column = Some(wanted);
        self.last = super::Last::Other;
        true
    }

    /// Visits every place, in order.
    fn walk<'a>(&'a self, columns: usize, mut visit: impl FnMut(Place<'a>)) {
        let columns = columns.max(2);
        let mut row = 0;
        // The widest the row can be, and where its end is drawn.
        let (mut used, mut column) = (0, 0);
        for (index, cluster) in self.text.grapheme_indices(true) {
            let shown = self.shown(cluster);
            let taken = width(&shown);
            if cluster != "\n" && used + taken > columns && used > 0 {
                row += 1;
                (used, column) = (0, 0);
            }
            visit(Place {
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
            used += taken;
            column += joined_width(&shown);
        }
        visit(Place {
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
