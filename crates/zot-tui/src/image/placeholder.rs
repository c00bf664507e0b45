//! Kitty's placeholders: characters that the terminal replaces with parts of an image.
//!
//! To tmux they are text, so they scroll, are redrawn and disappear like text; only the image
//! itself has to pass through tmux. A character's colour and marks say which part it represents.

use super::{Fit, kitty};

const PLACEHOLDER: char = '\u{10eeee}';

/// The combining characters that encode 0, 1, 2 and so on, as kitty's documentation lists them.
const DIACRITICS: [char; 64] = [
    '\u{305}', '\u{30d}', '\u{30e}', '\u{310}', '\u{312}', '\u{33d}', '\u{33e}', '\u{33f}',
    '\u{346}', '\u{34a}', '\u{34b}', '\u{34c}', '\u{350}', '\u{351}', '\u{352}', '\u{357}',
    '\u{35b}', '\u{363}', '\u{364}', '\u{365}', '\u{366}', '\u{367}', '\u{368}', '\u{369}',
    '\u{36a}', '\u{36b}', '\u{36c}', '\u{36d}', '\u{36e}', '\u{36f}', '\u{483}', '\u{484}',
    '\u{485}', '\u{486}', '\u{487}', '\u{592}', '\u{593}', '\u{594}', '\u{595}', '\u{597}',
    '\u{598}', '\u{599}', '\u{59c}', '\u{59d}', '\u{59e}', '\u{59f}', '\u{5a0}', '\u{5a1}',
    '\u{5a8}', '\u{5a9}', '\u{5ab}', '\u{5ac}', '\u{5af}', '\u{5c4}', '\u{610}', '\u{611}',
    '\u{612}', '\u{613}', '\u{614}', '\u{615}', '\u{616}', '\u{617}', '\u{657}', '\u{658}',
];

/// How many numbers a mark can encode.
pub(super) const MARK_COUNT: u32 = DIACRITICS.len() as u32;

/// Sends a PNG file through tmux to the terminal.
pub(super) fn transmit(file: &[u8], number: u32, fit: Fit) -> String {
    let Fit { columns, rows, .. } = fit;
    let control = format!("a=T,U=1,f=100,q=2,i={number},c={columns},r={rows},");
    let sequences = kitty::sequences(file, control);
    let wrapped = |sequence: String| {
        let doubled = sequence.replace('\x1b', "\x1b\x1b");
        format!("\x1bPtmux;{doubled}\x1b\\")
    };
    sequences.map(wrapped).collect()
}

/// Writes the characters at the cursor, which then returns.
pub(super) fn place(number: u32, fit: Fit) -> String {
    let mark = |value: usize| DIACRITICS.get(value).copied().unwrap_or(DIACRITICS[0]);
    let group = mark((number >> 24) as usize);
    // Palette colours pass through unchanged; RGB colours may be replaced by similar ones.
    let mut text = format!("\x1b7\x1b[38;5;{}m", number & 0xff);
    for row in 0..fit.rows {
        if row > 0 {
            text.push_str("\r\n");
        }
        for column in 0..fit.columns {
            text.extend([PLACEHOLDER, mark(row), mark(column), group]);
        }
    }
    text.push_str("\x1b[39m\x1b8");
    text
}
