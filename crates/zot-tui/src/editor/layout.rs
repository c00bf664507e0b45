//! Where the text of the editor stands on the screen.

use unicode_segmentation::UnicodeSegmentation as _;

use super::Editor;
use crate::style::{Style, Theme};
use crate::text::{Line, clean, joined_width, width};

/// The rows of the editor, and where the cursor is in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub rows: Vec<Line>,
    pub cursor: (usize, usize),
}

impl Editor {
    /// Lays the text out in `columns`. Lines are broken anywhere: what is being written must not
    /// jump when a word ends.
    pub fn layout(&self, columns: usize, theme: &Theme) -> Layout {
        let columns = columns.max(2);
        let mut rows = vec![Line::default()];
        // What the row takes at most, and where its end is seen.
        let (mut used, mut column) = (0, 0);
        let mut cursor = None;
        for (index, cluster) in self.text.grapheme_indices(true) {
            if index == self.cursor {
                cursor = Some((rows.len() - 1, column));
            }
            if cluster == "\n" {
                rows.push(Line::default());
                (used, column) = (0, 0);
                continue;
            }
            let (shown, style) = self.shown(cluster, theme);
            let taken = width(&shown);
            if used + taken > columns && used > 0 {
                rows.push(Line::default());
                (used, column) = (0, 0);
                if index == self.cursor {
                    cursor = Some((rows.len() - 1, 0));
                }
            }
            if let Some(row) = rows.last_mut() {
                row.push(&shown, style);
            }
            used += taken;
            column += joined_width(&shown);
        }
        let cursor = cursor.unwrap_or_else(|| {
            if used >= columns {
                rows.push(Line::default());
                column = 0;
            }
            (rows.len() - 1, column)
        });
        Layout { rows, cursor }
    }

    fn shown(&self, cluster: &str, theme: &Theme) -> (String, Style) {
        let first = cluster.chars().next();
        match first.and_then(|character| self.chip(character)) {
            Some(pasted) => {
                let lines = pasted.lines().count();
                let size = match lines {
                    0 | 1 => format!("{} characters", pasted.chars().count()),
                    _ => format!("{lines} lines"),
                };
                (format!("[pasted {size}]"), theme.accent)
            }
            None => (clean(cluster), Style::PLAIN),
        }
    }
}
