//! Collects and writes the events of one response.
//!
//! Deltas of one kind that arrived together are one event with several pieces, so that a fast
//! stream costs little more than its text. The text of each kind is kept whole, because a secret
//! may be cut into pieces.

use std::ops::Range;

use serde::Serialize;
use zot_conversation::{ModelEvent, StopReason, ToolCallId};

use super::redaction::{REDACTED, Redactor};
use super::request::{ReasoningRecord, Redacted, reasoning_record};
use crate::json;

/// The events so far.
#[derive(Debug, Default)]
pub(super) struct Tape {
    entries: Vec<Entry>,
    channels: Vec<Channel>,
    /// The most recently used channel.
    current: usize,
}

#[derive(Debug)]
struct Entry {
    ms: u64,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// This many pieces of a channel, following its previous run.
    Run {
        channel: usize,
        pieces: usize,
    },
    Event(ModelEvent),
}

/// The text of one kind of delta over a whole response.
#[derive(Debug)]
struct Channel {
    source: Source,
    text: String,
    /// Where each piece ends.
    ends: Vec<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    Text,
    Thinking,
    Arguments(ToolCallId),
}

impl Tape {
    /// Adds an event that arrived `ms` milliseconds after the request.
    pub(super) fn push(&mut self, ms: u64, event: &ModelEvent) {
        match event {
            ModelEvent::TextDelta(delta) => {
                self.push_delta(ms, delta, |source| *source == Source::Text, || Source::Text);
            }
            ModelEvent::ThinkingDelta(delta) => {
                let is_thinking = |source: &Source| *source == Source::Thinking;
                self.push_delta(ms, delta, is_thinking, || Source::Thinking);
            }
            ModelEvent::ToolCallArguments { id, delta } => {
                let is_call = |source: &Source| matches!(source, Source::Arguments(of) if of == id);
                self.push_delta(ms, delta, is_call, || Source::Arguments(id.clone()));
            }
            // Retries and notices are not part of the response.
            ModelEvent::Retrying { .. } | ModelEvent::Notice(_) => {}
            event => self.entries.push(Entry {
                ms,
                content: Content::Event(event.clone()),
            }),
        }
    }

    fn push_delta(
        &mut self,
        ms: u64,
        delta: &str,
        matches: impl Fn(&Source) -> bool,
        source: impl FnOnce() -> Source,
    ) {
        let index = match self.channels.get(self.current) {
            Some(channel) if matches(&channel.source) => self.current,
            _ => {
                let known = self.channels.iter().position(|c| matches(&c.source));
                known.unwrap_or_else(|| {
                    self.channels.push(Channel {
                        source: source(),
                        text: String::new(),
                        ends: Vec::new(),
                    });
                    self.channels.len() - 1
                })
            }
        };
        self.current = index;
        if let Some(channel) = self.channels.get_mut(index) {
            channel.text.push_str(delta);
            channel.ends.push(channel.text.len());
        }
        match self.entries.last_mut() {
            Some(Entry {
                ms: last,
                content: Content::Run { channel, pieces },
            }) if *last == ms && *channel == index => *pieces += 1,
            _ => self.entries.push(Entry {
                ms,
                content: Content::Run {
                    channel: index,
                    pieces: 1,
                },
            }),
        }
    }

    /// Counts the positions that hold secrets.
    pub(super) fn count_secrets(&self, redactor: &Redactor) -> usize {
        let written = |event: &ModelEvent, redactor: &Redactor| {
            let mut json = Vec::new();
            append_event(&mut json, 0, event, redactor);
            json
        };
        let in_events = self.entries.iter().filter(|entry| match &entry.content {
            Content::Event(event) => written(event, redactor) != written(event, &Redactor::NONE),
            Content::Run { .. } => false,
        });
        let in_text = self.channels.iter();
        in_events.count() + in_text.map(|c| redactor.find(&c.text).len()).sum::<usize>()
    }

    /// Appends the list of events, without secrets.
    pub(super) fn append_to(&mut self, line: &mut Vec<u8>, redactor: &Redactor) {
        for channel in &mut self.channels {
            channel.redact(redactor);
        }
        let mut next_piece = vec![0; self.channels.len()];
        line.push(b'[');
        for (index, entry) in self.entries.iter().enumerate() {
            if index > 0 {
                line.push(b',');
            }
            let ms = entry.ms;
            match &entry.content {
                Content::Event(event) => append_event(line, ms, event, redactor),
                Content::Run { channel, pieces } => {
                    let (Some(channel), Some(next)) =
                        (self.channels.get(*channel), next_piece.get_mut(*channel))
                    else {
                        continue;
                    };
                    channel.append_run(line, ms, *next..*next + pieces, redactor);
                    *next += pieces;
                }
            }
        }
        line.push(b']');
    }
}

impl Channel {
    /// Removes secrets from the whole text; the mark is put where a secret began.
    fn redact(&mut self, redactor: &Redactor) {
        let secrets = redactor.find(&self.text);
        if secrets.is_empty() {
            return;
        }
        let mut text = String::with_capacity(self.text.len());
        let mut ends = Vec::with_capacity(self.ends.len());
        let mut secrets = secrets.into_iter().peekable();
        let mut from = 0;
        for &end in &self.ends {
            while let Some(secret) = secrets.peek().filter(|secret| secret.start < end) {
                // Otherwise an earlier piece holds the mark already.
                if from <= secret.start {
                    text.push_str(self.text.get(from..secret.start).unwrap_or_default());
                    text.push_str(REDACTED);
                }
                from = secret.end.min(end);
                if secret.end > end {
                    break;
                }
                secrets.next();
            }
            text.push_str(self.text.get(from..end).unwrap_or_default());
            from = end;
            ends.push(text.len());
        }
        self.text = text;
        self.ends = ends;
    }

    fn append_run(&self, line: &mut Vec<u8>, ms: u64, pieces: Range<usize>, redactor: &Redactor) {
        line.extend_from_slice(match self.source {
            Source::Text => b"{\"type\":\"text\",\"ms\":",
            Source::Thinking => b"{\"type\":\"thinking\",\"ms\":",
            Source::Arguments(_) => b"{\"type\":\"tool_call_args\",\"ms\":",
        });
        json::append(line, &ms);
        if let Source::Arguments(id) = &self.source {
            line.extend_from_slice(b",\"id\":");
            json::append(line, &redactor.string(id.as_str()));
        }
        line.extend_from_slice(b",\"deltas\":[");
        let mut from = match pieces.start.checked_sub(1) {
            Some(before) => self.ends.get(before).copied().unwrap_or_default(),
            None => 0,
        };
        for (index, &end) in self.ends.get(pieces).unwrap_or_default().iter().enumerate() {
            if index > 0 {
                line.push(b',');
            }
            json::append(line, &self.text.get(from..end).unwrap_or_default());
            from = end;
        }
        line.extend_from_slice(b"]}");
    }
}

/// Events other than deltas.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum EventRecord<'a> {
    Start {
        ms: u64,
    },
    Reasoning {
        ms: u64,
        block: ReasoningRecord<'a>,
    },
    ToolCallStart {
        ms: u64,
        id: Redacted<'a>,
        name: Redacted<'a>,
    },
    ToolCallEnd {
        ms: u64,
        id: Redacted<'a>,
    },
    Usage {
        ms: u64,
        input: u64,
        output: u64,
        cache_read: u64,
        cache_write: u64,
    },
    Stop {
        ms: u64,
        reason: &'static str,
    },
}

fn append_event(line: &mut Vec<u8>, ms: u64, event: &ModelEvent, redactor: &Redactor) {
    let record = match event {
        ModelEvent::Start => EventRecord::Start { ms },
        ModelEvent::Reasoning(block) => EventRecord::Reasoning {
            ms,
            block: reasoning_record(block, redactor),
        },
        ModelEvent::ToolCallStart { id, name } => EventRecord::ToolCallStart {
            ms,
            id: redactor.string(id.as_str()),
            name: redactor.string(name),
        },
        ModelEvent::ToolCallEnd { id } => EventRecord::ToolCallEnd {
            ms,
            id: redactor.string(id.as_str()),
        },
        ModelEvent::Usage(usage) => EventRecord::Usage {
            ms,
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
        },
        ModelEvent::Stop(reason) => EventRecord::Stop {
            ms,
            reason: match reason {
                StopReason::End => "end",
                StopReason::ToolUse => "tool_use",
                StopReason::Length => "length",
                StopReason::Refused => "refused",
            },
        },
        // Deltas are kept in channels.
        ModelEvent::Retrying { .. }
        | ModelEvent::Notice(_)
        | ModelEvent::TextDelta(_)
        | ModelEvent::ThinkingDelta(_)
        | ModelEvent::ToolCallArguments { .. } => return,
    };
    json::append(line, &record);
}

#[cfg(test)]
mod tests;
