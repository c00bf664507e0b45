//! Pictures in terminals that can show them.
//!
//! Pure: from the bytes of a file to the escape sequence that draws it. Where a terminal cannot, or
//! a picture is too large, the description in the text has to do.

mod size;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

/// A larger file is described only.
const MAX_BYTES: usize = 4 * 1024 * 1024;

const MAX_COLUMNS: usize = 60;
const MAX_ROWS: usize = 20;

/// What a cell measures where the terminal does not say, in pixels.
const USUAL_CELL: (usize, usize) = (9, 18);

/// What one escape sequence of kitty's may carry.
const CHUNK: usize = 4096;

/// How a terminal wants to be given pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Kitty,
    Iterm,
}

impl Protocol {
    /// What the environment says of the terminal. Multiplexers pass none of it on.
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let term = set("TERM").unwrap_or_default();
        if set("TMUX").is_some() || set("STY").is_some() || term.starts_with("screen") {
            return None;
        }
        let program = set("TERM_PROGRAM").or_else(|| set("LC_TERMINAL"));
        match program.as_deref() {
            Some("iTerm.app" | "iTerm2" | "WezTerm") => return Some(Self::Iterm),
            Some("ghostty") => return Some(Self::Kitty),
            _ => {}
        }
        let is_kitty = set("KITTY_WINDOW_ID").is_some();
        let is_kitty = is_kitty || term.contains("kitty") || term.contains("ghostty");
        is_kitty.then_some(Self::Kitty)
    }
}

/// A picture as a terminal takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    /// How many it takes on the screen.
    pub rows: usize,
    /// Draws it at the cursor and leaves that where it is.
    pub sequence: String,
}

/// Where pictures are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Easel {
    pub protocol: Protocol,
    /// Width and height of a cell in pixels, if the terminal says.
    pub cell: Option<(usize, usize)>,
}

impl Easel {
    /// `None` when it cannot be shown.
    pub fn draw(&self, file: &[u8], columns: usize, rows: usize) -> Option<Drawing> {
        if file.len() > MAX_BYTES {
            return None;
        }
        let (width, height) = size::of(file)?;
        let (columns, rows) = self.fit(width, height, columns, rows)?;
        let encoded = BASE64.encode(file);
        let sequence = match self.protocol {
            Protocol::Kitty if size::is_png(file) => kitty(&encoded, columns, rows),
            // It takes no other format.
            Protocol::Kitty => return None,
            Protocol::Iterm => format!(
                "\x1b7\x1b]1337;File=inline=1;size={};width={columns};height={rows};\
                 preserveAspectRatio=1:{encoded}\x07\x1b8",
                file.len()
            ),
        };
        Some(Drawing { rows, sequence })
    }

    /// Takes the pictures off the screen, where they do not go with the text.
    pub(crate) fn wipe(&self) -> &'static str {
        match self.protocol {
            Protocol::Kitty => "\x1b_Ga=d,q=2\x1b\\",
            Protocol::Iterm => "",
        }
    }

    /// As large as it is, unless there is less room.
    fn fit(
        &self,
        width: usize,
        height: usize,
        columns: usize,
        rows: usize,
    ) -> Option<(usize, usize)> {
        let (cell_width, cell_height) = self.cell.unwrap_or(USUAL_CELL);
        let most_width = columns.min(MAX_COLUMNS) * cell_width;
        let most_height = rows.min(MAX_ROWS) * cell_height;
        if width == 0 || height == 0 || most_width == 0 || most_height == 0 {
            return None;
        }
        let scale = (most_width as f64 / width as f64)
            .min(most_height as f64 / height as f64)
            .min(1.0);
        let cells = |pixels: usize, cell: usize| {
            ((pixels as f64 * scale / cell as f64).ceil() as usize).max(1)
        };
        Some((cells(width, cell_width), cells(height, cell_height)))
    }
}

fn kitty(encoded: &str, columns: usize, rows: usize) -> String {
    let mut sequence = String::with_capacity(encoded.len() + encoded.len() / 100 + 64);
    let mut rest = encoded;
    let mut control = format!("a=T,f=100,q=2,C=1,c={columns},r={rows},");
    while !rest.is_empty() {
        let (chunk, behind) = rest.split_at(CHUNK.min(rest.len()));
        let more = u8::from(!behind.is_empty());
        sequence.push_str(&format!("\x1b_G{control}m={more};{chunk}\x1b\\"));
        control.clear();
        rest = behind;
    }
    sequence
}
