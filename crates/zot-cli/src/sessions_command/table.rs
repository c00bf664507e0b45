//! Aligned columns.

use std::io;

use zot_terminal::Print;

/// How the cells of a column are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

/// Writes `rows` below `headings`, every column as wide as its widest cell.
pub(super) fn write(
    output: &mut dyn Print,
    headings: &[(&str, Align)],
    rows: &[Vec<String>],
) -> io::Result<()> {
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| output.cell(cell)).collect())
        .collect();
    let widths: Vec<usize> = headings
        .iter()
        .enumerate()
        .map(|(column, (heading, _))| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells
                .map(|cell| cell.chars().count())
                .chain([heading.len()])
                .max()
                .unwrap_or_default()
        })
        .collect();
    let headings_row = headings.iter().map(|(heading, _)| (*heading).to_owned());
    for row in std::iter::once(headings_row.collect()).chain(rows) {
        let mut line = String::new();
        for ((cell, width), (_, align)) in row.iter().zip(&widths).zip(headings) {
            if !line.is_empty() {
                line.push_str("  ");
            }
            let fill = " ".repeat(width.saturating_sub(cell.chars().count()));
            match align {
                Align::Left => line.extend([cell.as_str(), &fill]),
                Align::Right => line.extend([fill.as_str(), cell]),
            }
        }
        writeln!(output, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Returns `text`, or its beginning if it is too long for a cell.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept = text.chars().take(most.saturating_sub(1));
    kept.chain(['…']).collect()
}

/// Returns `text`, or its end if it is too long: the end of a path is more specific.
pub(super) fn shortened_path(text: &str, most: usize) -> String {
    let count = text.chars().count();
    if count <= most {
        return text.to_owned();
    }
    let kept = text.chars().skip(count - most.saturating_sub(1));
    std::iter::once('…').chain(kept).collect()
}
