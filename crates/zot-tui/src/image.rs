//! Images in terminals that can show them.
//!
//! Pure: from the bytes of a file to the sequence that draws it. Where a terminal cannot, or an
//! image is too large or damaged, the text describes the image.

mod decode;
mod encode;
mod iterm;
mod kitty;
mod palette;
mod placeholder;
mod scale;
mod sixel;
mod size;
mod surroundings;
#[cfg(test)]
mod tests;
mod turn;

use std::borrow::Cow;
use std::sync::Arc;

use scale::Pixels;
use size::Format;
use turn::Turn;

pub(crate) use surroundings::{Surroundings, TMUX_FORMAT, in_tmux};

/// A larger file is only described.
///
/// Limit: the image is only described.
const MAX_DECODED_IMAGE_BYTES: usize = 16 * 1024 * 1024;

/// A larger file is not sent to a terminal as it is.
///
/// Limit: the image is made smaller before it is sent.
const MAX_TERMINAL_IMAGE_BYTES: usize = 4 * 1024 * 1024;

/// An image with more pixels is only described: a small file can claim any number.
///
/// Limit: an image with more pixels in its header is only described.
const MAX_PIXELS: usize = 24_000_000;

const MAX_COLUMNS: usize = 60;
const MAX_ROWS: usize = 20;

/// The assumed size of a cell in pixels.
const USUAL_CELL: (usize, usize) = (9, 18);
/// The same for sixels, from the VT340.
const SIXEL_CELL: (usize, usize) = (10, 20);

/// How a terminal takes images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Kitty,
    /// Kitty's, through tmux: characters stand for the parts of an image.
    Placeholders,
    Iterm,
    Sixel,
}

/// An image as a terminal takes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Drawing {
    /// Its size on the screen.
    pub columns: usize,
    pub rows: usize,
    /// Comes before `sequence` the first time.
    pub first: String,
    /// Draws it at the cursor, which stays.
    pub sequence: Arc<str>,
}

impl Drawing {
    /// Whether both draw the same image.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.sequence, &other.sequence)
    }

    /// A copy that is drawn again later.
    pub(crate) fn copy(&self) -> Self {
        Self {
            first: String::new(),
            sequence: Arc::clone(&self.sequence),
            ..*self
        }
    }
}

/// Where images are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Easel {
    pub protocol: Protocol,
    /// Width and height of a cell in pixels, if the terminal says.
    pub cell: Option<(usize, usize)>,
}

/// The number of an image in the terminal, unlike those of other images and programs.
pub(crate) fn number(process: u32, image: u32) -> u32 {
    let group = process % (placeholder::MARKS - 1) + 1;
    // The first sixteen colours also have other codes.
    (group << 24) | (16 + image % 240)
}

/// The size of an image on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fit {
    columns: usize,
    rows: usize,
    /// Width and height in pixels.
    pixels: (usize, usize),
}

impl Easel {
    /// `None` when it cannot be shown. A terminal that keeps images knows this one by `number`.
    pub(crate) fn draw(
        &self,
        file: &[u8],
        columns: usize,
        rows: usize,
        number: u32,
    ) -> Option<Drawing> {
        if file.len() > MAX_DECODED_IMAGE_BYTES {
            return None;
        }
        let (width, height) = size::of(file)?;
        if width.checked_mul(height)? > MAX_PIXELS {
            return None;
        }
        let turn = Turn::of(file);
        let upright = turn.size((width, height));
        let fit = self.fit(upright.0, upright.1, columns, rows)?;
        let pixels = || {
            let pixels = decode::shrunk(file, (width, height), turn.size(fit.pixels))?;
            Some(turn.apply(pixels))
        };
        let (first, sequence) = match self.protocol {
            Protocol::Iterm if file.len() <= MAX_TERMINAL_IMAGE_BYTES => {
                (String::new(), iterm::draw(file, fit))
            }
            Protocol::Iterm => (String::new(), iterm::draw(&encode::png(&pixels()?)?, fit)),
            Protocol::Sixel => (String::new(), sixel::draw(&pixels()?)),
            Protocol::Kitty => (
                kitty::transmit(&as_png(file, pixels)?, number),
                kitty::place(number, fit),
            ),
            Protocol::Placeholders => (
                placeholder::transmit(&as_png(file, pixels)?, number, fit),
                placeholder::place(number, fit),
            ),
        };
        Some(Drawing {
            columns: fit.columns,
            rows: fit.rows,
            first,
            sequence: sequence.into(),
        })
    }

    /// Its own size, or less where there is no room.
    fn fit(&self, width: usize, height: usize, columns: usize, rows: usize) -> Option<Fit> {
        let (cell_width, cell_height) = self.cell.unwrap_or(match self.protocol {
            Protocol::Sixel => SIXEL_CELL,
            _ => USUAL_CELL,
        });
        let most_width = columns.min(MAX_COLUMNS) * cell_width;
        let most_height = rows.min(MAX_ROWS) * cell_height;
        if width == 0 || height == 0 || most_width == 0 || most_height == 0 {
            return None;
        }
        let scale = (most_width as f64 / width as f64)
            .min(most_height as f64 / height as f64)
            .min(1.0);
        let scaled =
            |pixels: usize, most: usize| ((pixels as f64 * scale).round() as usize).clamp(1, most);
        let pixels = (scaled(width, most_width), scaled(height, most_height));
        Some(Fit {
            columns: pixels.0.div_ceil(cell_width),
            rows: pixels.1.div_ceil(cell_height),
            pixels,
        })
    }
}

/// The image as PNG, the only format of kitty. Other formats and large files are scaled to the size
/// on the screen.
fn as_png(file: &[u8], pixels: impl Fn() -> Option<Pixels>) -> Option<Cow<'_, [u8]>> {
    if size::format(file) == Some(Format::Png) && file.len() <= MAX_TERMINAL_IMAGE_BYTES {
        return Some(Cow::Borrowed(file));
    }
    Some(Cow::Owned(encode::png(&pixels()?)?))
}
