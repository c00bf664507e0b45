//! The head of a message of HTTP/1: its first line and its fields.
//!
//! Strict on purpose: a head that another program could read in another way is refused.

use memchr::memmem;
use thiserror::Error;

/// A field of a head. The name is a token; the value has no spaces around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Field<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a [u8],
}

/// The head of a request.
#[derive(Debug)]
pub(super) struct RequestHead<'a> {
    pub(super) method: &'a str,
    pub(super) target: &'a str,
    pub(super) version: &'a str,
    pub(super) fields: Vec<Field<'a>>,
}

/// Why a request is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum BadHead {
    #[error("it has control characters, or lines that do not end in CR LF")]
    Characters,
    #[error("its first line is not \"METHOD target HTTP/1.1\"")]
    FirstLine,
    #[error("only HTTP/1.0 and HTTP/1.1 are understood")]
    Version,
    #[error("a header line is not \"Name: value\"")]
    Field,
    #[error("it is too long")]
    Long,
    #[error("a header line is continued on the next line")]
    Folded,
}

/// Finds the end of a head while it arrives. Each byte is looked at once.
#[derive(Debug, Default)]
pub(super) struct HeadEnd {
    looked_at: usize,
    /// How much of the end, which is CR LF CR LF, came last.
    matched: u8,
}

impl HeadEnd {
    /// Returns the length of the head at the beginning of `bytes`, with its empty line, if it is whole.
    /// `bytes` only grow between calls. Bytes that cannot be in a head are found as soon as they come.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Result<Option<usize>, BadHead> {
        for byte in &bytes[self.looked_at..] {
            self.looked_at += 1;
            self.matched = match (self.matched, byte) {
                (0 | 2, b'\r') | (1 | 3, b'\n') => self.matched + 1,
                (1 | 3, _) => return Err(BadHead::Characters),
                (_, b'\t' | b' '..=b'~' | 0x80..) => 0,
                _ => return Err(BadHead::Characters),
            };
            if self.matched == 4 {
                return Ok(Some(self.looked_at));
            }
        }
        Ok(None)
    }
}

impl<'a> RequestHead<'a> {
    /// Reads a head whose end [`HeadEnd`] has found.
    pub(super) fn parse(head: &'a [u8]) -> Result<Self, BadHead> {
        let (first, fields) = first_and_fields(head)?;
        let first = str::from_utf8(first).map_err(|_| BadHead::FirstLine)?;
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some(version), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(BadHead::FirstLine);
        };
        let is_visible = |byte: u8| byte.is_ascii_graphic();
        if !is_token(method.as_bytes()) || target.is_empty() || !target.bytes().all(is_visible) {
            return Err(BadHead::FirstLine);
        }
        if version != "HTTP/1.1" && version != "HTTP/1.0" {
            return Err(BadHead::Version);
        }
        Ok(Self {
            method,
            target,
            version,
            fields,
        })
    }
}

/// Separates the first line from the fields.
pub(super) fn first_and_fields(head: &[u8]) -> Result<(&[u8], Vec<Field<'_>>), BadHead> {
    let head = head.strip_suffix(b"\r\n\r\n").ok_or(BadHead::FirstLine)?;
    let (first, rest) = match memmem::find(head, b"\r\n") {
        Some(end) => (&head[..end], Some(&head[end + 2..])),
        None => (head, None),
    };
    let mut fields = Vec::new();
    let mut rest = rest;
    while let Some(lines) = rest {
        let line = match memmem::find(lines, b"\r\n") {
            Some(end) => {
                rest = Some(&lines[end + 2..]);
                &lines[..end]
            }
            None => {
                rest = None;
                lines
            }
        };
        if line.starts_with(b" ") || line.starts_with(b"\t") {
            return Err(BadHead::Folded);
        }
        let colon = memchr::memchr(b':', line).ok_or(BadHead::Field)?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if !is_token(name) || is_disguised(name) {
            return Err(BadHead::Field);
        }
        fields.push(Field {
            name: str::from_utf8(name).map_err(|_| BadHead::Field)?,
            value: value.trim_ascii(),
        });
    }
    Ok((first, fields))
}

impl Field<'_> {
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    /// Returns the parts of a list that is separated by commas.
    pub(super) fn items(&self) -> impl Iterator<Item = &[u8]> {
        self.value
            .split(|byte| *byte == b',')
            .map(<[u8]>::trim_ascii)
            .filter(|item| !item.is_empty())
    }
}

/// Returns whether `bytes` are a token of RFC 9110.
fn is_token(bytes: &[u8]) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    !bytes.is_empty() && bytes.iter().all(is_allowed)
}

/// Returns whether some servers take the name for one that decides where a request ends: they read an
/// underscore as a hyphen.
fn is_disguised(name: &[u8]) -> bool {
    let is = |other: &[u8]| {
        name.len() == other.len()
            && name.iter().zip(other).all(|(byte, other)| match byte {
                b'_' => *other == b'-',
                byte => byte.eq_ignore_ascii_case(other),
            })
    };
    name.contains(&b'_') && (is(b"content-length") || is(b"transfer-encoding"))
}
