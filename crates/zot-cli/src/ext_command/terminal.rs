//! Text for people.

use std::fmt;
use std::io::{self, Write as _};

/// Says what is going on, beside the output.
pub(crate) fn note(text: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// What an extension says, without the power to move the cursor or recolour the screen.
pub(crate) fn plain(text: &str) -> String {
    let replaced = text.chars().map(|character| match character {
        '\n' | '\t' => character,
        control if control.is_control() => '\u{fffd}',
        other => other,
    });
    replaced.collect()
}

/// [`plain`] on one line.
pub(crate) fn one_line(text: &str) -> String {
    plain(text).replace(['\n', '\t'], " ")
}

/// Writes `rows` with columns as wide as they need to be; the first row is the heading.
pub(crate) fn write_table<const N: usize>(
    output: &mut impl io::Write,
    rows: &[[String; N]],
) -> io::Result<()> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths: [usize; N] = std::array::from_fn(width);
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width + 2 - cell.chars().count()));
        }
        writeln!(output, "{}", line.trim_end())?;
    }
    Ok(())
}
