//! Follows the body of a `<tool_call>` block while it arrives.
//!
//! The scanner finds the name and reports the arguments behind it early. It does not validate: the
//! whole body is parsed strictly when the block has ended.

#[cfg(test)]
mod tests;

/// A scanner for one body.
#[derive(Debug, Default)]
pub(crate) struct CallScanner {
    place: Place,
    /// Bytes of the body seen so far.
    offset: usize,
    /// The current key or name, as JSON.
    string: Vec<u8>,
    name: Option<String>,
    named_first: bool,
    arguments_start: Option<usize>,
    /// Bytes of the arguments reported so far.
    handed_out: usize,
}

/// Where in the body the scanner is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// Before the object; blanks and a code fence are skipped.
    #[default]
    Before,
    BeforeKey,
    Key {
        escaped: bool,
    },
    BeforeColon(Key),
    BeforeValue(Key),
    Name {
        escaped: bool,
    },
    Value {
        key: Key,
        nesting: Nesting,
    },
    /// Behind the object, or lost: the rest is ignored.
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Name,
    Arguments,
    Other,
}

/// How deep a value is nested where it is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Nesting {
    depth: usize,
    string: Option<InString>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct InString {
    escaped: bool,
}

/// What a piece of the body contained.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Scanned<'t> {
    /// Whether the name became known, early enough to report the arguments.
    pub(crate) named: bool,
    /// The next piece of the arguments. Their last brace is never reported: only the end of the block
    /// shows whether all of it was a call.
    pub(crate) arguments: &'t str,
}

impl CallScanner {
    pub(crate) fn feed<'t>(&mut self, text: &'t str) -> Scanned<'t> {
        let known = self.name.is_some();
        let mut piece: Option<(usize, usize)> = None;
        for (index, byte) in text.bytes().enumerate() {
            if self.step(byte) {
                let (start, _) = piece.unwrap_or((index, index));
                piece = Some((start, index + 1));
            }
            self.offset += 1;
        }
        let arguments = piece
            .and_then(|(start, end)| text.get(start..end))
            .unwrap_or_default();
        self.handed_out += arguments.len();
        Scanned {
            named: !known && self.name.is_some() && self.named_first,
            arguments,
        }
    }

    /// Returns the first name of the object.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns where in the body the value of the first `arguments` begins.
    pub(crate) fn arguments_start(&self) -> Option<usize> {
        self.arguments_start
    }

    pub(crate) fn handed_out(&self) -> usize {
        self.handed_out
    }

    /// Takes one byte; returns whether it is one of the arguments to report.
    fn step(&mut self, byte: u8) -> bool {
        match self.place {
            Place::Before => self.place = before_object(byte),
            Place::BeforeKey => match byte {
                b'"' => {
                    self.begin_string();
                    self.place = Place::Key { escaped: false };
                }
                _ if is_blank(byte) || byte == b',' => {}
                _ => self.place = Place::Over,
            },
            Place::Key { escaped } => match self.string_byte(byte, escaped) {
                StringByte::Inside { escaped } => self.place = Place::Key { escaped },
                StringByte::End(key) => {
                    self.place = match key.as_deref() {
                        None => Place::Over,
                        Some("name") => Place::BeforeColon(Key::Name),
                        Some("arguments") => Place::BeforeColon(Key::Arguments),
                        Some(_) => Place::BeforeColon(Key::Other),
                    };
                }
            },
            Place::BeforeColon(key) => match byte {
                b':' => self.place = Place::BeforeValue(key),
                _ if is_blank(byte) => {}
                _ => self.place = Place::Over,
            },
            Place::BeforeValue(_) if is_blank(byte) => {}
            Place::BeforeValue(key) => return self.begin_value(key, byte),
            Place::Name { escaped } => match self.string_byte(byte, escaped) {
                StringByte::Inside { escaped } => self.place = Place::Name { escaped },
                StringByte::End(name) => {
                    self.name = name.filter(|name| !name.is_empty());
                    self.named_first = self.arguments_start.is_none();
                    self.place = match self.name {
                        Some(_) => Place::BeforeKey,
                        None => Place::Over,
                    };
                }
            },
            Place::Value { key, nesting } => return self.within_value(key, nesting, byte),
            Place::Over => {}
        }
        false
    }

    fn begin_value(&mut self, key: Key, byte: u8) -> bool {
        let first_arguments = key == Key::Arguments && self.arguments_start.is_none();
        if first_arguments {
            self.arguments_start = Some(self.offset);
        }
        if key == Key::Name && self.name.is_none() {
            self.begin_string();
            self.place = match byte {
                b'"' => Place::Name { escaped: false },
                _ => Place::Over,
            };
            return false;
        }
        // Only an object behind the name is reported.
        let key = match first_arguments && byte == b'{' && self.name.is_some() {
            true => Key::Arguments,
            false => Key::Other,
        };
        let nesting = Nesting {
            depth: 0,
            string: None,
        };
        self.within_value(key, nesting, byte)
    }

    fn within_value(&mut self, key: Key, nesting: Nesting, byte: u8) -> bool {
        let after = nesting.after(byte);
        self.place = match after {
            Some(nesting) => Place::Value { key, nesting },
            // The brace of the object itself ends a number or word, too.
            None if byte == b'}' && nesting.depth == 0 => Place::Over,
            None => Place::BeforeKey,
        };
        key == Key::Arguments && after.is_some()
    }

    fn begin_string(&mut self) {
        self.string.clear();
        self.string.push(b'"');
    }

    /// Takes a byte of a key or a name.
    fn string_byte(&mut self, byte: u8, escaped: bool) -> StringByte {
        self.string.push(byte);
        if byte == b'"' && !escaped {
            return StringByte::End(serde_json::from_slice(&self.string).ok());
        }
        StringByte::Inside {
            escaped: byte == b'\\' && !escaped,
        }
    }
}

enum StringByte {
    Inside {
        escaped: bool,
    },
    /// Decodes the string at its closing quote, if it is one.
    End(Option<String>),
}

impl Nesting {
    /// Returns the nesting after `byte`, or `None` when the value has ended.
    fn after(self, byte: u8) -> Option<Self> {
        let depth = self.depth;
        if let Some(InString { escaped }) = self.string {
            let ended = byte == b'"' && !escaped;
            let string = (!ended).then_some(InString {
                escaped: byte == b'\\' && !escaped,
            });
            return (!ended || depth > 0).then_some(Self { depth, string });
        }
        let (depth, string) = match byte {
            b'"' => (depth, Some(InString { escaped: false })),
            b'{' | b'[' => (depth + 1, None),
            b'}' | b']' if depth <= 1 => return None,
            b'}' | b']' => (depth - 1, None),
            b',' if depth == 0 => return None,
            _ => (depth, None),
        };
        Some(Self { depth, string })
    }
}

fn before_object(byte: u8) -> Place {
    match byte {
        b'{' => Place::BeforeKey,
        b'`' | b'j' | b's' | b'o' | b'n' => Place::Before,
        _ if is_blank(byte) => Place::Before,
        _ => Place::Over,
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
