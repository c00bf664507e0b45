//! Parses the strings of a JSON text that arrives character by character.

/// Longer keys are not looked up.
const MAX_ARGUMENT_KEY_BYTES: usize = 64;

/// A part of the value of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Begin,
    Character(char),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Escape {
    #[default]
    None,
    /// A backslash.
    Started,
    /// `\u` and this many digits.
    Code { digits: u8, code: u16 },
}

/// The state of the parser.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Strings {
    /// How many objects and lists are open.
    depth: usize,
    /// The last key.
    key: String,
    /// The next or arriving string is the value of `key`.
    is_value: bool,
    is_inside: bool,
    escape: Escape,
    /// The first half of a surrogate pair.
    high_surrogate: Option<u16>,
}

impl Strings {
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// Parses one more character of the text.
    pub(super) fn push(&mut self, character: char) -> Option<Part> {
        if self.is_inside {
            let character = self.decode_inside(character)?;
            if self.is_value {
                return Some(Part::Character(character));
            }
            if self.key.len() < MAX_ARGUMENT_KEY_BYTES {
                self.key.push(character);
            }
            return None;
        }
        match character {
            '"' => {
                self.is_inside = true;
                self.high_surrogate = None;
                if self.is_value {
                    return Some(Part::Begin);
                }
                self.key.clear();
            }
            ':' => self.is_value = true,
            ',' => self.is_value = false,
            '{' | '[' => {
                self.depth += 1;
                self.is_value = false;
            }
            '}' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                self.is_value = false;
            }
            _ => {}
        }
        None
    }

    /// Decodes a character within a string.
    fn decode_inside(&mut self, character: char) -> Option<char> {
        match std::mem::take(&mut self.escape) {
            Escape::None => match character {
                '"' => {
                    self.is_inside = false;
                    None
                }
                '\\' => {
                    self.escape = Escape::Started;
                    None
                }
                character => Some(character),
            },
            Escape::Started => match character {
                'n' => Some('\n'),
                't' => Some('\t'),
                'r' => Some('\r'),
                'b' => Some('\x08'),
                'f' => Some('\x0c'),
                'u' => {
                    self.escape = Escape::Code { digits: 0, code: 0 };
                    None
                }
                character => Some(character),
            },
            Escape::Code { digits, code } => {
                let digit = character.to_digit(16).unwrap_or(0) as u16;
                let code = code << 4 | digit;
                if digits < 3 {
                    let digits = digits + 1;
                    self.escape = Escape::Code { digits, code };
                    return None;
                }
                self.character(code)
            }
        }
    }

    fn character(&mut self, code: u16) -> Option<char> {
        let first = self.high_surrogate.take();
        if (0xd800..0xdc00).contains(&code) {
            self.high_surrogate = Some(code);
            return None;
        }
        let units = first.into_iter().chain([code]);
        char::decode_utf16(units).find_map(Result::ok)
    }
}
