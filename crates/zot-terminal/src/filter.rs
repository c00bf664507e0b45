//! The filter: drops escape sequences and marks other characters that a terminal obeys.

#[cfg(test)]
mod tests;

use unicode_width::UnicodeWidthChar as _;

use crate::characters::{BLACK_FLAG, MARK, is_deceptive, is_tag};

/// How many zero-width characters may follow another: no script needs more, and terminals get slow or
/// draw over the lines above.
///
/// Limit: further zero-width characters are left out.
const MAX_COMBINING_MARKS: usize = 16;

/// The longest control sequence that is dropped.
///
/// Limit: a longer control sequence is shown as text.
const MAX_FILTERED_SEQUENCE_BYTES: usize = 256;

/// The longest control string (a title, a link, an image) that is dropped. One that is longer, or does
/// not end on its line, must not hide the text that follows.
///
/// Limit: a longer control string is shown as text.
const MAX_CONTROL_STRING_BYTES: usize = 64 * 1024;

/// How line ends and tabs are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub line_end: &'static str,
    pub tab: &'static str,
    /// For a carriage return without a line feed, which would let text overwrite its own line.
    pub carriage_return: &'static str,
}

impl Layout {
    /// Keeps lines.
    pub const TEXT: Self = Self {
        line_end: "\n",
        tab: "\t",
        carriage_return: "·",
    };
    /// Joins everything into one line.
    pub const LINE: Self = Self {
        line_end: " ",
        tab: " ",
        carriage_return: " ",
    };
}

/// Filters text that arrives in pieces, however it is split.
#[derive(Debug)]
pub struct Filter {
    layout: Layout,
    state: State,
    /// The incomplete sequence or string: dropped when it ends, shown if it never does.
    held: String,
    /// Zero-width characters since the last visible one.
    marks: usize,
    /// Whether tag characters may follow.
    in_flag: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    /// After a carriage return.
    Return,
    /// After ESC.
    Escape,
    /// After ESC and an intermediate character; a final one follows.
    Designation,
    /// In a control sequence (CSI).
    Sequence,
    /// In a control string (OSC, DCS, APC, PM, SOS).
    String,
    /// After ESC in a control string, which may end it.
    StringEscape,
}

/// Filters a complete text.
pub fn clean(text: &str, layout: Layout) -> String {
    let mut filter = Filter::new(layout);
    let mut shown = String::with_capacity(text.len());
    filter.push(text, &mut shown);
    filter.finish(&mut shown);
    shown
}

impl Filter {
    pub fn new(layout: Layout) -> Self {
        Self {
            layout,
            state: State::Text,
            held: String::new(),
            marks: 0,
            in_flag: false,
        }
    }

    /// Filters `text` and appends the result to `shown`. An incomplete sequence at the end is held
    /// until the rest arrives.
    pub fn push(&mut self, text: &str, shown: &mut String) {
        let mut rest = text;
        while !rest.is_empty() {
            if self.state == State::Text {
                let is_plain = |byte: &u8| (b' '..=b'~').contains(byte);
                let plain = rest.bytes().take_while(|byte| is_plain(byte)).count();
                if plain > 0 {
                    let (run, others) = rest.split_at(plain);
                    shown.push_str(run);
                    (self.marks, self.in_flag) = (0, false);
                    rest = others;
                    continue;
                }
            }
            let mut characters = rest.chars();
            if let Some(character) = characters.next() {
                self.take(character, shown);
            }
            rest = characters.as_str();
        }
    }

    /// Ends the text: a control string without an end is shown.
    pub fn finish(&mut self, shown: &mut String) {
        if matches!(self.state, State::String | State::StringEscape) {
            self.release(shown);
        }
        self.held.clear();
        self.state = State::Text;
    }

    fn take(&mut self, character: char, shown: &mut String) {
        match self.state {
            State::Text => self.in_text(character, shown),
            State::Return => match character {
                // Any number of carriage returns may precede a line feed.
                '\r' => {}
                '\n' => {
                    self.state = State::Text;
                    shown.push_str(self.layout.line_end);
                }
                _ => {
                    self.state = State::Text;
                    shown.push_str(self.layout.carriage_return);
                    self.in_text(character, shown);
                }
            },
            State::Escape => self.after_escape(character, shown),
            State::Designation => match character {
                ' '..='/' => {}
                '0'..='~' => self.state = State::Text,
                _ => {
                    self.state = State::Text;
                    self.in_text(character, shown);
                }
            },
            State::Sequence => match character {
                ' '..='?' if self.held.len() < MAX_FILTERED_SEQUENCE_BYTES => {
                    self.held.push(character)
                }
                '@'..='~' => {
                    self.held.clear();
                    self.state = State::Text;
                }
                _ => {
                    self.release(shown);
                    self.in_text(character, shown);
                }
            },
            State::String => match character {
                '\u{7}' | '\u{9c}' => {
                    self.held.clear();
                    self.state = State::Text;
                }
                '\u{1b}' => self.state = State::StringEscape,
                '\n' => {
                    self.release(shown);
                    self.in_text(character, shown);
                }
                _ => {
                    self.held.push(character);
                    if self.held.len() > MAX_CONTROL_STRING_BYTES {
                        self.release(shown);
                    }
                }
            },
            State::StringEscape => match character {
                '\\' => {
                    self.held.clear();
                    self.state = State::Text;
                }
                // Another sequence begins within it.
                _ => {
                    self.release(shown);
                    self.after_escape(character, shown);
                }
            },
        }
    }

    fn after_escape(&mut self, character: char, shown: &mut String) {
        self.state = match character {
            '[' => State::Sequence,
            // `k` sets the title in GNU screen.
            ']' | 'P' | '_' | '^' | 'X' | 'k' => State::String,
            ' '..='/' => State::Designation,
            '0'..='~' => State::Text,
            _ => {
                self.state = State::Text;
                return self.in_text(character, shown);
            }
        };
    }

    fn in_text(&mut self, character: char, shown: &mut String) {
        match character {
            '\u{1b}' => self.state = State::Escape,
            '\u{9b}' => self.state = State::Sequence,
            character if is_introducer(character) => self.state = State::String,
            '\r' => self.state = State::Return,
            _ => self.show(character, shown),
        }
    }

    /// Shows the held text, which is not a control sequence after all.
    fn release(&mut self, shown: &mut String) {
        self.state = State::Text;
        let held = std::mem::take(&mut self.held);
        // Introducers inside it are dropped without parsing them, so that the work stays linear.
        for character in held.chars().filter(|held| !is_introducer(*held)) {
            self.show(character, shown);
        }
    }

    /// Shows one character, or a mark if the terminal would obey it.
    fn show(&mut self, character: char, shown: &mut String) {
        match character {
            '\n' => shown.push_str(self.layout.line_end),
            '\t' => shown.push_str(self.layout.tab),
            '\r' => shown.push_str(self.layout.carriage_return),
            character if is_tag(character) && self.in_flag => return self.mark(character, shown),
            character if character.is_control() || is_deceptive(character) => shown.push(MARK),
            character if character.width() == Some(0) => return self.mark(character, shown),
            character => shown.push(character),
        }
        self.marks = 0;
        self.in_flag = character == BLACK_FLAG;
    }

    fn mark(&mut self, character: char, shown: &mut String) {
        self.marks += 1;
        if self.marks <= MAX_COMBINING_MARKS {
            shown.push(character);
        }
    }
}

/// Returns whether this C1 character starts a sequence or a string.
fn is_introducer(character: char) -> bool {
    matches!(
        character,
        '\u{9b}' | '\u{9d}' | '\u{90}' | '\u{98}' | '\u{9e}' | '\u{9f}'
    )
}
