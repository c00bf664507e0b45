//! The object in a frame.

#[cfg(test)]
mod tests;

use serde_json::error::Category;

use crate::service::Object;

/// Reads a frame's object. Python also writes halves of surrogate pairs, which no text can hold: each
/// becomes U+FFFD.
pub(crate) fn read(bytes: &[u8]) -> Result<Object, serde_json::Error> {
    serde_json::from_slice(bytes).or_else(|error| match error.classify() {
        Category::Syntax | Category::Eof => {
            let replaced = without_half_surrogates(bytes).ok_or(error)?;
            serde_json::from_slice(&replaced)
        }
        Category::Data | Category::Io => Err(error),
    })
}

/// With U+FFFD for every `\uD8xx` that no `\uDCxx` follows and the other way round; `None` when there
/// is none.
fn without_half_surrogates(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut kept = 0;
    let mut index = 0;
    // Backslashes are only in strings.
    while let Some(found) = bytes.get(index..)?.iter().position(|byte| *byte == b'\\') {
        let start = index + found;
        let Some(unit) = unit(bytes, start) else {
            index = start + 2;
            continue;
        };
        index = start + ESCAPE_BYTES;
        match unit {
            0xD800..0xDC00 if matches!(self::unit(bytes, index), Some(0xDC00..0xE000)) => {
                index += ESCAPE_BYTES;
            }
            0xD800..0xE000 => {
                replaced.extend_from_slice(&bytes[kept..start]);
                replaced.extend_from_slice(br"\ufffd");
                kept = index;
            }
            _ => {}
        }
        if index >= bytes.len() {
            break;
        }
    }
    if kept == 0 {
        return None;
    }
    replaced.extend_from_slice(&bytes[kept..]);
    Some(replaced)
}

/// `\uXXXX`.
const ESCAPE_BYTES: usize = 6;

fn unit(bytes: &[u8], start: usize) -> Option<u16> {
    let digits = bytes
        .get(start..start + ESCAPE_BYTES)?
        .strip_prefix(br"\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
