//! Images for terminals that can show them.
//!
//! Pure: from the bytes of a file to the sequence that draws it. If a terminal cannot show images,
//! or an image is too large or damaged, text describes it instead.

mod decode;
mod encode;
mod environment;
mod iterm;
mod kitty;
mod orientation;
mod palette;
mod placeholder;
mod scale;
mod sixel;
mod size;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use orientation::Orientation;
use scale::Pixels;
use size::Format;

pub(crate) use environment::{ImageEnvironment, TMUX_FORMAT, protocol_in_tmux};

/// A larger file is only described.
///
/// Limit: the image is only described.
const MAX_DECODED_IMAGE_BYTES: usize = 16 * 1024 * 1024;

/// A larger file is not sent to a terminal unchanged.
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
const DEFAULT_CELL: (usize, usize) = (9, 18);
/// The assumed size of a cell for sixels, from the VT340.
const SIXEL_CELL: (usize, usize) = (10, 20);

/// How a terminal receives images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Kitty,
    /// Kitty's through tmux: characters represent the parts of an image.
    Placeholders,
    Iterm,
    Sixel,
}

/// An image as a terminal receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Drawing {
    /// Its size on the screen.
    pub columns: usize,
    pub rows: usize,
    /// Precedes `sequence` the first time.
    pub preamble: String,
    /// Draws the image without moving the cursor.
    pub sequence: Arc<str>,
}

impl Drawing {
    /// Returns whether both draw the same image.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.sequence, &other.sequence)
    }

    /// Returns a copy for drawing the image again later.
    pub(crate) fn redrawn(&self) -> Self {
        Self {
            preamble: String::new(),
            sequence: Arc::clone(&self.sequence),
            ..*self
        }
    }
}

/// Draws images for one terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ImageEncoder {
    pub protocol: Protocol,
    /// Width and height of a cell in pixels, if the terminal reports them.
    pub cell: Option<(usize, usize)>,
}

/// Returns a number for an image that other images and programs are unlikely to use.
pub(crate) fn number(process: u32, image: u32) -> u32 {
    let group = process % (placeholder::MARK_COUNT - 1) + 1;
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

impl ImageEncoder {
    /// Draws an image, or returns `None` if it cannot be shown. `number` identifies it to the terminal.
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
        let orientation = Orientation::of(file);
        let upright = orientation.size((width, height));
        let fit = self.fit(upright.0, upright.1, columns, rows)?;
        let pixels = || {
            let pixels = decode::shrunk(file, (width, height), orientation.size(fit.pixels))?;
            Some(orientation.apply(pixels))
        };
        let (preamble, sequence) = match self.protocol {
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
            preamble,
            sequence: sequence.into(),
        })
    }

    /// Returns the size at which an image fits, at most its own.
    fn fit(&self, width: usize, height: usize, columns: usize, rows: usize) -> Option<Fit> {
        let (cell_width, cell_height) = self.cell.unwrap_or(match self.protocol {
            Protocol::Sixel => SIXEL_CELL,
            _ => DEFAULT_CELL,
        });
        let max_width = columns.min(MAX_COLUMNS) * cell_width;
        let max_height = rows.min(MAX_ROWS) * cell_height;
        if width == 0 || height == 0 || max_width == 0 || max_height == 0 {
            return None;
        }
        let scale = (max_width as f64 / width as f64)
            .min(max_height as f64 / height as f64)
            .min(1.0);
        let scaled = |pixels: usize, limit: usize| {
            ((pixels as f64 * scale).round() as usize).clamp(1, limit)
        };
        let pixels = (scaled(width, max_width), scaled(height, max_height));
        Some(Fit {
            columns: pixels.0.div_ceil(cell_width),
            rows: pixels.1.div_ceil(cell_height),
            pixels,
        })
    }
}

/// Converts an image to PNG, kitty's only format. Other formats and large files are scaled to the
/// size on the screen.
fn as_png(file: &[u8], pixels: impl Fn() -> Option<Pixels>) -> Option<Cow<'_, [u8]>> {
    if size::format(file) == Some(Format::Png) && file.len() <= MAX_TERMINAL_IMAGE_BYTES {
        return Some(Cow::Borrowed(file));
    }
    Some(Cow::Owned(encode::png(&pixels()?)?))
}
