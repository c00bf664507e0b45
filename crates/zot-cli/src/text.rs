//! Text for people.

use std::fmt;
use std::io::{self, Write as _};

use zot_terminal::Print;

/// Reports progress on standard error.
pub(crate) fn note(text: fmt::Arguments<'_>) {
    let _ = writeln!(zot_terminal::stderr(), "{text}");
}

/// Returns `text` on one line.
pub(crate) fn one_line(text: &str) -> String {
    text.replace(['\n', '\r', '\t'], " ")
}

/// Writes `rows` with columns as wide as they need to be; the first row is the heading.
pub(crate) fn write_table<const N: usize>(
    output: &mut dyn Print,
    rows: &[[String; N]],
) -> io::Result<()> {
    let rows: Vec<[String; N]> = rows
        .iter()
        .map(|row| row.each_ref().map(|cell| output.cell(cell)))
        .collect();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(width);
    for row in &rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width + 2 - cell.chars().count()));
        }
        writeln!(output, "{}", line.trim_end())?;
    }
    Ok(())
}
