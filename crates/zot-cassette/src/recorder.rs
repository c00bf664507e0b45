//! Writes exchanges to a cassette, each with one write.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zot_conversation::{Message, ModelRequest, ToolDefinition};

use super::conversations::{Continues, Conversation, Conversations};
use super::error::CassetteError;
use super::exchange::{Ending, append_ending};
use super::file::LineFile;
use super::header::Header;
use super::redaction::Redactor;
use super::request::{HeadPart, append_request};
use super::tape::Tape;
use crate::json;

/// An open cassette.
#[derive(Debug)]
pub struct Recorder {
    path: PathBuf,
    redactor: Redactor,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: LineFile,
    exchanges: usize,
    conversations: Conversations<Head, Arc<Message>>,
    /// Reused from line to line.
    line: Vec<u8>,
    failure: Option<String>,
}

/// System prompt and tools of a conversation.
#[derive(Debug)]
struct Head {
    system: String,
    tools: Vec<Arc<ToolDefinition>>,
}

impl Head {
    fn matches(&self, request: &ModelRequest<'_>) -> bool {
        self.system == request.system && same_pointers(&self.tools, request.tools)
    }
}

/// Lines are built in one buffer, which shrinks to this size after a longer one.
const KEPT_BUFFER_BYTES: usize = 256 * 1024;

impl Recorder {
    /// Creates the file at `path` and writes its header. Fails if the file is not empty.
    pub fn create(path: &Path, header: &Header, redactor: Redactor) -> Result<Self, CassetteError> {
        let mut file = LineFile::create(path)?;
        let mut line = Vec::new();
        json::append(&mut line, header);
        line.push(b'\n');
        file.append(&line).map_err(|source| CassetteError::Create {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self {
            path: path.to_owned(),
            redactor,
            state: Mutex::new(State {
                file,
                exchanges: 0,
                conversations: Conversations::default(),
                line,
                failure: None,
            }),
        })
    }

    /// Makes every further write fail.
    #[cfg(test)]
    pub(super) fn make_unwritable(&self) {
        self.lock().file.make_unwritable(&self.path);
    }

    /// Returns why nothing more can be recorded, if that is so.
    pub(super) fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    /// Appends one exchange; `fallback` is the provider of a backup model. The error is for people.
    pub(super) fn append(
        &self,
        fallback: Option<&str>,
        request: &ModelRequest<'_>,
        tape: &mut Tape,
        ending: Ending<'_>,
        duration_ms: u64,
    ) -> Result<(), String> {
        let mut state = self.lock();
        if let Some(failure) = &state.failure {
            return Err(failure.clone());
        }
        let number = state.exchanges + 1;
        let mut line = std::mem::take(&mut state.line);
        line.clear();
        line.extend_from_slice(b"{\"exchange\":");
        json::append(&mut line, &number);
        line.extend_from_slice(b",\"request\":");
        let (continues, head) = state.follow(number, request);
        append_request(
            &mut line,
            fallback,
            request,
            continues,
            head,
            &self.redactor,
        );
        line.extend_from_slice(b",\"events\":");
        tape.append_to(&mut line, &self.redactor);
        append_ending(&mut line, ending, duration_ms, &self.redactor);
        let written = state.file.append(&line);
        line.clear();
        line.shrink_to(KEPT_BUFFER_BYTES);
        state.line = line;
        match written {
            Ok(()) => {
                state.exchanges = number;
                Ok(())
            }
            Err(error) => {
                let failure = self.describe(&error);
                state.failure = Some(failure.clone());
                Err(failure)
            }
        }
    }

    fn describe(&self, error: &io::Error) -> String {
        format!(
            "cannot continue recording to {}: {error}; what was recorded before is kept",
            self.path.display()
        )
    }

    /// A poisoned lock still holds a usable file: lines are written whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Finds the exchange that `request` continues and remembers the request as the latest of its
    /// conversation.
    fn follow(
        &mut self,
        number: usize,
        request: &ModelRequest<'_>,
    ) -> (Option<Continues>, HeadPart) {
        let known = request.messages.first().and_then(|first| {
            self.conversations
                .take_beginning(|kept| Arc::ptr_eq(kept, first))
        });
        let Some(mut conversation) = known else {
            self.conversations.put(Conversation {
                exchange: number,
                head: Head {
                    system: request.system.to_owned(),
                    tools: request.tools.to_vec(),
                },
                messages: request.messages.to_vec(),
            });
            return (None, HeadPart::Written);
        };
        let same = conversation
            .messages
            .iter()
            .zip(request.messages)
            .take_while(|(kept, asked)| Arc::ptr_eq(kept, asked))
            .count();
        let continues = Continues {
            exchange: conversation.exchange,
            messages: same,
        };
        let head = if conversation.head.matches(request) {
            HeadPart::Inherited
        } else {
            conversation.head = Head {
                system: request.system.to_owned(),
                tools: request.tools.to_vec(),
            };
            HeadPart::Written
        };
        conversation.exchange = number;
        conversation.messages.truncate(same);
        let new = request.messages.get(same..).unwrap_or_default();
        conversation.messages.extend_from_slice(new);
        self.conversations.put(conversation);
        (Some(continues), head)
    }
}

pub(super) fn same_pointers<T: ?Sized>(kept: &[Arc<T>], asked: &[Arc<T>]) -> bool {
    kept.len() == asked.len()
        && kept
            .iter()
            .zip(asked)
            .all(|(kept, asked)| Arc::ptr_eq(kept, asked))
}
