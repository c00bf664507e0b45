//! Server-sent events, decoded from bytes as they arrive.
//!
//! The decoder is pure: how the bytes are split into pieces never changes the events. An event that
//! lies entirely in one piece is passed on without a copy.

use memchr::memchr2;

/// The most bytes one event may have; a server that sends more is broken or hostile.
///
/// Limit: error; the text received so far is kept.
pub const MAX_SSE_EVENT_BYTES: usize = 8 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event. `data` holds the data lines joined by line feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// Empty if the server sent none.
    pub name: &'a [u8],
    pub data: &'a [u8],
}

/// A stream that cannot be decoded further.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    #[error("an event is larger than {MAX_SSE_EVENT_BYTES} bytes")]
    EventTooLarge,
}

/// Decodes one stream. After an error it must not be fed again.
#[derive(Debug, Default)]
pub struct SseDecoder {
    /// The start of a line whose end has not arrived.
    line: Vec<u8>,
    /// Fields of an event that spans several pieces or several data lines.
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    after_carriage_return: bool,
    past_first_line: bool,
    resumption: Resumption,
}

/// What a client needs to go on after a broken stream.
#[derive(Debug, Default)]
struct Resumption {
    /// The id of the last complete event.
    last_id: Option<Vec<u8>>,
    /// The id of the event that is being read. It counts only when the event is complete: a stream
    /// resumed after a partial event would skip it.
    next_id: Option<Vec<u8>>,
    retry_milliseconds: Option<u64>,
}

/// The fields of the current event that still lie in the piece being decoded.
#[derive(Default)]
struct Borrowed<'a> {
    name: Option<&'a [u8]>,
    data: Option<&'a [u8]>,
}

impl SseDecoder {
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the id of the last event that arrived completely, for the header `Last-Event-ID`.
    pub fn last_id(&self) -> Option<&[u8]> {
        self.resumption.last_id.as_deref()
    }

    /// Returns how long the server asks to wait before the stream is opened again, in milliseconds.
    pub fn retry_milliseconds(&self) -> Option<u64> {
        self.resumption.retry_milliseconds
    }

    /// Decodes the next piece of the stream and passes every completed event to `sink`.
    pub fn feed(
        &mut self,
        mut input: &[u8],
        mut sink: impl FnMut(SseEvent<'_>),
    ) -> Result<(), SseError> {
        if self.after_carriage_return && !input.is_empty() {
            self.after_carriage_return = false;
            input = input.strip_prefix(b"\n").unwrap_or(input);
        }
        if !self.line.is_empty() {
            let Some(end) = memchr2(b'\n', b'\r', input) else {
                return self.keep_partial_line(input);
            };
            self.keep_partial_line(input.get(..end).unwrap_or_default())?;
            let line = std::mem::take(&mut self.line);
            self.owned_line(&line, &mut sink)?;
            self.line = line;
            self.line.clear();
            input = self.skip_line_end(input, end);
        }
        let mut borrowed = Borrowed::default();
        while let Some(end) = memchr2(b'\n', b'\r', input) {
            let line = input.get(..end).unwrap_or_default();
            self.borrowed_line(line, &mut borrowed, &mut sink)?;
            input = self.skip_line_end(input, end);
        }
        self.keep_fields(borrowed);
        self.keep_partial_line(input)
    }

    /// Ends the stream: passes on a last event that was not closed by an empty line.
    pub fn finish(&mut self, mut sink: impl FnMut(SseEvent<'_>)) -> Result<(), SseError> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.owned_line(&line, &mut sink)?;
        }
        self.dispatch(&mut Borrowed::default(), &mut sink);
        Ok(())
    }

    fn keep_partial_line(&mut self, part: &[u8]) -> Result<(), SseError> {
        if self.line.len() + part.len() > MAX_SSE_EVENT_BYTES {
            return Err(SseError::EventTooLarge);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    fn skip_line_end<'a>(&mut self, input: &'a [u8], end: usize) -> &'a [u8] {
        let rest = input.get(end + 1..).unwrap_or_default();
        if input.get(end) != Some(&b'\r') {
            return rest;
        }
        if rest.is_empty() {
            self.after_carriage_return = true;
        }
        rest.strip_prefix(b"\n").unwrap_or(rest)
    }

    /// Decodes a line that began in an earlier piece: its fields are copied.
    fn owned_line(
        &mut self,
        line: &[u8],
        sink: &mut impl FnMut(SseEvent<'_>),
    ) -> Result<(), SseError> {
        let mut borrowed = Borrowed::default();
        self.borrowed_line(line, &mut borrowed, sink)?;
        self.keep_fields(borrowed);
        Ok(())
    }

    fn borrowed_line<'a>(
        &mut self,
        mut line: &'a [u8],
        borrowed: &mut Borrowed<'a>,
        sink: &mut impl FnMut(SseEvent<'_>),
    ) -> Result<(), SseError> {
        if line.len() > MAX_SSE_EVENT_BYTES {
            return Err(SseError::EventTooLarge);
        }
        if !self.past_first_line {
            self.past_first_line = true;
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(borrowed, sink);
        } else if let Some(value) = field(line, b"data") {
            if !self.has_data && borrowed.data.is_none() {
                borrowed.data = Some(value);
                return Ok(());
            }
            if let Some(first) = borrowed.data.take() {
                self.data.extend_from_slice(first);
                self.has_data = true;
            }
            if self.data.len() + 1 + value.len() > MAX_SSE_EVENT_BYTES {
                return Err(SseError::EventTooLarge);
            }
            self.data.push(b'\n');
            self.data.extend_from_slice(value);
        } else if let Some(value) = field(line, b"event") {
            borrowed.name = Some(value);
        } else {
            self.resumption.read_line(line);
        }
        Ok(())
    }

    fn keep_fields(&mut self, borrowed: Borrowed<'_>) {
        if let Some(name) = borrowed.name {
            self.name.clear();
            self.name.extend_from_slice(name);
        }
        if let Some(data) = borrowed.data {
            self.data.extend_from_slice(data);
            self.has_data = true;
        }
    }

    fn dispatch(&mut self, borrowed: &mut Borrowed<'_>, sink: &mut impl FnMut(SseEvent<'_>)) {
        let data = borrowed
            .data
            .take()
            .or_else(|| self.has_data.then_some(self.data.as_slice()));
        let name = borrowed.name.take().unwrap_or(self.name.as_slice());
        if self.resumption.next_id.is_some() {
            self.resumption.last_id = self.resumption.next_id.take();
        }
        if let Some(data) = data {
            sink(SseEvent { name, data });
        }
        self.name.clear();
        self.data.clear();
        self.has_data = false;
    }
}

impl Resumption {
    fn read_line(&mut self, line: &[u8]) {
        if let Some(id) = field(line, b"id") {
            // The specification ignores ids with a zero byte.
            if !id.contains(&0) {
                self.next_id = Some(id.to_vec());
            }
        } else if let Some(retry) = field(line, b"retry") {
            let digits = std::str::from_utf8(retry).unwrap_or_default();
            if let Ok(milliseconds) = digits.parse() {
                self.retry_milliseconds = Some(milliseconds);
            }
        }
    }
}

/// Returns the value of `line` if its field is `name`, without one space after the colon.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let rest = line.strip_prefix(name)?;
    if rest.is_empty() {
        return Some(rest);
    }
    let value = rest.strip_prefix(b":")?;
    Some(value.strip_prefix(b" ").unwrap_or(value))
}

#[cfg(test)]
mod tests;
