//! Styles of text, the colours a terminal can show, and themes.

mod file;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

pub(crate) use file::ThemeError;

/// A colour, which the terminal approximates if it must.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Color {
    /// The terminal's default colour.
    #[default]
    Default,
    /// One of the sixteen colours of the user's palette.
    Ansi(u8),
    Rgb(u8, u8, u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Style {
    pub foreground: Color,
    pub background: Color,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    pub reverse: bool,
}

impl Style {
    pub(crate) const PLAIN: Self = Self {
        foreground: Color::Default,
        background: Color::Default,
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        reverse: false,
    };

    pub(crate) const fn color(self, foreground: Color) -> Self {
        Self { foreground, ..self }
    }

    pub(crate) const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    pub(crate) const fn dim(self) -> Self {
        Self { dim: true, ..self }
    }

    pub(crate) const fn italic(self) -> Self {
        Self {
            italic: true,
            ..self
        }
    }

    pub(crate) const fn underline(self) -> Self {
        Self {
            underline: true,
            ..self
        }
    }

    pub(crate) const fn reverse(self) -> Self {
        Self {
            reverse: true,
            ..self
        }
    }

    /// Returns this style, overridden by what `over` sets.
    pub(crate) fn with(self, over: Self) -> Self {
        let colour = |own, other| match other {
            Color::Default => own,
            other => other,
        };
        Self {
            foreground: colour(self.foreground, over.foreground),
            background: colour(self.background, over.background),
            bold: self.bold || over.bold,
            dim: self.dim || over.dim,
            italic: self.italic || over.italic,
            underline: self.underline || over.underline,
            reverse: self.reverse || over.reverse,
        }
    }
}

/// How many colours the terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Depth {
    /// `NO_COLOR`: bold, dim and reverse only.
    None,
    #[default]
    Sixteen,
    Palette256,
    True,
}

impl Depth {
    /// Reads the environment.
    pub(crate) fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if set("NO_COLOR").is_some() {
            return Self::None;
        }
        let term = set("TERM").unwrap_or_default();
        match set("COLORTERM").as_deref() {
            Some("truecolor" | "24bit") => return Self::True,
            _ if term == "dumb" => return Self::None,
            _ => {}
        }
        match () {
            () if term.contains("direct") || term.contains("kitty") => Self::True,
            () if term.contains("256") => Self::Palette256,
            () => Self::Sixteen,
        }
    }
}

/// Writes the escape sequence that switches to `style`.
pub(crate) fn write_style(out: &mut String, style: Style, depth: Depth) {
    out.push_str("\x1b[0");
    for (is_set, code) in [
        (style.bold, ";1"),
        (style.dim, ";2"),
        (style.italic, ";3"),
        (style.underline, ";4"),
        (style.reverse, ";7"),
    ] {
        if is_set {
            out.push_str(code);
        }
    }
    write_color(out, style.foreground, 30, depth);
    write_color(out, style.background, 40, depth);
    out.push('m');
}

fn write_color(out: &mut String, color: Color, base: u8, depth: Depth) {
    // Writing to a string does not fail.
    let _ = match (color, depth) {
        (Color::Default, _) | (_, Depth::None) => Ok(()),
        (Color::Ansi(index @ 0..8), _) => write!(out, ";{}", base + index),
        (Color::Ansi(index), _) => write!(out, ";{}", base + 60 + (index & 7)),
        (Color::Rgb(red, green, blue), Depth::True) => {
            write!(out, ";{};2;{red};{green};{blue}", base + 8)
        }
        (Color::Rgb(red, green, blue), Depth::Palette256) => {
            write!(out, ";{};5;{}", base + 8, cube(red, green, blue))
        }
        (Color::Rgb(red, green, blue), Depth::Sixteen) => {
            let index = nearest_of_sixteen(red, green, blue);
            let code = if index < 8 {
                base + index
            } else {
                base + 52 + index
            };
            write!(out, ";{code}")
        }
    };
}

/// Returns the nearest colour of the cube or the grey ramp of 256 colours.
fn cube(red: u8, green: u8, blue: u8) -> u8 {
    let spread = red.max(green).max(blue) - red.min(green).min(blue);
    if spread < 12 {
        let grey = (u16::from(red) + u16::from(green) + u16::from(blue)) / 3;
        return match grey {
            0..8 => 16,
            238.. => 231,
            grey => 232 + ((grey - 8) / 10) as u8,
        };
    }
    let level = |value: u8| match value {
        0..48 => 0u8,
        48..115 => 1,
        value => (value - 35) / 40,
    };
    16 + 36 * level(red) + 6 * level(green) + level(blue)
}

/// Compares hues: pale green contains much red and blue, but must still become green.
fn nearest_of_sixteen(red: u8, green: u8, blue: u8) -> u8 {
    let (highest, lowest) = (red.max(green).max(blue), red.min(green).min(blue));
    let spread = i32::from(highest - lowest);
    if highest < 50 {
        return 0;
    }
    if spread * 4 < i32::from(highest) {
        return match highest {
            0..160 => 8,
            160..220 => 7,
            220.. => 15,
        };
    }
    let part = |one: u8, other: u8| (i32::from(one) - i32::from(other)) * 60 / spread;
    let hue = match highest {
        _ if highest == red => part(green, blue).rem_euclid(360),
        _ if highest == green => 120 + part(blue, red),
        _ => 240 + part(red, green),
    };
    let (colour, bright_from) = match hue {
        20..70 => (3, 250),
        70..165 => (2, 250),
        165..210 => (6, 200),
        // In most palettes these two are too dark to be read on black.
        210..255 => (4, 200),
        255..340 => (5, 200),
        _ => (1, 250),
    };
    if highest >= bright_from {
        colour + 8
    } else {
        colour
    }
}

/// The styles of the chat, by purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Theme {
    pub accent: Style,
    pub muted: Style,
    pub error: Style,
    pub warning: Style,
    pub success: Style,
    pub user: Style,
    pub code: Style,
    pub link: Style,
    pub heading: Style,
    pub added: Style,
    pub removed: Style,
    pub keyword: Style,
    pub string: Style,
    pub number: Style,
    pub comment: Style,
    pub selected: Style,
}

impl Theme {
    pub(crate) const DARK: Self = Self {
        accent: Style::PLAIN.color(Color::Rgb(122, 162, 247)),
        muted: Style::PLAIN.color(Color::Rgb(130, 139, 163)),
        error: Style::PLAIN.color(Color::Rgb(247, 118, 142)),
        warning: Style::PLAIN.color(Color::Rgb(224, 175, 104)),
        success: Style::PLAIN.color(Color::Rgb(158, 206, 106)),
        user: Style::PLAIN.color(Color::Rgb(187, 154, 247)).bold(),
        code: Style::PLAIN.color(Color::Rgb(125, 207, 255)),
        link: Style::PLAIN.color(Color::Rgb(115, 218, 202)).underline(),
        heading: Style::PLAIN.color(Color::Rgb(122, 162, 247)).bold(),
        added: Style::PLAIN.color(Color::Rgb(158, 206, 106)),
        removed: Style::PLAIN.color(Color::Rgb(247, 118, 142)),
        keyword: Style::PLAIN.color(Color::Rgb(187, 154, 247)),
        string: Style::PLAIN.color(Color::Rgb(158, 206, 106)),
        number: Style::PLAIN.color(Color::Rgb(255, 158, 100)),
        comment: Style::PLAIN.color(Color::Rgb(130, 139, 163)).italic(),
        selected: Style::PLAIN.reverse(),
    };

    pub(crate) const LIGHT: Self = Self {
        accent: Style::PLAIN.color(Color::Rgb(38, 83, 181)),
        muted: Style::PLAIN.color(Color::Rgb(98, 104, 122)),
        error: Style::PLAIN.color(Color::Rgb(179, 27, 57)),
        warning: Style::PLAIN.color(Color::Rgb(140, 83, 0)),
        success: Style::PLAIN.color(Color::Rgb(44, 110, 30)),
        user: Style::PLAIN.color(Color::Rgb(105, 56, 175)).bold(),
        code: Style::PLAIN.color(Color::Rgb(0, 101, 140)),
        link: Style::PLAIN.color(Color::Rgb(0, 108, 95)).underline(),
        heading: Style::PLAIN.color(Color::Rgb(38, 83, 181)).bold(),
        added: Style::PLAIN.color(Color::Rgb(44, 110, 30)),
        removed: Style::PLAIN.color(Color::Rgb(179, 27, 57)),
        keyword: Style::PLAIN.color(Color::Rgb(105, 56, 175)),
        string: Style::PLAIN.color(Color::Rgb(44, 110, 30)),
        number: Style::PLAIN.color(Color::Rgb(150, 76, 0)),
        comment: Style::PLAIN.color(Color::Rgb(98, 104, 122)).italic(),
        selected: Style::PLAIN.reverse(),
    };
}
