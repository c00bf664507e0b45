//! Reads a session file, even a damaged one.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use zot_conversation::{ContentBlock, Message, Role, Timestamp, ToolResult, Usage};

use crate::line::{self, Line, Read};
use crate::{DamagedLine, ReadReport, SessionError, SessionMeta, TornTail};

/// A larger file is not a conversation: reading it would take minutes.
///
/// Limit: the session is refused.
const MAX_SESSION_FILE_BYTES: u64 = 4 << 30;

/// The size of one read.
const READ_BYTES: usize = 256 * 1024;

/// The longest line that counts as a record.
///
/// Limit: the record is left out and reported.
pub(crate) const MAX_SESSION_LINE_BYTES: usize = 256 * 1024 * 1024;

/// The first bytes of session files.
const FIRST_BYTES: &[u8] = br#"{"type":"meta""#;

/// How far back a message of a replaced transcript is searched.
const REPEATED_WITHIN: usize = 64;

/// The content of a session file.
#[derive(Debug, Clone)]
pub struct Session {
    pub meta: SessionMeta,
    /// When the conversation began: with the session, with the one it was forked from, or after the
    /// transcript was dropped. `None` if unknown, or if it begins now.
    pub began: Option<Timestamp>,
    pub messages: Vec<Arc<Message>>,
    /// Everything spent.
    pub usage: Usage,
    pub turns: Vec<TurnUsage>,
    pub report: ReadReport,
}

/// What one model call spent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TurnUsage {
    /// The number of messages when it ended.
    pub messages: usize,
    pub usage: Usage,
}

/// Which messages to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// What the model would be given, without what compactions and clears removed.
    Current,
    /// Every message there ever was.
    Everything,
}

/// Reads a session. Damage is reported, not an error, and the file is never changed.
pub fn read(path: &Path, view: View) -> Result<Session, SessionError> {
    let file = zot_files::open_existing(path).map_err(SessionError::open(path))?;
    read_from(&file, path, view).map(|read| read.session)
}

/// A session, and what a writer needs to know about the file's end.
pub(crate) struct ReadFile {
    pub(crate) session: Session,
    pub(crate) bytes: u64,
    /// Whether the last line has no line feed.
    pub(crate) open_line: bool,
    /// Whether the file has no record.
    pub(crate) nameless: bool,
}

pub(crate) fn read_from(file: &File, path: &Path, view: View) -> Result<ReadFile, SessionError> {
    let mut collected = Collected::new(view);
    let end = for_each_line(file, |line| collected.add(line)).map_err(SessionError::read(path))?;
    let nameless = collected.records == 0;
    if nameless && end.lines > 0 && !collected.cut_off_at_once {
        return Err(SessionError::NotASession {
            path: path.to_owned(),
            lines: end.lines,
        });
    }
    Ok(ReadFile {
        session: collected.finish(path),
        bytes: end.bytes,
        open_line: end.open_line,
        nameless,
    })
}

/// A line of a file.
pub(crate) struct RawLine<'a> {
    /// Counted from 1.
    pub(crate) number: usize,
    pub(crate) offset: u64,
    /// Without the line feed.
    pub(crate) bytes: &'a [u8],
    pub(crate) ends: LineEnd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineEnd {
    LineFeed,
    EndOfFile,
    /// It is longer than [`MAX_SESSION_LINE_BYTES`].
    TooLong,
}

/// How a file ended.
#[derive(Default)]
pub(crate) struct FileEnd {
    pub(crate) lines: usize,
    pub(crate) bytes: u64,
    pub(crate) open_line: bool,
}

/// Calls `visit` for every line that is not blank, one in memory at a time.
pub(crate) fn for_each_line(
    file: &File,
    mut visit: impl FnMut(RawLine<'_>),
) -> io::Result<FileEnd> {
    if file.metadata()?.len() > MAX_SESSION_FILE_BYTES {
        let problem = format!("it is larger than {MAX_SESSION_FILE_BYTES} bytes, the limit");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    let mut reader = BufReader::with_capacity(READ_BYTES, file);
    let mut line = Vec::new();
    let mut end = FileEnd::default();
    let mut number = 0;
    loop {
        line.clear();
        let mut limited = io::Read::take(&mut reader, MAX_SESSION_LINE_BYTES as u64);
        let count = limited.read_until(b'\n', &mut line)?;
        if count == 0 {
            return Ok(end);
        }
        let mut length = count as u64;
        number += 1;
        let ends = if line.last() == Some(&b'\n') {
            line.pop();
            LineEnd::LineFeed
        } else if count < MAX_SESSION_LINE_BYTES {
            LineEnd::EndOfFile
        } else {
            length += skip_line(&mut reader)?;
            LineEnd::TooLong
        };
        if !line.iter().all(u8::is_ascii_whitespace) {
            end.lines += 1;
            visit(RawLine {
                number,
                offset: end.bytes,
                bytes: &line,
                ends,
            });
        }
        end.bytes += length;
        end.open_line = ends == LineEnd::EndOfFile;
    }
}

/// Skips the rest of a line, and returns its length.
fn skip_line(reader: &mut impl BufRead) -> io::Result<u64> {
    let mut skipped = 0;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(skipped);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(buffer.len(), |end| end + 1);
        skipped += taken as u64;
        reader.consume(taken);
        if end.is_some() {
            return Ok(skipped);
        }
    }
}

/// The session as read so far.
struct Collected {
    view: View,
    records: usize,
    meta: Option<SessionMeta>,
    /// The latest provider and model, while no description of the session was found.
    model: Option<(String, String)>,
    /// The latest title.
    title: Option<String>,
    messages: Vec<Arc<Message>>,
    usage: Usage,
    turns: Vec<TurnUsage>,
    report: ReadReport,
    /// Results of a batch whose message has not been read yet.
    results: Vec<ToolResult>,
    /// Whether the file ends in its first record.
    cut_off_at_once: bool,
    /// The time of the first message since the transcript was last dropped.
    first_message: Option<Timestamp>,
    /// Whether the transcript was ever dropped.
    cleared: bool,
}

impl Collected {
    fn new(view: View) -> Self {
        Self {
            view,
            records: 0,
            meta: None,
            model: None,
            title: None,
            messages: Vec::new(),
            usage: Usage::default(),
            turns: Vec::new(),
            report: ReadReport::default(),
            results: Vec::new(),
            cut_off_at_once: false,
            first_message: None,
            cleared: false,
        }
    }

    fn add(&mut self, raw: RawLine<'_>) {
        let parsed = match raw.ends {
            LineEnd::TooLong => Err(format!("longer than {MAX_SESSION_LINE_BYTES} bytes")),
            LineEnd::LineFeed | LineEnd::EndOfFile => line::parse(raw.bytes),
        };
        match parsed {
            Ok(line) => {
                self.records += 1;
                self.add_record(line);
            }
            Err(_) if raw.ends == LineEnd::EndOfFile => {
                self.cut_off_at_once = raw.offset == 0 && may_begin_a_session(raw.bytes);
                self.report.torn_tail = Some(TornTail {
                    offset: raw.offset,
                    bytes: raw.bytes.len() as u64,
                });
            }
            Err(reason) => self.report.add_damaged(DamagedLine {
                line: raw.number,
                offset: raw.offset,
                reason,
            }),
        }
    }

    fn add_record(&mut self, record: Line) {
        match record {
            Line::Meta(later) => match &mut self.meta {
                None => self.meta = Some(later),
                Some(meta) => meta.amend(later),
            },
            Line::Renamed(title) => self.title = title.or(self.title.take()),
            Line::Message(message) => {
                let message = self.counted(message);
                match message.role {
                    Role::Tool => self.results.clear(),
                    Role::User | Role::Assistant => self.settle_results(),
                }
                self.first_message.get_or_insert(message.time);
                self.messages.push(Arc::new(message));
            }
            Line::Usage { turn, cumulative } => {
                self.usage = cumulative;
                self.turns.push(TurnUsage {
                    messages: self.messages.len(),
                    usage: turn,
                });
            }
            Line::Result(result) => {
                let result = self.counted(result);
                self.results.push(result);
            }
            Line::Replaced(messages) => {
                self.results.clear();
                if messages.is_empty() {
                    self.cleared = true;
                    self.first_message = None;
                }
                let messages: Vec<Message> = messages
                    .into_iter()
                    .map(|read| self.counted(read))
                    .collect();
                if self.view == View::Current {
                    self.messages.clear();
                    self.messages.extend(messages.into_iter().map(Arc::new));
                } else {
                    self.add_unseen(messages);
                }
            }
            Line::Model { provider, model } => match &mut self.meta {
                None => self.model = Some((provider, model)),
                Some(meta) => (meta.provider, meta.model) = (provider, model),
            },
            Line::Unknown => self.report.unknown_records += 1,
        }
    }

    fn counted<T>(&mut self, read: Read<T>) -> T {
        self.report.unknown_blocks += read.unknown_blocks;
        read.value
    }

    /// Adds those messages of a new transcript that the old one did not have.
    fn add_unseen(&mut self, messages: Vec<Message>) {
        let recent = self.messages.len().saturating_sub(REPEATED_WITHIN);
        let known = self.messages.split_off(recent);
        let unseen: Vec<_> = messages
            .into_iter()
            .filter(|message| !known.iter().any(|known| **known == *message))
            .map(Arc::new)
            .collect();
        self.messages.extend(known);
        self.messages.extend(unseen);
    }

    /// Turns the results of an interrupted batch into a message.
    fn settle_results(&mut self) {
        if self.results.is_empty() {
            return;
        }
        self.report.results_recovered += self.results.len();
        let time = self.messages.last().map(|last| last.time);
        self.messages.push(Arc::new(Message {
            role: Role::Tool,
            content: self
                .results
                .drain(..)
                .map(ContentBlock::ToolResult)
                .collect(),
            time: time.unwrap_or_default(),
        }));
    }

    fn finish(mut self, path: &Path) -> Session {
        self.settle_results();
        let empty = self.records == 0;
        let meta = self.meta.take();
        self.report.meta_missing = meta.is_none() && !empty;
        let mut meta = meta.unwrap_or_else(|| SessionMeta {
            started: self.messages.first().map(|m| m.time).unwrap_or_default(),
            ..SessionMeta::new(String::new(), String::new(), String::new())
        });
        if meta.id.is_empty() || self.report.meta_missing {
            let name = path.file_stem().unwrap_or_default();
            meta.id = name.to_string_lossy().into_owned();
        }
        if let (true, Some((provider, model))) = (meta.model.is_empty(), self.model) {
            (meta.provider, meta.model) = (provider, model);
        }
        // Later records repeat the title that the session had when it was opened.
        meta.title = self.title.or(meta.title);
        // The original numbers its versions differently, so the number alone is not enough.
        let left_out = self.report.unknown_records + self.report.unknown_blocks;
        if left_out > 0 && is_newer(&meta.version) {
            self.report.newer_version = Some(meta.version.clone());
        }
        let began = match self.cleared || meta.parent.is_some() {
            true => self.first_message,
            false => Some(meta.started),
        };
        Session {
            // Files of other programs may have no times.
            began: began.filter(|time| *time > Timestamp::UNIX_EPOCH),
            meta,
            messages: self.messages,
            usage: self.usage,
            turns: self.turns,
            report: self.report,
        }
    }
}

/// Returns whether a file that ends in its first line is the beginning of a session.
fn may_begin_a_session(bytes: &[u8]) -> bool {
    let shared = bytes.len().min(FIRST_BYTES.len());
    bytes.get(..shared) == FIRST_BYTES.get(..shared)
}

/// Returns whether a file of this version may hold records that this program does not know.
fn is_newer(version: &str) -> bool {
    numbers(version) > numbers(env!("CARGO_PKG_VERSION"))
}

fn numbers(version: &str) -> Vec<u64> {
    let release = version.trim_start_matches('v').split(['-', '+']).next();
    release
        .unwrap_or_default()
        .split('.')
        .map_while(|number| number.parse().ok())
        .collect()
}
