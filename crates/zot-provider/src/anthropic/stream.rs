//! Decodes responses: events with a flat shape, distinguished by their `type`.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use zot_conversation::{ModelError, ModelEvent, Reasoning, StopReason, ToolCallId, Usage};

use super::error::ErrorObject;
use crate::call::{Decoder, Progress, generated_id};
use crate::endpoint::Endpoint;
use crate::error::{broke_off, stream_error};
use crate::lenient;
use crate::sse::SseEvent;

/// Every field any event has. A tagged enum would make serde copy each event before reading it.
#[derive(Deserialize)]
struct WireEvent<'a> {
    #[serde(rename = "type", default)]
    kind: EventKind,
    #[serde(default, deserialize_with = "lenient::count")]
    index: Option<u64>,
    #[serde(default, borrow, deserialize_with = "lenient::optional")]
    message: Option<WireMessage<'a>>,
    // Boxed because it is rare, and every event is moved several times while it is read.
    #[serde(default, deserialize_with = "lenient::optional")]
    content_block: Option<Box<WireBlock>>,
    delta: Option<WireDelta>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
#[derive(Default)]
enum EventKind {
    MessageStart,
    ContentBlockStart,
    ContentBlockDelta,
    ContentBlockStop,
    MessageDelta,
    MessageStop,
    Error,
    #[default]
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct WireMessage<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
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

/// The strings of known deltas; a delta of an unknown kind may use the same names for other types.
#[derive(Deserialize)]
struct WireDelta {
    #[serde(default, deserialize_with = "text")]
    text: Option<String>,
    #[serde(default, deserialize_with = "text")]
    partial_json: Option<String>,
    #[serde(default, deserialize_with = "text")]
    thinking: Option<String>,
    #[serde(default, deserialize_with = "text")]
    signature: Option<String>,
    #[serde(default, deserialize_with = "text")]
    stop_reason: Option<String>,
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(lenient::string(deserializer)?.map(Cow::into_owned))
}

#[derive(Deserialize)]
struct WireUsage {
    #[serde(default, deserialize_with = "lenient::count")]
    input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    output_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::optional")]
    cache_creation: Option<CacheCreation>,
}

/// Tokens written to the cache, by how long they are kept there.
#[derive(Deserialize)]
struct CacheCreation {
    #[serde(default, deserialize_with = "lenient::count")]
    ephemeral_5m_input_tokens: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    ephemeral_1h_input_tokens: Option<u64>,
}

impl WireUsage {
    fn cache_write(&self) -> Option<u64> {
        self.cache_creation_input_tokens.or_else(|| {
            let parts = self.cache_creation.as_ref()?;
            let short = parts.ephemeral_5m_input_tokens.unwrap_or_default();
            Some(short.saturating_add(parts.ephemeral_1h_input_tokens.unwrap_or_default()))
        })
    }
}

/// A response that is not streamed.
#[derive(Deserialize)]
struct Document<'a> {
    content: Option<Vec<WireBlock>>,
    stop_reason: Option<String>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    error: Option<Box<ErrorObject>>,
}

/// A content block that has started and not ended.
enum OpenBlock {
    Text,
    Thinking {
        text: String,
        signature: String,
    },
    Redacted {
        data: String,
    },
    ToolUse {
        id: ToolCallId,
        whole_input: String,
    },
    /// A block that only the provider uses: its own tools and their results.
    Other,
}

/// The most blocks that may be open at once; one more ends the oldest.
///
/// Limit: the oldest open block counts as finished.
const MAX_OPEN_BLOCKS: usize = 256;

/// The digest of the prefix that a response follows. Set when the request is written.
pub(super) type PrefixCell = Arc<Mutex<Option<String>>>;

pub(super) struct AnthropicDecoder {
    endpoint: Arc<Endpoint>,
    prefix: PrefixCell,
    open: Vec<(u64, OpenBlock)>,
    calls: Vec<ToolCallId>,
    usage: Usage,
    stop: Option<StopReason>,
    /// Bytes of signatures.
    kept: usize,
    /// Events that were not JSON.
    skipped: u64,
}

impl AnthropicDecoder {
    pub(super) fn new(endpoint: Arc<Endpoint>, prefix: PrefixCell) -> Self {
        Self {
            endpoint,
            prefix,
            open: Vec::new(),
            calls: Vec::new(),
            usage: Usage::default(),
            stop: None,
            kept: 0,
            skipped: 0,
        }
    }

    fn start_block(&mut self, index: u64, block: WireBlock, events: &mut VecDeque<ModelEvent>) {
        if let Some(position) = self.position(index) {
            // Either some gateway repeats the event, or the previous block with this index was
            // never ended.
            if self.is_repeated(position, &block) {
                return;
            }
            let (_, open) = self.open.remove(position);
            self.stop_block(open, events);
        }
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
            // A call runs once, however often its block is repeated.
            BlockKind::ToolUse if self.is_known_call(&block) => OpenBlock::Other,
            BlockKind::ToolUse => {
                let named = block.id.filter(|id| !id.is_empty());
                let id = named.map_or_else(generated_id, ToolCallId::from);
                self.calls.push(id.clone());
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
        // This list is searched for every delta: a server that opens block after block must not
        // make it long.
        if self.open.len() >= MAX_OPEN_BLOCKS {
            let (_, oldest) = self.open.remove(0);
            self.stop_block(oldest, events);
        }
        self.open.push((index, open));
    }

    fn position(&self, index: u64) -> Option<usize> {
        self.open.iter().rposition(|(open, _)| *open == index)
    }

    fn is_known_call(&self, block: &WireBlock) -> bool {
        let id = block.id.as_deref().unwrap_or_default();
        self.calls.iter().any(|known| known.as_str() == id)
    }

    fn is_repeated(&self, position: usize, block: &WireBlock) -> bool {
        match (self.open.get(position), block.kind) {
            (Some((_, OpenBlock::ToolUse { id, .. })), BlockKind::ToolUse) => {
                block.id.as_deref() == Some(id.as_str())
            }
            (Some((_, OpenBlock::Text)), BlockKind::Text) => {
                block.text.as_deref().unwrap_or_default().is_empty()
            }
            (Some((_, OpenBlock::Thinking { .. })), BlockKind::Thinking) => {
                block.thinking.as_deref().unwrap_or_default().is_empty()
            }
            _ => false,
        }
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
                    self.kept += more.len();
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

    /// Records token counts. They are running totals: a later event that omits a count or sends 0,
    /// such as a second `message_start`, does not reset it.
    fn count(&mut self, usage: Option<&RawValue>, events: &mut VecDeque<ModelEvent>) {
        let wire = usage.and_then(|usage| serde_json::from_str::<WireUsage>(usage.get()).ok());
        let Some(wire) = wire else {
            return;
        };
        let usage = &mut self.usage;
        let newer = |new: Option<u64>, known| new.filter(|&count| count > 0).unwrap_or(known);
        usage.input = newer(wire.input_tokens, usage.input);
        usage.output = newer(wire.output_tokens, usage.output);
        usage.cache_read = newer(wire.cache_read_input_tokens, usage.cache_read);
        usage.cache_write = newer(wire.cache_write(), usage.cache_write);
        events.push_back(ModelEvent::Usage(*usage));
    }

    fn stop_message(&mut self, events: &mut VecDeque<ModelEvent>) {
        for (_, block) in std::mem::take(&mut self.open) {
            self.stop_block(block, events);
        }
        let fallback = match self.calls.is_empty() {
            true => StopReason::End,
            false => StopReason::ToolUse,
        };
        events.push_back(ModelEvent::Stop(self.stop.unwrap_or(fallback)));
    }
}

impl Decoder for AnthropicDecoder {
    fn buffered_bytes(&self) -> usize {
        self.kept
    }

    fn event(
        &mut self,
        event: SseEvent<'_>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<Progress, ModelError> {
        // Checking the encoding once is cheaper than for each string.
        let event = str::from_utf8(event.data)
            .ok()
            .and_then(|data| serde_json::from_str::<WireEvent<'_>>(data).ok());
        let Some(event) = event else {
            self.skipped += 1;
            return Ok(Progress::More);
        };
        let index = event.index.unwrap_or_default();
        match event.kind {
            EventKind::ContentBlockDelta => {
                if let Some(delta) = event.delta {
                    self.delta(index, delta, events);
                }
            }
            EventKind::ContentBlockStart => {
                if let Some(block) = event.content_block {
                    self.start_block(index, *block, events);
                }
            }
            EventKind::ContentBlockStop => {
                if let Some(position) = self.position(index) {
                    let (_, block) = self.open.remove(position);
                    self.stop_block(block, events);
                }
            }
            EventKind::MessageStart => {
                let usage = event.message.and_then(|message| message.usage);
                self.count(usage.or(event.usage), events);
            }
            EventKind::MessageDelta => {
                let reason = event.delta.and_then(|delta| delta.stop_reason);
                self.stop = reason.as_deref().map(stop_reason).or(self.stop);
                self.count(event.usage, events);
            }
            EventKind::MessageStop => {
                self.count(event.usage, events);
                self.stop_message(events);
                return Ok(Progress::Done);
            }
            // Gateways send an error without the event's type.
            EventKind::Error | EventKind::Other if event.error.is_some() => {
                self.count(event.usage, events);
                let error = event.error.map_or("null", |error| error.get());
                return Err(ErrorObject::parse(error).into_error(&self.endpoint));
            }
            EventKind::Error => {
                self.count(event.usage, events);
                let cause = "error event without details";
                return Err(stream_error(&self.endpoint.provider, cause));
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
        let cause = cut.unwrap_or("the response ended without message_stop");
        Err(broke_off(&self.endpoint.provider, cause, self.skipped))
    }

    fn document(
        &mut self,
        body: &[u8],
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let Ok(document) = serde_json::from_slice::<Document<'_>>(body) else {
            self.skipped += 1;
            return self.end(None, events);
        };
        if let Some(error) = document.error {
            self.count(document.usage, events);
            return Err(error.into_error(&self.endpoint));
        }
        // Any object can be read as a document, but only a response has content.
        let Some(content) = document.content else {
            self.skipped += 1;
            return self.end(None, events);
        };
        for (index, block) in (0..).zip(content) {
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
        // end_turn, stop_sequence, pause_turn, and future values.
        _ => StopReason::End,
    }
}

#[cfg(test)]
mod tests;
