//! The forms in which a secret may stand in a text.
//!
//! Encodings of a whole value are written out as needles. Escapes of single characters can be mixed
//! at will, so they are undone in the text instead.

use std::ops::Range;

use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Returns `text`, `text` escaped for JSON, and that escaped once more.
pub(super) fn in_json(text: &str) -> [String; 3] {
    let escaped = escape(text);
    let twice = escape(&escaped);
    [text.to_owned(), escaped, twice]
}

/// Returns `text` in base64 and in hexadecimal digits.
pub(super) fn encoded(text: &str) -> Vec<String> {
    let mut forms = Vec::new();
    for before in 0..3 {
        for form in [STANDARD_NO_PAD, URL_SAFE_NO_PAD].map(|engine| base64(text, before, &engine)) {
            // Some writers of JSON escape slashes.
            forms.push(form.replace('/', "\\/"));
            forms.push(form);
        }
    }
    let hex = text.bytes().map(|byte| format!("{byte:02x}"));
    let hex: String = hex.collect();
    forms.push(hex.to_ascii_uppercase());
    forms.push(hex);
    forms
}

/// Returns the base64 digits that depend on `text` only, when it follows `before` other bytes.
fn base64(text: &str, before: usize, engine: &impl base64::Engine) -> String {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(text.as_bytes());
    let first = (before * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    let digits = engine.encode(&bytes);
    digits.get(first..end).unwrap_or_default().to_owned()
}

/// A text whose escapes were undone, and where its bytes come from.
pub(super) struct Unescaped {
    pub(super) bytes: Vec<u8>,
    /// Where each byte begins in the text, and at last its end.
    places: Vec<usize>,
}

impl Unescaped {
    /// `None` when there is nothing to undo: `%2d`, `\\u002d`, `\\x2d`, `\\/`, with any number of backslashes.
    pub(super) fn of(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        memchr::memchr2(b'%', b'\\', bytes)?;
        let mut undone = Self {
            bytes: Vec::with_capacity(bytes.len()),
            places: Vec::with_capacity(bytes.len() + 1),
        };
        let mut at = 0;
        let mut is_changed = false;
        while let Some(&byte) = bytes.get(at) {
            let (meant, length) = match byte {
                b'%' | b'\\' => character(bytes.get(at..).unwrap_or_default()),
                _ => None,
            }
            .unwrap_or((char::from(byte), 1));
            is_changed |= length > 1;
            match length {
                1 => undone.put(byte, at),
                _ => {
                    let mut buffer = [0; 4];
                    for byte in meant.encode_utf8(&mut buffer).bytes() {
                        undone.put(byte, at);
                    }
                }
            }
            at += length;
        }
        undone.places.push(at);
        is_changed.then_some(undone)
    }

    fn put(&mut self, byte: u8, place: usize) {
        self.bytes.push(byte);
        self.places.push(place);
    }

    /// Returns the position of `part` in the original text.
    pub(super) fn place(&self, part: Range<usize>) -> Range<usize> {
        let place = |at: usize| self.places.get(at).copied().unwrap_or_default();
        place(part.start)..place(part.end)
    }
}

/// Decodes an escape at the beginning of `bytes`; returns the character and the length of the escape.
fn character(bytes: &[u8]) -> Option<(char, usize)> {
    if bytes.first() == Some(&b'%') {
        return Some((char::from(u8::try_from(number(bytes.get(1..3)?)?).ok()?), 3));
    }
    // In JSON that is quoted in JSON there are several.
    let slashes = bytes.iter().take_while(|&&byte| byte == b'\\').count();
    match bytes.get(slashes)? {
        b'/' => Some(('/', slashes + 1)),
        b'x' => {
            let digits = bytes.get(slashes + 1..slashes + 3)?;
            Some((char::from_u32(number(digits)?)?, slashes + 3))
        }
        b'u' => {
            let digits = bytes.get(slashes + 1..slashes + 5)?;
            Some((char::from_u32(number(digits)?)?, slashes + 5))
        }
        _ => None,
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok()?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u32::from_str_radix(digits, 16).ok())?
}

/// Returns `text` as it is written between quotes in JSON.
fn escape(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = quoted.strip_prefix('"').and_then(|q| q.strip_suffix('"'));
    inner.unwrap_or(text).to_owned()
}
