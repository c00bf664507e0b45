//! Splits a JSON array into its elements, piece by piece, without building it.
//!
//! Only the structure is examined, not the elements, so that whatever another program wrote is kept.

#[cfg(test)]
mod tests;

/// The form of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// An array as both programs write it: `[\n  …,\n  …\n]`, or `[]`.
    Canonical,
    /// An array in another layout.
    Whole,
    /// The beginning of an array, or an array followed by something else.
    Torn,
    /// Something else.
    NotAnArray,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Start,
    /// After the `[`.
    First,
    /// After a `,`.
    Next,
    /// Inside an object, an array or a string.
    Nested,
    Scalar,
    /// After an element.
    After,
    /// After the `]`.
    End,
    Junk,
    NotAnArray,
}

/// Reads an array and calls back for each of its elements.
#[derive(Debug)]
pub(super) struct Scanner {
    state: State,
    position: u64,
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// How many bytes of a line inside an element have been read, up to three: they distinguish inner
    /// lines from those that begin an element.
    line: Option<u8>,
    canonical: bool,
    /// What was read since the last element.
    gap: Vec<u8>,
    element: Vec<u8>,
    start: u64,
    whole_end: u64,
    count: u64,
}

/// A separator longer than this is not canonical anyway.
const GAP_KEPT: usize = 8;

impl Scanner {
    pub(super) fn new() -> Self {
        Self {
            state: State::Start,
            position: 0,
            depth: 0,
            in_string: false,
            escaped: false,
            line: None,
            canonical: true,
            gap: Vec::new(),
            element: Vec::new(),
            start: 0,
            whole_end: 0,
            count: 0,
        }
    }

    /// Continues after the last of `count` elements of a canonical array.
    pub(super) fn after(position: u64, count: u64) -> Self {
        let state = if count == 0 {
            State::Start
        } else {
            State::After
        };
        Self {
            state,
            position,
            whole_end: position,
            count,
            ..Self::new()
        }
    }

    /// Where the last whole element ends; zero when there is none.
    pub(super) fn whole_end(&self) -> u64 {
        self.whole_end
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    pub(super) fn shape(&self) -> Shape {
        match self.state {
            State::NotAnArray => Shape::NotAnArray,
            State::End if self.canonical && self.ends_canonically() => Shape::Canonical,
            State::End => Shape::Whole,
            _ => Shape::Torn,
        }
    }

    fn ends_canonically(&self) -> bool {
        if self.count == 0 {
            self.gap == b"[]"
        } else {
            self.gap == b"\n]"
        }
    }

    /// Reads more bytes. `each` gets the position and the bytes of an element.
    pub(super) fn feed(&mut self, chunk: &[u8], each: &mut impl FnMut(u64, &[u8])) {
        let mut index = 0;
        while let Some(&byte) = chunk.get(index) {
            match self.state {
                State::Nested => index = self.nested(chunk, index, each),
                State::Scalar => {
                    if matches!(byte, b',' | b']' | b' ' | b'\n' | b'\r' | b'\t') {
                        self.emit(self.position + index as u64, each);
                    } else {
                        self.element.push(byte);
                        index += 1;
                    }
                }
                State::NotAnArray | State::Junk => break,
                _ => {
                    self.between(byte, self.position + index as u64);
                    index += 1;
                }
            }
        }
        self.position += chunk.len() as u64;
    }

    fn between(&mut self, byte: u8, position: u64) {
        let blank = matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let state = match (self.state, byte) {
            (state, _) if blank => state,
            (State::Start, b'[') => State::First,
            (State::Start, _) => State::NotAnArray,
            (State::First, b']') | (State::After, b']') => State::End,
            (State::After, b',') => State::Next,
            (State::First | State::Next, b'"' | b'{' | b'[') => State::Nested,
            (State::First | State::Next, b'}' | b']' | b',' | b':') => State::Junk,
            (State::First | State::Next, _) => State::Scalar,
            _ => State::Junk,
        };
        if matches!(state, State::Nested | State::Scalar) {
            let expected: &[u8] = if self.count == 0 { b"[\n  " } else { b",\n  " };
            self.canonical &= self.gap == expected;
            self.gap.clear();
            self.start = position;
            self.element.clear();
            self.element.push(byte);
            self.in_string = byte == b'"';
            self.depth = u32::from(!self.in_string);
            self.line = None;
        } else if self.gap.len() < GAP_KEPT {
            self.gap.push(byte);
        }
        self.state = state;
    }

    /// Continues inside an element; returns where it stopped.
    fn nested(&mut self, chunk: &[u8], begin: usize, each: &mut impl FnMut(u64, &[u8])) -> usize {
        for (offset, &byte) in chunk[begin..].iter().enumerate() {
            if self.in_string {
                if self.escaped {
                    self.escaped = false;
                } else if byte == b'\\' {
                    self.escaped = true;
                } else if byte == b'"' {
                    self.in_string = false;
                } else if byte == b'\n' {
                    self.canonical = false;
                }
            } else {
                self.check_line(byte);
                match byte {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
            }
            if self.depth == 0 && !self.in_string {
                let end = begin + offset + 1;
                self.element.extend_from_slice(&chunk[begin..end]);
                self.emit(self.position + end as u64, each);
                return end;
            }
        }
        self.element.extend_from_slice(&chunk[begin..]);
        chunk.len()
    }

    /// A line inside an element begins with three blanks, or with two and the element's end.
    fn check_line(&mut self, byte: u8) {
        match self.line {
            Some(blanks) => {
                let fits = byte == b' ' || (blanks == 2 && matches!(byte, b'}' | b']'));
                self.canonical &= fits;
                self.line = (fits && blanks < 2).then_some(blanks + 1);
            }
            None if byte == b'\n' => self.line = Some(0),
            None => {}
        }
    }

    fn emit(&mut self, end: u64, each: &mut impl FnMut(u64, &[u8])) {
        each(self.start, &self.element);
        self.state = State::After;
        self.whole_end = end;
        self.count += 1;
    }
}
