//! Sixels: bands of six rows, written once for every colour in them.

use std::fmt::Write as _;

use super::palette::{Quantised, quantise};
use super::scale::Pixels;

const BAND_ROWS: usize = 6;

/// Shorter runs are written out.
const MIN_REPEATED: usize = 4;

/// Draws the image without moving the cursor; transparent pixels change nothing.
pub(super) fn draw(pixels: &Pixels) -> String {
    let width = pixels.width.max(1);
    let Quantised { colours, pixels } = quantise(pixels);
    let height = pixels.len() / width;
    let mut out = format!("\x1b7\x1bP0;1;0q\"1;1;{width};{height}");
    for (index, colour) in colours.iter().enumerate() {
        let [red, green, blue] = colour.map(|part| (u32::from(part) * 100 + 127) / 255);
        let _ = write!(out, "#{index};2;{red};{green};{blue}");
    }
    let mut lines: Vec<Vec<u8>> = vec![Vec::new(); colours.len()];
    for band in pixels.chunks(width * BAND_ROWS) {
        write_band(&mut out, band, width, &mut lines);
        out.push('-');
    }
    // No line feed follows the last band.
    out.pop();
    out.push_str("\x1b\\\x1b8");
    out
}

/// Writes one band. `lines` is scratch space, a line of bits for each colour, and is left empty.
fn write_band(out: &mut String, band: &[Option<u8>], width: usize, lines: &mut [Vec<u8>]) {
    for (row, pixels) in band.chunks_exact(width).enumerate() {
        for (column, pixel) in pixels.iter().enumerate() {
            let line = pixel.and_then(|colour| lines.get_mut(usize::from(colour)));
            if let Some(line) = line {
                if line.len() <= column {
                    line.resize(column + 1, 0);
                }
                line[column] |= 1 << row;
            }
        }
    }
    let mut is_first = true;
    for (colour, line) in lines.iter_mut().enumerate() {
        if line.is_empty() {
            continue;
        }
        if !is_first {
            out.push('$');
        }
        is_first = false;
        let _ = write!(out, "#{colour}");
        for run in line.chunk_by(|one, other| one == other) {
            let sixel = char::from(b'?' + run[0]);
            match run.len() {
                0..MIN_REPEATED => out.extend(std::iter::repeat_n(sixel, run.len())),
                count => {
                    let _ = write!(out, "!{count}{sixel}");
                }
            }
        }
        line.clear();
    }
}
