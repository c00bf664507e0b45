//! `application/x-www-form-urlencoded`.

use std::fmt::Write as _;

/// Encodes `fields` as a query or as the body of a form.
pub fn encoded(fields: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in fields {
        if !text.is_empty() {
            text.push('&');
        }
        escape(name, &mut text);
        text.push('=');
        escape(value, &mut text);
    }
    text
}

/// Returns the fields of a query or a form; invalid UTF-8 becomes U+FFFD.
pub fn decoded(text: &str) -> Vec<(String, String)> {
    text.split('&')
        .filter(|field| !field.is_empty())
        .map(|field| {
            let (name, value) = field.split_once('=').unwrap_or((field, ""));
            (unescape(name), unescape(value))
        })
        .collect()
}

/// Returns one part of a form, encoded.
pub fn escaped(part: &str) -> String {
    let mut text = String::new();
    escape(part, &mut text);
    text
}

fn escape(part: &str, text: &mut String) {
    for byte in part.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                text.push(char::from(byte));
            }
            // Writing to a string cannot fail.
            _ => drop(write!(text, "%{byte:02X}")),
        }
    }
}

fn unescape(part: &str) -> String {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        let escaped = match (byte, after) {
            (b'%', [high, low, after @ ..]) => {
                let digits = [*high, *low];
                let digits = std::str::from_utf8(&digits).unwrap_or_default();
                u8::from_str_radix(digits, 16)
                    .ok()
                    .map(|byte| (byte, after))
            }
            _ => None,
        };
        match (escaped, byte) {
            (Some((byte, after)), _) => {
                bytes.push(byte);
                rest = after;
            }
            (None, b'+') => bytes.push(b' '),
            (None, byte) => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
