//! Text after a mark, and chips after a text.

use super::{Line, width, wrap};
use crate::style::Style;

/// Adds `[chip] [chip]` to a line.
pub(crate) fn push_chips(line: &mut Line, chips: &[String], style: Style) {
    for (index, chip) in chips.iter().enumerate() {
        if index > 0 {
            line.push(" ", Style::PLAIN);
        }
        line.push(format!("[{chip}]"), style);
    }
}

/// Returns the lines of `text` after `mark`, each wrapped to fit.
pub(crate) fn marked(
    mark: &str,
    text: &str,
    columns: usize,
    mark_style: Style,
    style: Style,
) -> Vec<Line> {
    let indent = width(mark);
    let mut lines = Vec::new();
    for (index, part) in text.lines().enumerate() {
        let mut line = match index {
            0 => Line::styled(mark, mark_style),
            _ => Line::plain(" ".repeat(indent)),
        };
        line.push(part, style);
        let hanging = indent + explanation_column(part);
        let hanging = if hanging > columns / 2 {
            indent
        } else {
            hanging
        };
        lines.extend(wrap(&line, columns, hanging));
    }
    lines
}

/// Returns where the second column of a line like `/name     what it does` begins, or zero.
fn explanation_column(text: &str) -> usize {
    let Some(gap) = text.trim_start().find("  ") else {
        return 0;
    };
    let gap = gap + text.len() - text.trim_start().len();
    let explanation = text[gap..].trim_start();
    width(&text[..text.len() - explanation.len()])
}
