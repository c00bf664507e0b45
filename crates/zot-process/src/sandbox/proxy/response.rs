//! The head of a server's response, as the child gets it.

#[cfg(test)]
mod tests;

use super::head::{BadHead, Field, first_and_fields};
use super::request::{is_proxys, push};

/// Fields that concern one connection only, beside those that begin with `Proxy-` and those that
/// `Connection` names.
const NOT_FORWARDED: [&str; 3] = ["Connection", "Keep-Alive", "Upgrade"];

/// A head for the child.
#[derive(Debug)]
pub(super) struct ResponseHead {
    pub(super) bytes: Vec<u8>,
    /// Whether another head follows, as after `100 Continue`.
    pub(super) is_interim: bool,
}

impl ResponseHead {
    /// Rewrites a head so that the child expects no second response.
    pub(super) fn rewrite(head: &[u8]) -> Result<Self, BadHead> {
        let (first, fields) = first_and_fields(head)?;
        let status = match first {
            [
                b'H',
                b'T',
                b'T',
                b'P',
                b'/',
                b'1',
                b'.',
                b'0' | b'1',
                b' ',
                rest @ ..,
            ] => rest,
            _ => return Err(BadHead::Version),
        };
        let [b'1'..=b'9', b'0'..=b'9', b'0'..=b'9', rest @ ..] = status else {
            return Err(BadHead::FirstLine);
        };
        if !rest.is_empty() && !rest.starts_with(b" ") {
            return Err(BadHead::FirstLine);
        }
        let is_interim = status.starts_with(b"1") && !status.starts_with(b"101");
        let named: Vec<&[u8]> = fields
            .iter()
            .filter(|field| field.is("Connection"))
            .flat_map(Field::items)
            .collect();
        let mut bytes = first.to_vec();
        bytes.extend_from_slice(b"\r\n");
        for field in &fields {
            let is_framing = field.is("Content-Length") || field.is("Transfer-Encoding");
            let name = field.name.as_bytes();
            let is_named = || named.iter().any(|named| named.eq_ignore_ascii_case(name));
            let is_own = NOT_FORWARDED.iter().any(|name| field.is(name)) || is_proxys(field);
            if is_framing || !(is_own || is_named()) {
                push(&mut bytes, field);
            }
        }
        if !is_interim {
            bytes.extend_from_slice(b"Connection: close\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        Ok(Self { bytes, is_interim })
    }
}
