//! Converts the colours in an extension's panel into styles.

use super::Line;
use crate::style::{Color, Style};

/// Parses a line: `ESC [ … m` sequences become styles, all others are dropped.
pub(crate) fn from_sgr(text: &str, base: Style) -> Line {
    let mut line = Line::default();
    let mut style = base;
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        line.push(&rest[..at], style);
        let sequence = &rest[at + 2..];
        let is_parameter = |c: char| c.is_ascii_digit() || c == ';' || c == ':';
        let end = sequence.find(|c| !is_parameter(c));
        match end.filter(|end| sequence[*end..].starts_with('m')) {
            Some(end) => {
                style = apply(style, base, &sequence[..end]);
                rest = &sequence[end + 1..];
            }
            None => {
                let end = sequence.find(|c| ('@'..='~').contains(&c));
                rest = end.map_or("", |end| &sequence[end + 1..]);
            }
        }
    }
    line.push(rest, style);
    line
}

fn apply(mut style: Style, base: Style, parameters: &str) -> Style {
    let mut codes = parameters
        .split([';', ':'])
        .map(|code| code.parse::<u8>().unwrap_or(0));
    while let Some(code) = codes.next() {
        match code {
            0 => style = base,
            1 => style.bold = true,
            2 => style.dim = true,
            3 => style.italic = true,
            4 => style.underline = true,
            7 => style.reverse = true,
            22 => (style.bold, style.dim) = (base.bold, base.dim),
            23 => style.italic = base.italic,
            24 => style.underline = base.underline,
            27 => style.reverse = base.reverse,
            30..=37 => style.foreground = Color::Ansi(code - 30),
            40..=47 => style.background = Color::Ansi(code - 40),
            90..=97 => style.foreground = Color::Ansi(code - 90 + 8),
            100..=107 => style.background = Color::Ansi(code - 100 + 8),
            39 => style.foreground = base.foreground,
            49 => style.background = base.background,
            38 | 48 => {
                let color = match codes.next() {
                    Some(5) => codes.next().map(indexed),
                    Some(2) => match (codes.next(), codes.next(), codes.next()) {
                        (Some(red), Some(green), Some(blue)) => Some(Color::Rgb(red, green, blue)),
                        _ => None,
                    },
                    _ => None,
                };
                match (color, code) {
                    (Some(color), 38) => style.foreground = color,
                    (Some(color), _) => style.background = color,
                    (None, _) => {}
                }
            }
            _ => {}
        }
    }
    style
}

/// Returns one of the 256 colours.
fn indexed(index: u8) -> Color {
    match index {
        0..16 => Color::Ansi(index),
        16..232 => {
            let level = |index: u8| match index % 6 {
                0 => 0,
                step => 55 + 40 * step,
            };
            let cube = index - 16;
            Color::Rgb(level(cube / 36), level(cube / 6), level(cube))
        }
        grey => {
            let value = 8 + 10 * (grey - 232);
            Color::Rgb(value, value, value)
        }
    }
}
