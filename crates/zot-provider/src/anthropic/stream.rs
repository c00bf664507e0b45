//! What is received: events with a flat shape, told apart by their `type`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use zot_conversation::{ModelError, ModelEvent, Reasoning, StopReason, ToolCallId, Usage};

use super::error::ErrorObject;
use crate::call::{Decoder, Progress};
use crate::endpoint::Endpoint;
use crate::error::{broke_off, stream_error};
use crate::sse::SseEvent;

/// Every field any event has. A tagged enum would make serde copy each event before reading it.
#[derive(Deserialize)]
struct WireEvent {
    #[serde(rename = "type")]
    kind: EventKind,
    #[serde(default)]
    index: u64,
    message: Option<Box<WireMessage>>,
    // Boxed because it is rare, and every event is moved several times while it is read.
    content_block: Option<Box<WireBlock>>,
    delta: Option<WireDelta>,
    usage: Option<Box<WireUsage>>,
    error: Option<Box<ErrorObject>>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum EventKind {
    MessageStart,
    ContentBlockStart,
    ContentBlockDelta,
    ContentBlockStop,
    MessageDelta,
    MessageStop,
    Error,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct WireMessage {
    usage: Option<Box<WireUsage>>,
}

#[derive(Deserialize)]
struct WireBlock {
    #[serde(rename = "type")]
    kind: BlockKind,
    id: Option<String>,
    name: Option<String>,
    input: Option<Box<RawValue>>,
    text: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    data: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum BlockKind {
    Text,
    Thinking,
    RedactedThinking,
    ToolUse,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct WireDelta {
    text: Option<String>,
    partial_json: Option<String>,
    thinking: Option<String>,
    signature: Option<String>,
    stop_reason: Option<String>,
}

#[derive(Deserialize)]
struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

/// An answer that is not streamed.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    content: Vec<WireBlock>,
    stop_reason: Option<String>,
    usage: Option<Box<WireUsage>>,
    error: Option<Box<ErrorObject>>,
}

/// A content block that has started and not ended.
enum OpenBlock {
    Text,
    Thinking { text: String, signature: String },
    Redacted { data: String },
    ToolUse { id: ToolCallId, whole_input: String },
    Other,
}

/// What an answer is made behind. Known when the request is written.
pub(super) type PrefixCell = Arc<Mutex<Option<String>>>;

pub(super) struct AnthropicDecoder {
    endpoint: Arc<Endpoint>,
    prefix: PrefixCell,
    open: Vec<(u64, OpenBlock)>,
    called_tools: bool,
    usage: Usage,
    stop: Option<StopReason>,
    /// Events that were not JSON.
    skipped: u64,
}

impl AnthropicDecoder {
    pub(super) fn new(endpoint: Arc<Endpoint>, prefix: PrefixCell) -> Self {
        Self {
            endpoint,
            prefix,
            open: Vec::new(),
            called_tools: false,
            usage: Usage::default(),
            stop: None,
            skipped: 0,
        }
    }

    fn start_block(&mut self, index: u64, block: WireBlock, events: &mut VecDeque<ModelEvent>) {
        let open = match block.kind {
            BlockKind::Text => {
                push_text(block.text, events);
                OpenBlock::Text
            }
            BlockKind::Thinking => {
                let text = block.thinking.unwrap_or_default();
                if !text.is_empty() {
                    events.push_back(ModelEvent::ThinkingDelta(text.clone()));
                }
                OpenBlock::Thinking {
                    text,
                    signature: block.signature.unwrap_or_default(),
                }
            }
            BlockKind::RedactedThinking => OpenBlock::Redacted {
                data: block.data.unwrap_or_default(),
            },
            BlockKind::ToolUse => {
                let id = ToolCallId::from(block.id.unwrap_or_default());
                self.called_tools = true;
                events.push_back(ModelEvent::ToolCallStart {
                    id: id.clone(),
                    name: block.name.unwrap_or_default(),
                });
                // Compatible servers may send the whole input here and no delta.
                let whole_input = block
                    .input
                    .map(|input| input.get().to_owned())
                    .filter(|input| input.len() > "{}".len() && input != "null")
                    .unwrap_or_default();
                OpenBlock::ToolUse { id, whole_input }
            }
            BlockKind::Other => OpenBlock::Other,
        };
        self.open.push((index, open));
    }

    fn delta(&mut self, index: u64, delta: WireDelta, events: &mut VecDeque<ModelEvent>) {
        let open = self.open.iter_mut().rev().find(|(open, _)| *open == index);
        match open.map(|(_, block)| block) {
            Some(OpenBlock::ToolUse { id, whole_input }) => {
                if let Some(text) = delta.partial_json.filter(|text| !text.is_empty()) {
                    whole_input.clear();
                    events.push_back(ModelEvent::ToolCallArguments {
                        id: id.clone(),
                        delta: text,
                    });
                }
            }
            Some(OpenBlock::Thinking { text, signature }) => {
                if let Some(more) = delta.thinking.filter(|more| !more.is_empty()) {
                    text.push_str(&more);
                    events.push_back(ModelEvent::ThinkingDelta(more));
                }
                if let Some(more) = delta.signature {
                    signature.push_str(&more);
                }
            }
            _ => push_text(delta.text, events),
        }
    }

    fn reasoning(&self) -> Reasoning {
        let prefix = self.prefix.lock().unwrap_or_else(PoisonError::into_inner);
        Reasoning {
            provider: self.endpoint.provider.clone(),
            prefix: prefix.clone(),
            ..Reasoning::default()
        }
    }

    fn stop_block(&self, block: OpenBlock, events: &mut VecDeque<ModelEvent>) {
        match block {
            OpenBlock::Text | OpenBlock::Other => {}
            OpenBlock::Thinking { text, signature } => {
                events.push_back(ModelEvent::Reasoning(Reasoning {
                    text,
                    signature: Some(signature).filter(|signature| !signature.is_empty()),
                    ..self.reasoning()
                }));
            }
            OpenBlock::Redacted { data } => {
                events.push_back(ModelEvent::Reasoning(Reasoning {
                    encrypted: Some(data),
                    ..self.reasoning()
                }));
            }
            OpenBlock::ToolUse { id, whole_input } => {
                if !whole_input.is_empty() {
                    events.push_back(ModelEvent::ToolCallArguments {
                        id: id.clone(),
                        delta: whole_input,
                    });
                }
                events.push_back(ModelEvent::ToolCallEnd { id });
            }
        }
    }

    fn count(&mut self, usage: Option<Box<WireUsage>>, events: &mut VecDeque<ModelEvent>) {
        let Some(wire) = usage else {
            return;
        };
        let usage = &mut self.usage;
        usage.input = wire.input_tokens.unwrap_or(usage.input);
        usage.output = wire.output_tokens.unwrap_or(usage.output);
        usage.cache_read = wire.cache_read_input_tokens.unwrap_or(usage.cache_read);
        usage.cache_write = wire
            .cache_creation_input_tokens
            .unwrap_or(usage.cache_write);
        events.push_back(ModelEvent::Usage(*usage));
    }

    fn stop_message(&mut self, events: &mut VecDeque<ModelEvent>) {
        for (_, block) in std::mem::take(&mut self.open) {
            self.stop_block(block, events);
        }
        let fallback = match self.called_tools {
            true => StopReason::ToolUse,
            false => StopReason::End,
        };
        events.push_back(ModelEvent::Stop(self.stop.unwrap_or(fallback)));
    }
}

impl Decoder for AnthropicDecoder {
    fn event(
        &mut self,
        event: SseEvent<'_>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<Progress, ModelError> {
        // Checking the encoding once is cheaper than for each string.
        let event = str::from_utf8(event.data)
            .ok()
            .and_then(|data| serde_json::from_str::<WireEvent>(data).ok());
        let Some(event) = event else {
            self.skipped += 1;
            return Ok(Progress::More);
        };
        match event.kind {
            EventKind::ContentBlockDelta => {
                if let Some(delta) = event.delta {
                    self.delta(event.index, delta, events);
                }
            }
            EventKind::ContentBlockStart => {
                if let Some(block) = event.content_block {
                    self.start_block(event.index, *block, events);
                }
            }
            EventKind::ContentBlockStop => {
                let open = self.open.iter().rposition(|(open, _)| *open == event.index);
                if let Some(position) = open {
                    let (_, block) = self.open.remove(position);
                    self.stop_block(block, events);
                }
            }
            EventKind::MessageStart => {
                self.count(event.message.and_then(|message| message.usage), events);
            }
            EventKind::MessageDelta => {
                let reason = event.delta.and_then(|delta| delta.stop_reason);
                self.stop = reason.as_deref().map(stop_reason).or(self.stop);
                self.count(event.usage, events);
            }
            EventKind::MessageStop => {
                self.stop_message(events);
                return Ok(Progress::Done);
            }
            EventKind::Error => {
                return Err(match event.error {
                    Some(error) => error.into_error(&self.endpoint),
                    None => stream_error(&self.endpoint.provider, "error event without details"),
                });
            }
            EventKind::Other => {}
        }
        Ok(Progress::More)
    }

    fn end(
        &mut self,
        cut: Option<&str>,
        _events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let cause = cut.unwrap_or("the answer ended without message_stop");
        Err(broke_off(&self.endpoint.provider, cause, self.skipped))
    }

    fn document(
        &mut self,
        body: &[u8],
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let Ok(document) = serde_json::from_slice::<Document>(body) else {
            self.skipped += 1;
            return self.end(None, events);
        };
        if let Some(error) = document.error {
            return Err(error.into_error(&self.endpoint));
        }
        for (index, block) in (0..).zip(document.content) {
            self.start_block(index, block, events);
        }
        self.stop = document.stop_reason.as_deref().map(stop_reason);
        self.count(document.usage, events);
        self.stop_message(events);
        Ok(())
    }
}

fn push_text(text: Option<String>, events: &mut VecDeque<ModelEvent>) {
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        events.push_back(ModelEvent::TextDelta(text));
    }
}

fn stop_reason(reason: &str) -> StopReason {
    match reason {
        "tool_use" => StopReason::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => StopReason::Length,
        "refusal" => StopReason::Refused,
        // end_turn, stop_sequence, pause_turn, and what is yet to be invented.
        _ => StopReason::End,
    }
}

#[cfg(test)]
mod tests;
