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
    /// Text, without its escape sequences.
    Text,
    /// JSON, with characters that a terminal would obey escaped: its meaning does not change.
    Json,
}

/// A destination for text.
pub trait Print: Write {
    /// Returns `text` on one line, for a table cell: already filtered, so that columns line up.
    fn cell(&self, text: &str) -> String;
}

/// A writer that may lead to a terminal.
#[derive(Debug)]
pub struct Printer<W: Write> {
    inner: W,
    /// `None` if bytes pass through unchanged.
    rule: Option<Rule>,
}

/// A printer for a whole table or document.
pub type Buffered<W> = BufWriter<Printer<W>>;

#[derive(Debug)]
struct Rule {
    content: Content,
    decoder: Decoder,
    filter: Filter,
    shown: String,
}

/// Returns standard output for text.
pub fn stdout() -> Printer<io::Stdout> {
    let stream = io::stdout();
    let is_terminal = stream.is_terminal();
    Printer::new(stream, Content::Text, is_terminal)
}

/// Returns standard output for JSON.
pub fn json_stdout() -> Printer<io::Stdout> {
    let stream = io::stdout();
    let is_terminal = stream.is_terminal();
    Printer::new(stream, Content::Json, is_terminal)
}

/// Returns [`stdout`] with a buffer, for many small writes.
pub fn buffered_stdout() -> Buffered<io::Stdout> {
    BufWriter::new(stdout())
}

/// Returns standard error for text.
pub fn stderr() -> Printer<io::Stderr> {
    let stream = io::stderr();
    let is_terminal = stream.is_terminal();
    Printer::new(stream, Content::Text, is_terminal)
}

impl<W: Write> Printer<W> {
    /// Creates a printer for a stream that is known to be a terminal or not.
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
        // All of it, because the filter must not see the same bytes twice.
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
                // Callers that depend on the bytes have flushed.
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

/// Appends JSON to `shown` and escapes what a terminal would obey; that occurs in strings only.
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
