//! Edits a cassette: removes secrets, exchanges or timing. The file is replaced atomically.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use serde_json::value::RawValue;

use super::conversations::{Continues, Conversation, Conversations};
use super::error::{CassetteError, LineProblem};
use super::exchange::{Ending, ExchangeLine, Outcome, Played, append_ending};
use super::file::replace;
use super::reader::{CassetteReader, RecordedConversation, RecordedHead, Resolver};
use super::redaction::Redactor;
use super::request::RequestRecord;
use super::tape::Tape;
use crate::json;

/// Exchanges by their numbers, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeRange {
    pub first: usize,
    pub last: usize,
}

impl ExchangeRange {
    pub const ALL: Self = Self {
        first: 1,
        last: usize::MAX,
    };
}

/// What happens to the times in a cassette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    Keep,
    /// All times become zero, and deltas that were apart in time are written together.
    Drop,
}

/// Removes what `redactor` finds. Returns the number of exchanges.
pub fn redact(path: &Path, redactor: &Redactor) -> Result<usize, CassetteError> {
    rewrite(path, ExchangeRange::ALL, Timing::Keep, redactor)
}

/// Keeps the exchanges in `keep` and renumbers them. Returns how many there are.
pub fn trim(path: &Path, keep: ExchangeRange, timing: Timing) -> Result<usize, CassetteError> {
    rewrite(path, keep, timing, &Redactor::NONE)
}

/// Why a rewrite failed: the cassette, or the new file.
enum Stopped {
    Cassette(CassetteError),
    Writing(io::Error),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Writing(error)
    }
}

fn rewrite(
    path: &Path,
    keep: ExchangeRange,
    timing: Timing,
    redactor: &Redactor,
) -> Result<usize, CassetteError> {
    let mut reader = CassetteReader::open(path)?;
    let mut kept = 0;
    let result = replace(path, |output| {
        let mut rewriter = Rewriter {
            redactor,
            timing,
            conversations: Conversations::default(),
            written: 0,
        };
        rewriter.copy(&mut reader, keep, output)?;
        kept = rewriter.written;
        if kept == 0 && reader.exchanges() > 0 {
            return Err(Stopped::Cassette(CassetteError::NothingToKeep {
                path: path.to_owned(),
                first: keep.first,
                exchanges: reader.exchanges(),
            }));
        }
        Ok(())
    });
    match result {
        Ok(()) => Ok(kept),
        Err(Stopped::Cassette(error)) => Err(error),
        Err(Stopped::Writing(source)) => Err(CassetteError::Rewrite {
            path: path.to_owned(),
            source,
        }),
    }
}

struct Rewriter<'a> {
    redactor: &'a Redactor,
    timing: Timing,
    /// What was written, for later lines to refer to.
    conversations: Conversations<Arc<RecordedHead>, Arc<RawValue>>,
    written: usize,
}

impl Rewriter<'_> {
    fn copy(
        &mut self,
        reader: &mut CassetteReader,
        keep: ExchangeRange,
        output: &mut impl Write,
    ) -> Result<(), Stopped> {
        let mut line = Vec::new();
        json::append(&mut line, reader.header());
        line.push(b'\n');
        output.write_all(&line)?;
        let mut resolver = Resolver::default();
        // Lines after the last exchange to keep may be torn, so they are not read.
        while reader.exchanges() < keep.last {
            let Some(exchange) = reader.next().map_err(Stopped::Cassette)? else {
                break;
            };
            line.clear();
            let copied = self.exchange(exchange, keep, &mut resolver, &mut line);
            copied.map_err(|problem| Stopped::Cassette(reader.line_error(problem)))?;
            output.write_all(&line)?;
        }
        Ok(())
    }

    fn exchange(
        &mut self,
        exchange: ExchangeLine<'_>,
        keep: ExchangeRange,
        resolver: &mut Resolver,
        line: &mut Vec<u8>,
    ) -> Result<(), LineProblem> {
        let whole = resolver.resolve(exchange.exchange, &exchange.request)?;
        if exchange.exchange >= keep.first {
            self.written += 1;
            self.append(exchange, &whole, line)?;
        }
        resolver.keep(whole);
        Ok(())
    }

    fn append(
        &mut self,
        exchange: ExchangeLine<'_>,
        whole: &RecordedConversation,
        line: &mut Vec<u8>,
    ) -> Result<(), LineProblem> {
        let (continues, same_head) = self.follow(whole);
        let same = continues.map_or(0, |continues| continues.messages);
        let new = whole.messages.get(same..).unwrap_or_default();
        let record = RequestRecord {
            provider: exchange.request.provider.as_deref(),
            model: self.redactor.string(&exchange.request.model),
            reasoning: exchange.request.reasoning.as_deref(),
            max_output: exchange.request.max_output,
            continues,
            system: (!same_head).then(|| self.redactor.string(&whole.head.system)),
            tools: match same_head {
                true => None,
                false => Some(self.redacted(&whole.head.tools)?),
            },
            messages: new
                .iter()
                .map(|message| self.redacted(message))
                .collect::<Result<Vec<_>, _>>()?,
        };
        line.extend_from_slice(b"{\"exchange\":");
        json::append(line, &self.written);
        line.extend_from_slice(b",\"request\":");
        json::append(line, &record);
        line.extend_from_slice(b",\"events\":");
        let failure = exchange.failure()?;
        let ending = match (exchange.outcome, &failure) {
            (_, Some(error)) => Ending::Failed(error),
            (Outcome::Aborted, None) => Ending::Aborted,
            _ => Ending::Complete,
        };
        let kept = |ms| match self.timing {
            Timing::Keep => ms,
            Timing::Drop => 0,
        };
        let mut tape = Tape::default();
        for event in exchange.events {
            let ms = kept(event.ms);
            match event.play(exchange.exchange)? {
                Played::One(event) => tape.push(ms, &event),
                Played::Deltas(kind, deltas) => {
                    deltas.for_each(|delta| tape.push(ms, &kind.event(delta)));
                }
            }
        }
        tape.append_to(line, self.redactor);
        append_ending(line, ending, kept(exchange.duration_ms), self.redactor);
        Ok(())
    }

    /// Finds the earlier line that `whole` continues.
    fn follow(&mut self, whole: &RecordedConversation) -> (Option<Continues>, bool) {
        let first = whole.messages.first();
        let known = first.and_then(|first| {
            self.conversations
                .take_beginning(|kept| Arc::ptr_eq(kept, first))
        });
        let found = known.map(|known| {
            let same = known
                .messages
                .iter()
                .zip(&whole.messages)
                .take_while(|(kept, asked)| Arc::ptr_eq(kept, asked))
                .count();
            let continues = Continues {
                exchange: known.exchange,
                messages: same,
            };
            (continues, Arc::ptr_eq(&known.head, &whole.head))
        });
        self.conversations.put(Conversation {
            exchange: self.written,
            head: Arc::clone(&whole.head),
            messages: whole.messages.clone(),
        });
        match found {
            Some((continues, same_head)) => (Some(continues), same_head),
            None => (None, false),
        }
    }

    fn redacted(&self, raw: &RawValue) -> Result<Box<RawValue>, LineProblem> {
        let redacted = self.redactor.apply_to_json(raw);
        let redacted = redacted.map_err(LineProblem::Malformed)?;
        Ok(redacted.unwrap_or_else(|| raw.to_owned()))
    }
}
