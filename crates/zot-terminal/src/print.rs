//! Standard output and standard error.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::io::{self, BufWriter, IsTerminal as _, Write};

use crate::characters::is_obeyed;
use crate::filter::{Filter, Layout, clean};
use crate::utf8::Decoder;

/// What is written to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Text, of which escape sequences are dropped.
    Text,
    /// JSON, in which what a terminal would obey is escaped: it says the same as before.
    Json,
}

/// Something that text is written to.
pub trait Print: Write {
    /// `text` on one line, for a cell of a table: without what the filter would take out later, so
    /// that columns line up.
    fn cell(&self, text: &str) -> String;
}

/// A writer that may lead to a terminal.
#[derive(Debug)]
pub struct Printer<W: Write> {
    inner: W,
    /// None where bytes stay as they are.
    rule: Option<Rule>,
}

/// The printer of a whole table or document.
pub type Buffered<W> = BufWriter<Printer<W>>;

#[derive(Debug)]
struct Rule {
    content: Content,
    decoder: Decoder,
    filter: Filter,
    shown: String,
}

/// Standard output for text.
pub fn stdout() -> Printer<io::Stdout> {
    let stream = io::stdout();
    let is_terminal = stream.is_terminal();
    Printer::new(stream, Content::Text, is_terminal)
}

/// Standard output for JSON.
pub fn json_stdout() -> Printer<io::Stdout> {
    let stream = io::stdout();
    let is_terminal = stream.is_terminal();
    Printer::new(stream, Content::Json, is_terminal)
}

/// [`stdout`] for text that is written in many small pieces.
pub fn buffered_stdout() -> Buffered<io::Stdout> {
    BufWriter::new(stdout())
}

/// Standard error for text.
pub fn stderr() -> Printer<io::Stderr> {
    let stream = io::stderr();
    let is_terminal = stream.is_terminal();
    Printer::new(stream, Content::Text, is_terminal)
}

impl<W: Write> Printer<W> {
    /// For a stream of which the caller knows whether it is a terminal.
    pub fn new(inner: W, content: Content, is_terminal: bool) -> Self {
        let rule = is_terminal.then(|| Rule {
            content,
            decoder: Decoder::default(),
            filter: Filter::new(Layout::TEXT),
            shown: String::new(),
        });
        Self { inner, rule }
    }

    fn is_terminal(&self) -> bool {
        self.rule.is_some()
    }
}

impl<W: Write> Write for Printer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(rule) = &mut self.rule else {
            return self.inner.write(bytes);
        };
        rule.feed(bytes);
        // All of it: what the filter has taken cannot be given to it a second time.
        let written = self.inner.write_all(rule.shown.as_bytes());
        rule.shown.clear();
        written.map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Drop for Printer<W> {
    fn drop(&mut self) {
        if let Some(rule) = &mut self.rule {
            rule.finish();
            if !rule.shown.is_empty() {
                // Callers that need the bytes written have flushed before.
                let _ = self.inner.write_all(rule.shown.as_bytes());
            }
        }
    }
}

impl Rule {
    fn feed(&mut self, bytes: &[u8]) {
        let Self {
            content,
            decoder,
            filter,
            shown,
        } = self;
        decoder.feed(bytes, &mut |text| match content {
            Content::Text => filter.push(text, shown),
            Content::Json => escape_json(text, shown),
        });
    }

    fn finish(&mut self) {
        let Self { filter, shown, .. } = self;
        self.decoder.finish(&mut |text| shown.push_str(text));
        filter.finish(shown);
    }
}

/// JSON as it is but for what a terminal would obey. Such characters are in strings only.
pub fn escape_json(text: &str, shown: &mut String) {
    for character in text.chars() {
        if !is_obeyed(character) {
            shown.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            let _ = write!(shown, "\\u{unit:04x}");
        }
    }
}

impl<W: Write> Print for Printer<W> {
    fn cell(&self, text: &str) -> String {
        match self.is_terminal() {
            true => clean(text, Layout::LINE),
            false => text.replace(['\n', '\r', '\t'], " "),
        }
    }
}

impl<W: Write> Print for Buffered<W> {
    fn cell(&self, text: &str) -> String {
        self.get_ref().cell(text)
    }
}
