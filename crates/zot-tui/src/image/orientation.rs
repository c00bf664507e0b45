//! The orientation of a photograph: cameras record how they were held instead of rotating the image.

use super::scale::Pixels;
use super::size;

/// The value of Exif: from 1, which is upright, to 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Orientation(u16);

const UPRIGHT: Orientation = Orientation(1);

/// The tag of the orientation in Exif.
const ORIENTATION_TAG: u16 = 0x0112;

/// No camera writes a directory with more entries.
const MAX_EXIF_ENTRIES: usize = 512;

impl Orientation {
    /// Reads the orientation of a JPEG file; other files are upright.
    pub(super) fn of(file: &[u8]) -> Self {
        size::segments(file)
            .filter(|(marker, _)| *marker == 0xe1)
            .find_map(|(_, body)| orientation(body.strip_prefix(b"Exif\0\0")?))
            .filter(|value| (1..=8).contains(value))
            .map_or(UPRIGHT, Self)
    }

    /// Returns the width and height after rotating, or those before it for rotated ones.
    pub(super) fn size(self, (width, height): (usize, usize)) -> (usize, usize) {
        match self.0 {
            5..=8 => (height, width),
            _ => (width, height),
        }
    }

    pub(super) fn apply(self, pixels: Pixels) -> Pixels {
        if self == UPRIGHT {
            return pixels;
        }
        let (width, height) = (pixels.width, pixels.rows().len());
        let (new_width, new_height) = self.size((width, height));
        let mut rgba = Vec::with_capacity(pixels.rgba.len());
        for y in 0..new_height {
            for x in 0..new_width {
                let (column, row) = match self.0 {
                    2 => (width - 1 - x, y),
                    3 => (width - 1 - x, height - 1 - y),
                    4 => (x, height - 1 - y),
                    5 => (y, x),
                    6 => (y, height - 1 - x),
                    7 => (width - 1 - y, height - 1 - x),
                    8 => (width - 1 - y, x),
                    _ => (x, y),
                };
                let start = (row * width + column) * 4;
                rgba.extend_from_slice(&pixels.rgba[start..start + 4]);
            }
        }
        Pixels {
            width: new_width,
            rgba,
        }
    }
}

/// Reads the orientation from the first directory of a TIFF file, which is the format of Exif.
fn orientation(tiff: &[u8]) -> Option<u16> {
    let is_little = match tiff.get(..2)? {
        b"II" => true,
        b"MM" => false,
        _ => return None,
    };
    let number = |start: usize, bytes: usize| {
        let bytes = tiff.get(start..start.checked_add(bytes)?)?;
        Some(match is_little {
            true => size::little_endian(bytes),
            false => size::big_endian(bytes),
        })
    };
    let directory = number(4, 4)?;
    let entries = number(directory, 2)?.min(MAX_EXIF_ENTRIES);
    (0..entries).find_map(|entry| {
        let start = directory + 2 + entry * 12;
        (number(start, 2)? == usize::from(ORIENTATION_TAG))
            .then(|| number(start + 8, 2))
            .flatten()
            .and_then(|value| u16::try_from(value).ok())
    })
}
