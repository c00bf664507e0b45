//! How large a picture is, from the beginning of its file.

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
    let mut at = 2;
    loop {
        let marker = *file.get(at + 1)?;
        if *file.get(at)? != 0xff {
            return None;
        }
        if marker == 0xff {
            at += 1;
            continue;
        }
        let body = at + 4;
        if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
            let height = big(file.get(body + 1..body + 3)?);
            return Some((big(file.get(body + 3..body + 5)?), height));
        }
        at += 2 + big(file.get(at + 2..at + 4)?).max(2);
    }
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

fn big(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

fn little(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}
