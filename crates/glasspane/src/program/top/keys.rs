//! Decodes keys from the bytes a terminal sends.

#[cfg(test)]
mod tests;

/// The longest sequence that is decoded.
const MAX_SEQUENCE: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Character(char),
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
    Interrupt,
}

/// Decodes keys, whose sequences may arrive in pieces.
#[derive(Debug, Default)]
pub(super) struct Keys {
    pending: Vec<u8>,
    /// Whether `pending` was already there at the last [`Self::settle`].
    stale: bool,
}

impl Keys {
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.stale = false;
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        loop {
            match first(&self.pending) {
                Parsed::Key(key, length) => {
                    keys.push(key);
                    self.pending.drain(..length);
                }
                Parsed::Ignored(length) => {
                    self.pending.drain(..length);
                }
                Parsed::Incomplete => break,
            }
        }
        // A person does not type anything else immediately after escape.
        if self.pending == [0x1b] {
            self.pending.clear();
            keys.push(Key::Escape);
        }
        keys
    }

    /// Drops an incomplete sequence whose rest has not arrived since the last call.
    pub(super) fn settle(&mut self) {
        if std::mem::replace(&mut self.stale, !self.pending.is_empty()) {
            self.pending.clear();
            self.stale = false;
        }
    }
}

enum Parsed {
    Key(Key, usize),
    /// This many bytes are ignored.
    Ignored(usize),
    Incomplete,
}

fn first(bytes: &[u8]) -> Parsed {
    let Some(byte) = bytes.first() else {
        return Parsed::Incomplete;
    };
    match byte {
        0x1b => sequence(bytes),
        0x03 => Parsed::Key(Key::Interrupt, 1),
        b'\r' | b'\n' => Parsed::Key(Key::Enter, 1),
        0x08 | 0x7f => Parsed::Key(Key::Backspace, 1),
        byte if *byte < 0x20 => Parsed::Ignored(1),
        _ => character(bytes),
    }
}

fn character(bytes: &[u8]) -> Parsed {
    let valid = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.valid_up_to() == 0 => {
            return match error.error_len() {
                Some(length) => Parsed::Ignored(length),
                None => Parsed::Incomplete,
            };
        }
        Err(error) => str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or(""),
    };
    match valid.chars().next() {
        Some(character) => Parsed::Key(Key::Character(character), character.len_utf8()),
        None => Parsed::Incomplete,
    }
}

fn sequence(bytes: &[u8]) -> Parsed {
    if !matches!(bytes.get(1), Some(b'[' | b'O')) {
        return match bytes.len() {
            1 => Parsed::Incomplete,
            _ => Parsed::Key(Key::Escape, 1),
        };
    }
    let Some(end) = bytes[2..]
        .iter()
        .position(|byte| (0x40..=0x7e).contains(byte))
    else {
        return match bytes.len() {
            length if length > MAX_SEQUENCE => Parsed::Ignored(length),
            _ => Parsed::Incomplete,
        };
    };
    let length = end + 3;
    let key = match (&bytes[2..2 + end], bytes[2 + end]) {
        (_, b'A') => Key::Up,
        (_, b'B') => Key::Down,
        (_, b'H') | (b"1" | b"7", b'~') => Key::Home,
        (_, b'F') | (b"4" | b"8", b'~') => Key::End,
        (b"5", b'~') => Key::PageUp,
        (b"6", b'~') => Key::PageDown,
        _ => return Parsed::Ignored(length),
    };
    Parsed::Key(key, length)
}
