//! Reads the size of an image from the beginning of its file.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Png,
    Jpeg,
    Gif,
    Webp,
}

pub(super) fn format(file: &[u8]) -> Option<Format> {
    if file.starts_with(b"\x89PNG\r\n\x1a\n") {
        return Some(Format::Png);
    }
    if file.starts_with(b"GIF8") {
        return Some(Format::Gif);
    }
    if file.starts_with(&[0xff, 0xd8]) {
        return Some(Format::Jpeg);
    }
    (file.starts_with(b"RIFF") && file.get(8..12)? == b"WEBP").then_some(Format::Webp)
}

/// Width and height in pixels.
pub(super) fn of(file: &[u8]) -> Option<(usize, usize)> {
    match format(file)? {
        Format::Png => Some((big(file.get(16..20)?), big(file.get(20..24)?))),
        Format::Gif => Some((little(file.get(6..8)?), little(file.get(8..10)?))),
        Format::Jpeg => jpeg(file),
        Format::Webp => webp(file),
    }
}

/// The segment that begins a frame has it.
fn jpeg(file: &[u8]) -> Option<(usize, usize)> {
    let is_frame = |marker: u8| (0xc0..=0xcf).contains(&marker);
    let mut frames = segments(file)
        .filter(|(marker, _)| is_frame(*marker) && !matches!(marker, 0xc4 | 0xc8 | 0xcc));
    let (_, frame) = frames.next()?;
    Some((big(frame.get(3..5)?), big(frame.get(1..3)?)))
}

/// The segments of a JPEG file up to its pixels: marker and content, of which the end may be missing.
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
        let length = big(file.get(at + 2..at + 4)?).max(2);
        let body = &file[at + 4..file.len().min(at + 2 + length).max(at + 4)];
        at += 2 + length;
        Some((marker, body))
    })
}

fn webp(file: &[u8]) -> Option<(usize, usize)> {
    match file.get(12..16)? {
        b"VP8X" => Some((little(file.get(24..27)?) + 1, little(file.get(27..30)?) + 1)),
        b"VP8L" => {
            let bits = little(file.get(21..25)?);
            Some(((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1))
        }
        b"VP8 " => Some((
            little(file.get(26..28)?) & 0x3fff,
            little(file.get(28..30)?) & 0x3fff,
        )),
        _ => None,
    }
}

pub(super) fn big(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

pub(super) fn little(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}
