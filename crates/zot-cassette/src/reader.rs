//! Reads a cassette line by line, in constant memory.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::conversations::{Conversation, Conversations};
use super::error::{CassetteError, LineProblem};
use super::exchange::{ExchangeLine, RequestLine};
use super::header::{FORMAT, Header};

/// The longest line that is read: a whole conversation near a large model's limit, several times.
///
/// Limit: the cassette is refused.
const MAX_CASSETTE_LINE_BYTES: u64 = 256 * 1024 * 1024;

/// A cassette from its first exchange on.
#[derive(Debug)]
pub(super) struct CassetteReader {
    path: PathBuf,
    file: BufReader<File>,
    header: Header,
    line: Vec<u8>,
    lines: usize,
}

impl CassetteReader {
    pub(super) fn open(path: &Path) -> Result<Self, CassetteError> {
        let failed = |source| CassetteError::Read {
            path: path.to_owned(),
            source,
        };
        let file = zot_files::open_existing(path).map_err(failed)?;
        let mut file = BufReader::new(file);
        let mut line = Vec::new();
        read_line(&mut file, &mut line).map_err(failed)?;
        let header = parse_header(path, &line)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            header,
            line,
            lines: 1,
        })
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of exchanges read so far.
    pub(super) fn exchanges(&self) -> usize {
        self.lines - 1
    }

    /// Returns the next exchange, or `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<ExchangeLine<'_>>, CassetteError> {
        read_line(&mut self.file, &mut self.line).map_err(|source| CassetteError::Read {
            path: self.path.clone(),
            source,
        })?;
        if self.line.is_empty() {
            return Ok(None);
        }
        let expected = self.lines;
        self.lines += 1;
        match parse(&self.line, expected) {
            Ok(exchange) => Ok(Some(exchange)),
            Err(problem) => Err(CassetteError::Line {
                path: self.path.clone(),
                line: self.lines,
                problem,
            }),
        }
    }

    /// Returns `problem` as an error about the line that was read last.
    pub(super) fn line_error(&self, problem: LineProblem) -> CassetteError {
        CassetteError::Line {
            path: self.path.clone(),
            line: self.lines,
            problem,
        }
    }
}

fn read_line(file: &mut BufReader<File>, line: &mut Vec<u8>) -> io::Result<()> {
    line.clear();
    file.take(MAX_CASSETTE_LINE_BYTES).read_until(b'\n', line)?;
    Ok(())
}

fn parse_header(path: &Path, line: &[u8]) -> Result<Header, CassetteError> {
    #[derive(Deserialize)]
    struct Format {
        zot_cassette: u32,
    }
    let path = || path.to_owned();
    let Ok(Format { zot_cassette }) = serde_json::from_slice(line) else {
        return Err(CassetteError::NotACassette { path: path() });
    };
    if zot_cassette > FORMAT {
        let format = zot_cassette;
        return Err(CassetteError::TooNew {
            path: path(),
            format,
        });
    }
    serde_json::from_slice(line).map_err(|error| CassetteError::Line {
        path: path(),
        line: 1,
        problem: LineProblem::Malformed(error),
    })
}

fn parse(line: &[u8], expected: usize) -> Result<ExchangeLine<'_>, LineProblem> {
    if line.last() != Some(&b'\n') {
        // An editor may have removed the last line feed; a torn line does not parse.
        if line.len() as u64 == MAX_CASSETTE_LINE_BYTES {
            return Err(LineProblem::TooLong(MAX_CASSETTE_LINE_BYTES));
        }
        if serde_json::from_slice::<&RawValue>(line).is_err() {
            let whole = expected - 1;
            return Err(LineProblem::Torn { whole });
        }
    }
    let exchange: ExchangeLine<'_> =
        serde_json::from_slice(line).map_err(LineProblem::Malformed)?;
    if exchange.exchange != expected {
        return Err(LineProblem::OutOfOrder {
            expected,
            found: exchange.exchange,
        });
    }
    Ok(exchange)
}

/// System prompt and tools as they were recorded. Pointer identity tells whether they changed.
#[derive(Debug)]
pub(super) struct RecordedHead {
    pub(super) system: String,
    pub(super) tools: Box<RawValue>,
}

/// A whole request as it was recorded.
pub(super) type RecordedConversation = Conversation<Arc<RecordedHead>, Arc<RawValue>>;

/// Reassembles whole requests from the lines that extend each other.
#[derive(Debug, Default)]
pub(super) struct Resolver(Conversations<Arc<RecordedHead>, Arc<RawValue>>);

impl Resolver {
    /// Returns the whole request of an exchange, to be returned with [`Resolver::keep`].
    pub(super) fn resolve(
        &mut self,
        exchange: usize,
        line: &RequestLine<'_>,
    ) -> Result<RecordedConversation, LineProblem> {
        let (head, mut messages) = match line.continues {
            None => (None, Vec::new()),
            Some(continues) => {
                let missing = LineProblem::MissingBase {
                    exchange,
                    base: continues.exchange,
                    messages: continues.messages,
                };
                let base = self.0.take(continues.exchange);
                let Some(mut base) = base.filter(|b| b.messages.len() >= continues.messages) else {
                    return Err(missing);
                };
                base.messages.truncate(continues.messages);
                (Some(base.head), base.messages)
            }
        };
        let head = match (&line.system, line.tools, head) {
            (None, None, Some(head)) => head,
            (system, tools, head) => {
                let inherited_system = || head.as_ref().map(|head| head.system.clone());
                let system = match system {
                    Some(system) => system.clone().into_owned(),
                    None => inherited_system().ok_or(LineProblem::MissingSystem(exchange))?,
                };
                let tools = match (tools, &head) {
                    (Some(tools), _) => tools.to_owned(),
                    (None, Some(head)) => head.tools.clone(),
                    (None, None) => no_tools()?,
                };
                Arc::new(RecordedHead { system, tools })
            }
        };
        let new = line.messages.iter();
        messages.extend(new.map(|&message| Arc::from(message.to_owned())));
        Ok(Conversation {
            exchange,
            head,
            messages,
        })
    }

    pub(super) fn keep(&mut self, conversation: RecordedConversation) {
        self.0.put(conversation);
    }
}

fn no_tools() -> Result<Box<RawValue>, LineProblem> {
    RawValue::from_string("[]".to_owned()).map_err(LineProblem::Malformed)
}
