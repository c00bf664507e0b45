//! Decodes responses: output items, each opened, filled by deltas and closed.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::value::RawValue;
use zot_conversation::{
    MAX_RESPONSE_BLOCKS, ModelError, ModelEvent, Reasoning, StopReason, ToolCallId,
};

use super::MessageDetails;
use super::error::ErrorObject;
use super::event::{EventKind, ItemKind, WireEvent, WireItem, WirePart, WireResponse};
use crate::call::{Decoder, Progress, generated_id};
use crate::endpoint::Endpoint;
use crate::error::broke_off;
use crate::sse::SseEvent;
use crate::usage;

/// Compatible servers end with the chat wire's end marker, which is ignored here.
const CHAT_END_MARKER: &[u8] = b"[DONE]";

/// Between two parts of a reasoning summary.
const PART_BREAK: &str = "\n\n";

/// An output item that has begun and not ended.
struct OpenItem {
    index: Option<u64>,
    kind: OpenKind,
    /// Whether its content came in deltas, so that the finished item adds nothing.
    streamed: bool,
}

enum OpenKind {
    Message { phase: Option<String> },
    Call(ToolCallId),
    Reasoning(String),
    Other,
}

pub(super) struct ResponsesDecoder {
    endpoint: Arc<Endpoint>,
    open: Vec<OpenItem>,
    called_tools: bool,
    /// Whether the last text belongs to a message without an end mark.
    after_message: bool,
    /// Whether any item or text arrived before the end.
    has_content: bool,
    /// Events that were not JSON.
    skipped: u64,
}

impl ResponsesDecoder {
    pub(super) fn new(endpoint: Arc<Endpoint>) -> Self {
        Self {
            endpoint,
            open: Vec::new(),
            called_tools: false,
            after_message: false,
            has_content: false,
            skipped: 0,
        }
    }

    fn start_item(
        &mut self,
        index: Option<u64>,
        item: &WireItem,
        events: &mut VecDeque<ModelEvent>,
    ) {
        self.has_content = true;
        let kind = match item.kind {
            ItemKind::Message => {
                if self.after_message {
                    events.push_back(self.end_of_message(None));
                }
                OpenKind::Message {
                    phase: item.phase.clone(),
                }
            }
            ItemKind::Reasoning => OpenKind::Reasoning(String::new()),
            ItemKind::Other => OpenKind::Other,
            ItemKind::FunctionCall => {
                self.after_message = false;
                let named = item.call_id.as_deref().filter(|id| !id.is_empty());
                let id = named.map_or_else(generated_id, ToolCallId::from);
                self.called_tools = true;
                events.push_back(ModelEvent::ToolCallStart {
                    id: id.clone(),
                    name: item.name.clone().unwrap_or_default(),
                });
                OpenKind::Call(id)
            }
        };
        // This list is searched for every delta: a server that opens item after item must not make
        // it long.
        if self.open.len() > MAX_RESPONSE_BLOCKS {
            self.open.remove(0);
        }
        self.open.push(OpenItem {
            index,
            kind,
            streamed: false,
        });
    }

    /// Marks the end of a message, which separates it from the next and keeps its phase: "preserve
    /// and resend phase on all assistant messages" (OpenAI's API reference, `phase`).
    fn end_of_message(&self, phase: Option<String>) -> ModelEvent {
        ModelEvent::Reasoning(Reasoning {
            provider: self.endpoint.provider.clone(),
            details: serde_json::to_string(&MessageDetails::new(phase)).ok(),
            ..Reasoning::default()
        })
    }

    /// Finds the item of a delta; without an index it is the last one.
    fn position(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(_) => self.open.iter().rposition(|item| item.index == index),
            None => self.open.len().checked_sub(1),
        }
    }

    fn item(&mut self, index: Option<u64>) -> Option<&mut OpenItem> {
        let position = self.position(index)?;
        self.open.get_mut(position)
    }

    fn text(&mut self, index: Option<u64>, delta: Cow<'_, str>, events: &mut VecDeque<ModelEvent>) {
        self.has_content = true;
        if let Some(item) = self.item(index) {
            item.streamed = true;
        }
        events.push_back(ModelEvent::TextDelta(delta.into_owned()));
    }

    fn thinking(&mut self, index: Option<u64>, delta: &str, events: &mut VecDeque<ModelEvent>) {
        if let Some(OpenItem {
            kind: OpenKind::Reasoning(text),
            streamed,
            ..
        }) = self.item(index)
        {
            *streamed = true;
            text.push_str(delta);
            events.push_back(ModelEvent::ThinkingDelta(delta.to_owned()));
        }
    }

    fn thinking_part(&mut self, index: Option<u64>, events: &mut VecDeque<ModelEvent>) {
        let has_begun = matches!(
            self.item(index),
            Some(OpenItem { kind: OpenKind::Reasoning(text), .. }) if !text.is_empty()
        );
        if has_begun {
            self.thinking(index, PART_BREAK, events);
        }
    }

    fn arguments(
        &mut self,
        index: Option<u64>,
        delta: Cow<'_, str>,
        events: &mut VecDeque<ModelEvent>,
    ) {
        if let Some(OpenItem {
            kind: OpenKind::Call(id),
            streamed,
            ..
        }) = self.item(index)
        {
            *streamed = true;
            events.push_back(ModelEvent::ToolCallArguments {
                id: id.clone(),
                delta: delta.into_owned(),
            });
        }
    }

    /// Uses the complete arguments if no delta arrived.
    fn whole_arguments(
        &mut self,
        index: Option<u64>,
        whole: Option<Cow<'_, str>>,
        events: &mut VecDeque<ModelEvent>,
    ) {
        let unreported = self.item(index).is_some_and(|item| !item.streamed);
        if let Some(whole) = whole.filter(|whole| unreported && !whole.is_empty()) {
            self.arguments(index, whole, events);
        }
    }

    fn finish_item(
        &mut self,
        index: Option<u64>,
        item: WireItem,
        events: &mut VecDeque<ModelEvent>,
    ) {
        let open = self.position(index).filter(|&position| {
            let kind = self.open.get(position).map(|open| &open.kind);
            matches!(
                (kind, item.kind),
                (Some(OpenKind::Message { .. }), ItemKind::Message)
                    | (Some(OpenKind::Call(_)), ItemKind::FunctionCall)
                    | (Some(OpenKind::Reasoning(_)), ItemKind::Reasoning)
                    | (Some(OpenKind::Other), ItemKind::Other)
            )
        });
        let position = open.unwrap_or_else(|| {
            self.start_item(index, &item, events);
            self.open.len() - 1
        });
        let open = self.open.remove(position);
        self.close(open, Some(item), events);
    }

    /// Ends `open`, and adds what only the finished item contains.
    fn close(&mut self, open: OpenItem, item: Option<WireItem>, events: &mut VecDeque<ModelEvent>) {
        match open.kind {
            OpenKind::Other => {}
            OpenKind::Message { phase } => {
                let (parts, late) = match item {
                    Some(item) => (item.content, item.phase),
                    None => (Vec::new(), None),
                };
                let mut has_text = open.streamed;
                for part in parts.into_iter().filter(|_| !open.streamed) {
                    let text = part.text.or(part.refusal).unwrap_or_default();
                    if !text.is_empty() {
                        has_text = true;
                        events.push_back(ModelEvent::TextDelta(text));
                    }
                }
                let phase = late.or(phase);
                if has_text && phase.is_some() {
                    events.push_back(self.end_of_message(phase));
                    self.after_message = false;
                } else {
                    self.after_message |= has_text;
                }
            }
            OpenKind::Call(id) => {
                let whole = item.and_then(|item| item.arguments).unwrap_or_default();
                if !open.streamed && !whole.is_empty() {
                    events.push_back(ModelEvent::ToolCallArguments {
                        id: id.clone(),
                        delta: whole,
                    });
                }
                events.push_back(ModelEvent::ToolCallEnd { id });
            }
            OpenKind::Reasoning(streamed) => {
                let Some(item) = item else {
                    return;
                };
                let whole = summary_text(match item.summary.is_empty() {
                    true => item.content,
                    false => item.summary,
                });
                if !open.streamed && !whole.is_empty() {
                    events.push_back(ModelEvent::ThinkingDelta(whole.clone()));
                }
                let text = match open.streamed {
                    true => streamed,
                    false => whole,
                };
                self.after_message = false;
                events.push_back(ModelEvent::Reasoning(Reasoning {
                    provider: self.endpoint.provider.clone(),
                    text,
                    encrypted: item.encrypted_content,
                    id: item.id,
                    ..Reasoning::default()
                }));
            }
        }
    }

    fn stop(
        &mut self,
        response: Option<Box<WireResponse<'_>>>,
        events: &mut VecDeque<ModelEvent>,
    ) -> StopReason {
        for open in std::mem::take(&mut self.open) {
            self.close(open, None, events);
        }
        let incomplete = response.as_deref().and_then(incomplete_reason);
        // Servers that do not stream the items send them with the final event.
        let output = response.map(|response| response.output);
        let unreported = output.into_iter().flatten().filter(|_| !self.has_content);
        for item in unreported.collect::<Vec<WireItem>>() {
            self.finish_item(None, item, events);
        }
        incomplete.unwrap_or(match self.called_tools {
            true => StopReason::ToolUse,
            false => StopReason::End,
        })
    }

    fn count(&self, usage: Option<&RawValue>, events: &mut VecDeque<ModelEvent>) {
        if let Some(usage) = usage.and_then(usage::read) {
            events.push_back(ModelEvent::Usage(usage));
        }
    }
}

impl Decoder for ResponsesDecoder {
    /// Nothing is buffered: every part becomes an event at once.
    fn buffered_bytes(&self) -> usize {
        0
    }

    fn event(
        &mut self,
        event: SseEvent<'_>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<Progress, ModelError> {
        // Checking the encoding once is cheaper than for each string.
        let data = str::from_utf8(event.data).unwrap_or_default();
        let Ok(event) = serde_json::from_str::<WireEvent<'_>>(data) else {
            if data.trim().as_bytes() != CHAT_END_MARKER {
                self.skipped += 1;
            }
            return Ok(Progress::More);
        };
        let index = event.output_index;
        let delta = event.delta.filter(|delta| !delta.is_empty());
        match (event.kind, delta) {
            (EventKind::TextDelta, Some(delta)) => self.text(index, delta, events),
            (EventKind::ReasoningDelta, Some(delta)) => self.thinking(index, &delta, events),
            (EventKind::ArgumentsDelta, Some(delta)) => self.arguments(index, delta, events),
            (EventKind::ArgumentsDone, _) => {
                self.whole_arguments(index, event.arguments, events);
            }
            (EventKind::ReasoningPartAdded, _) => self.thinking_part(index, events),
            (EventKind::ItemAdded, _) => {
                if let Some(item) = event.item {
                    self.start_item(index, &item, events);
                }
            }
            (EventKind::ItemDone, _) => {
                if let Some(item) = event.item {
                    self.finish_item(index, *item, events);
                }
            }
            (EventKind::Completed | EventKind::Incomplete, _) => {
                let response = event.response;
                let usage = response.as_ref().and_then(|response| response.usage);
                if has_failed(response.as_deref()) {
                    self.count(usage, events);
                    return Err(self.failure(data, response));
                }
                let stop = match (event.kind, self.stop(response, events)) {
                    (EventKind::Incomplete, StopReason::End | StopReason::ToolUse) => {
                        StopReason::Length
                    }
                    (_, stop) => stop,
                };
                self.count(usage, events);
                events.push_back(ModelEvent::Stop(stop));
                return Ok(Progress::Done);
            }
            (EventKind::Failed | EventKind::Error, _) => {
                let usage = event.response.as_ref().and_then(|response| response.usage);
                self.count(usage.or(event.usage), events);
                return Err(self.failure(data, event.response));
            }
            _ => {}
        }
        Ok(Progress::More)
    }

    fn end(
        &mut self,
        cut: Option<&str>,
        _events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let cause = cut.unwrap_or("the response ended without response.completed");
        Err(broke_off(&self.endpoint.provider, cause, self.skipped))
    }

    fn document(
        &mut self,
        body: &[u8],
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let data = str::from_utf8(body).unwrap_or_default();
        let Ok(response) = serde_json::from_str::<Box<WireResponse<'_>>>(data) else {
            self.skipped += 1;
            return self.end(None, events);
        };
        let usage = response.usage;
        if has_failed(Some(&response)) || response.error.is_some() {
            self.count(usage, events);
            return Err(self.failure(data, Some(response)));
        }
        // Any object can be deserialised as a response, but only a real one has items or a status.
        if response.output.is_empty() && response.status.is_none() {
            self.skipped += 1;
            return self.end(None, events);
        }
        let stop = self.stop(Some(response), events);
        self.count(usage, events);
        events.push_back(ModelEvent::Stop(stop));
        Ok(())
    }
}

impl ResponsesDecoder {
    /// Returns the error of the response, or of the event itself.
    fn failure(&self, data: &str, response: Option<Box<WireResponse<'_>>>) -> ModelError {
        let failed = response
            .and_then(|response| response.error)
            .or_else(|| serde_json::from_str::<ErrorObject>(data).ok());
        match failed {
            Some(error) => error.into_error(&self.endpoint),
            None => broke_off(
                &self.endpoint.provider,
                "the provider reported a failure without details",
                self.skipped,
            ),
        }
    }
}

/// Returns whether a response failed: some servers show it only in the status of a completed one.
fn has_failed(response: Option<&WireResponse<'_>>) -> bool {
    let status = response.and_then(|response| response.status.as_deref());
    matches!(status, Some("failed" | "cancelled"))
}

/// Returns why a response ended early, if it did. The details count as well as the status: OpenAI
/// also sends `response.completed` with the status `incomplete`.
fn incomplete_reason(response: &WireResponse<'_>) -> Option<StopReason> {
    let details = response.incomplete_details.as_ref();
    match details.and_then(|details| details.reason.as_deref()) {
        Some("content_filter") => Some(StopReason::Refused),
        // max_output_tokens, and anything else that ends a response early.
        Some(_) => Some(StopReason::Length),
        None if response.status.as_deref() == Some("incomplete") => Some(StopReason::Length),
        None => None,
    }
}

fn summary_text(parts: Vec<WirePart>) -> String {
    let texts: Vec<String> = parts.into_iter().filter_map(|part| part.text).collect();
    texts.join(PART_BREAK)
}

#[cfg(test)]
mod tests;
