//! Reads the size of an image from the beginning of its file.

use zot_sdk::Image;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Png,
    Jpeg,
    Gif,
    Webp,
}

pub(super) fn format(file: &[u8]) -> Option<Format> {
    Some(match Image::mime_type_of(file)? {
        "image/png" => Format::Png,
        "image/gif" => Format::Gif,
        "image/jpeg" => Format::Jpeg,
        "image/webp" => Format::Webp,
        _ => return None,
    })
}

/// Returns the width and height in pixels.
pub(super) fn of(file: &[u8]) -> Option<(usize, usize)> {
    match format(file)? {
        Format::Png => Some((big_endian(file.get(16..20)?), big_endian(file.get(20..24)?))),
        Format::Gif => Some((
            little_endian(file.get(6..8)?),
            little_endian(file.get(8..10)?),
        )),
        Format::Jpeg => jpeg(file),
        Format::Webp => webp(file),
    }
}

/// Reads the size from the segment that begins a frame.
fn jpeg(file: &[u8]) -> Option<(usize, usize)> {
    let is_frame = |marker: u8| (0xc0..=0xcf).contains(&marker);
    let mut frames = segments(file)
        .filter(|(marker, _)| is_frame(*marker) && !matches!(marker, 0xc4 | 0xc8 | 0xcc));
    let (_, frame) = frames.next()?;
    Some((big_endian(frame.get(3..5)?), big_endian(frame.get(1..3)?)))
}

/// Returns the segments of a JPEG file before its pixels: marker and content, which may be cut off.
pub(super) fn segments(file: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut at = 2;
    std::iter::from_fn(move || {
        if !file.starts_with(&[0xff, 0xd8]) {
            return None;
        }
        while *file.get(at)? == 0xff && *file.get(at + 1)? == 0xff {
            at += 1;
        }
        let marker = *file.get(at + 1)?;
        if *file.get(at)? != 0xff || marker == 0xda {
            return None;
        }
        let length = big_endian(file.get(at + 2..at + 4)?).max(2);
        let body = &file[at + 4..file.len().min(at + 2 + length).max(at + 4)];
        at += 2 + length;
        Some((marker, body))
    })
}

fn webp(file: &[u8]) -> Option<(usize, usize)> {
    match file.get(12..16)? {
        b"VP8X" => Some((
            little_endian(file.get(24..27)?) + 1,
            little_endian(file.get(27..30)?) + 1,
        )),
        b"VP8L" => {
            let bits = little_endian(file.get(21..25)?);
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8 " => Some((
            little_endian(file.get(26..28)?) & 0x3fff,
            little_endian(file.get(28..30)?) & 0x3fff,
        )),
        _ => None,
    }
}

pub(super) fn big_endian(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

pub(super) fn little_endian(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}
