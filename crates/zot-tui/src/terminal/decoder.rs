//! Decodes input from the terminal into keys, pastes and replies.
//!
//! Pure, and independent of where reads end: incomplete input waits for more. An escape that
//! nothing follows is the key; [`Decoder::finish`] tells that nothing follows.

mod sequence;
#[cfg(test)]
mod tests;

use crate::app::{Key, KeyCode};

/// The longest escape sequence.
///
/// Limit: a longer escape sequence is left out.
const MAX_INPUT_SEQUENCE_BYTES: usize = 128;

/// The longest paste that arrives in one piece.
///
/// Limit: a longer paste arrives in pieces.
const MAX_PASTE_BYTES: usize = 32 * 1024 * 1024;

const PASTE_END: &[u8] = b"\x1b[201~";

/// Something the user did, or a reply of the terminal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Decoded {
    Key(Key),
    Paste(String),
    /// The colour of the background.
    Background {
        is_light: bool,
    },
    /// Width and height of a cell in pixels.
    Cell(usize, usize),
    /// The position of the cursor, counted from one, or a key with modifiers, which looks the same.
    Cursor {
        row: usize,
        column: usize,
        key: Option<Key>,
    },
    /// The only attribute of the terminal that matters here.
    Attributes {
        sixel: bool,
    },
}

/// What the buffer begins with.
#[derive(Debug, PartialEq, Eq)]
enum Parsed {
    /// It depends on what follows.
    Incomplete,
    /// This many bytes are ignored.
    Nothing(usize),
    /// This many bytes mean this.
    Decoded(usize, Decoded),
    PasteStart(usize),
}

impl Parsed {
    fn key(bytes: usize, key: Key) -> Self {
        Self::Decoded(bytes, Decoded::Key(key))
    }
}

/// Whether more input may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rest {
    MayFollow,
    IsComplete,
}

/// Collects input until it is complete.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    buffer: Vec<u8>,
    /// How much of the buffer is decoded.
    start: usize,
    paste: Option<Vec<u8>>,
}

impl Decoder {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete key, paste or reply.
    pub(super) fn next(&mut self) -> Option<Decoded> {
        self.advance(Rest::MayFollow)
    }

    /// Returns whether the meaning of the last bytes depends on more. A paste may take its time.
    pub(super) fn is_undecided(&self) -> bool {
        self.paste.is_none() && self.start < self.buffer.len()
    }

    /// Decodes incomplete input, because nothing follows.
    pub(super) fn finish(&mut self) -> Option<Decoded> {
        self.advance(Rest::IsComplete)
    }

    fn advance(&mut self, rest: Rest) -> Option<Decoded> {
        loop {
            if self.paste.is_some() {
                return self.advance_paste();
            }
            match parse(&self.buffer[self.start..], rest) {
                Parsed::Incomplete => return None,
                Parsed::Nothing(bytes) => self.start += bytes,
                Parsed::Decoded(bytes, decoded) => {
                    self.start += bytes;
                    return Some(decoded);
                }
                Parsed::PasteStart(bytes) => {
                    self.start += bytes;
                    self.paste = Some(Vec::new());
                }
            }
        }
    }

    fn advance_paste(&mut self) -> Option<Decoded> {
        let bytes = &self.buffer[self.start..];
        let end = find(bytes, PASTE_END);
        // The end marker itself may be split by a read.
        let held = (1..PASTE_END.len()).rev();
        let held = held
            .into_iter()
            .find(|length| bytes.ends_with(&PASTE_END[..*length]));
        let taken = end.unwrap_or(bytes.len() - held.unwrap_or(0));
        let paste = self.paste.get_or_insert_default();
        paste.extend_from_slice(&bytes[..taken]);
        self.start += taken;
        if end.is_some() {
            self.start += PASTE_END.len();
        } else if paste.len() < MAX_PASTE_BYTES {
            return None;
        }
        let pasted = match end {
            Some(_) => self.paste.take().unwrap_or_default(),
            None => std::mem::take(paste),
        };
        let text = String::from_utf8(pasted)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Some(Decoded::Paste(text))
    }
}

fn find(bytes: &[u8], pattern: &[u8]) -> Option<usize> {
    bytes
        .windows(pattern.len())
        .position(|window| window == pattern)
}

fn parse(bytes: &[u8], rest: Rest) -> Parsed {
    let Some(&first) = bytes.first() else {
        return Parsed::Incomplete;
    };
    let code = match first {
        0x1b => return parse_escape(bytes, rest),
        b'\r' => KeyCode::Enter,
        b'\t' => KeyCode::Tab,
        0x7f => KeyCode::Backspace,
        0 => return Parsed::key(1, Key::control(' ')),
        0x01..=0x1a => return Parsed::key(1, Key::control(char::from(first - 1 + b'a'))),
        0x1c..=0x1f => return Parsed::key(1, Key::control(char::from(first - 0x1c + b'4'))),
        _ => return character(bytes, rest),
    };
    Parsed::key(1, Key::plain(code))
}

/// Parses what begins with an escape.
fn parse_escape(bytes: &[u8], rest: Rest) -> Parsed {
    let escape = Parsed::key(1, Key::plain(KeyCode::Escape));
    let parsed = match bytes.get(1) {
        None => Parsed::Incomplete,
        Some(0x1b) => return escape,
        Some(b'[') => sequence::control(bytes),
        Some(b'O') => sequence::single_shift(bytes),
        Some(b']') => sequence::command(bytes),
        Some(_) => return with_alt(bytes, rest),
    };
    if parsed != Parsed::Incomplete {
        return parsed;
    }
    match (bytes.len(), rest) {
        (1, Rest::IsComplete) => escape,
        // A typed sequence is never longer than this.
        (2, Rest::IsComplete) => with_alt(bytes, rest),
        _ if bytes.len() > MAX_INPUT_SEQUENCE_BYTES => Parsed::Nothing(bytes.len()),
        _ => Parsed::Incomplete,
    }
}

/// Parses the key after the escape as typed with alt.
fn with_alt(bytes: &[u8], rest: Rest) -> Parsed {
    match parse(&bytes[1..], rest) {
        Parsed::Decoded(length, Decoded::Key(key)) => {
            Parsed::key(1 + length, Key { alt: true, ..key })
        }
        Parsed::Nothing(length) => Parsed::Nothing(1 + length),
        other => other,
    }
}

/// Parses one character of UTF-8.
fn character(bytes: &[u8], rest: Rest) -> Parsed {
    let length = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let whole = bytes.get(..length);
    if whole.is_none() && rest == Rest::MayFollow {
        return Parsed::Incomplete;
    }
    let text = whole.and_then(|whole| str::from_utf8(whole).ok());
    match text.and_then(|text| text.chars().next()) {
        Some(character) => Parsed::key(
            length,
            Key {
                shift: character.is_uppercase(),
                ..Key::plain(KeyCode::Character(character))
            },
        ),
        None => Parsed::Nothing(1),
    }
}
