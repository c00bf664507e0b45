//! What is received: output items, each opened, filled by deltas and closed.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use serde::Deserialize;
use zot_conversation::{ModelError, ModelEvent, Reasoning, StopReason, ToolCallId};

use super::event::{EventKind, ItemKind, WireEvent, WireItem, WirePart, WireResponse};
use crate::call::{Decoder, Progress, generated_id};
use crate::endpoint::Endpoint;
use crate::error::broke_off;
use crate::sse::SseEvent;

/// Compatible servers close with the chat wire's end marker, which means nothing here.
const CHAT_END_MARKER: &[u8] = b"[DONE]";

/// Between two parts of a reasoning summary.
const PART_BREAK: &str = "\n\n";

/// An answer that is not streamed.
#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    output: Vec<WireItem>,
    status: Option<String>,
    #[serde(flatten)]
    response: WireResponse,
}

/// An output item that has begun and not ended.
struct OpenItem {
    index: Option<u64>,
    kind: OpenKind,
    /// Whether its content came in deltas, so that the finished item brings nothing new.
    streamed: bool,
}

enum OpenKind {
    Message,
    Call(ToolCallId),
    Reasoning(String),
    Other,
}

pub(super) struct ResponsesDecoder {
    endpoint: Arc<Endpoint>,
    open: Vec<OpenItem>,
    called_tools: bool,
    /// Events that were not JSON.
    skipped: u64,
}

impl ResponsesDecoder {
    pub(super) fn new(endpoint: Arc<Endpoint>) -> Self {
        Self {
            endpoint,
            open: Vec::new(),
            called_tools: false,
            skipped: 0,
        }
    }

    fn start_item(
        &mut self,
        index: Option<u64>,
        item: &WireItem,
        events: &mut VecDeque<ModelEvent>,
    ) {
        let kind = match item.kind {
            ItemKind::Message => OpenKind::Message,
            ItemKind::Reasoning => OpenKind::Reasoning(String::new()),
            ItemKind::Other => OpenKind::Other,
            ItemKind::FunctionCall => {
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
        self.open.push(OpenItem {
            index,
            kind,
            streamed: false,
        });
    }

    /// Where the item of a delta is; servers that number nothing mean the last one.
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
        let begun = matches!(
            self.item(index),
            Some(OpenItem { kind: OpenKind::Reasoning(text), .. }) if !text.is_empty()
        );
        if begun {
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

    /// The arguments as a whole, of use only where no delta came.
    fn whole_arguments(
        &mut self,
        index: Option<u64>,
        whole: Option<Cow<'_, str>>,
        events: &mut VecDeque<ModelEvent>,
    ) {
        let unsaid = self.item(index).is_some_and(|item| !item.streamed);
        if let Some(whole) = whole.filter(|whole| unsaid && !whole.is_empty()) {
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
                (Some(OpenKind::Message), ItemKind::Message)
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

    /// Ends `open`, adding what only the finished item tells.
    fn close(&self, open: OpenItem, item: Option<WireItem>, events: &mut VecDeque<ModelEvent>) {
        match open.kind {
            OpenKind::Other => {}
            OpenKind::Message => {
                let parts = item.and_then(|item| item.content).unwrap_or_default();
                for part in parts.into_iter().filter(|_| !open.streamed) {
                    let text = part.text.or(part.refusal).unwrap_or_default();
                    if !text.is_empty() {
                        events.push_back(ModelEvent::TextDelta(text));
                    }
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
                let whole = summary_text(
                    item.summary
                        .filter(|parts| !parts.is_empty())
                        .or(item.content),
                );
                if !open.streamed && !whole.is_empty() {
                    events.push_back(ModelEvent::ThinkingDelta(whole.clone()));
                }
                let text = match open.streamed {
                    true => streamed,
                    false => whole,
                };
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
        response: Option<Box<WireResponse>>,
        stop: StopReason,
        events: &mut VecDeque<ModelEvent>,
    ) {
        for open in std::mem::take(&mut self.open) {
            self.close(open, None, events);
        }
        if let Some(usage) = response.and_then(|response| response.usage) {
            events.push_back(ModelEvent::Usage(usage.usage()));
        }
        events.push_back(ModelEvent::Stop(stop));
    }
}

impl Decoder for ResponsesDecoder {
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
            (EventKind::Completed, _) => {
                let stop = match self.called_tools {
                    true => StopReason::ToolUse,
                    false => StopReason::End,
                };
                self.stop(event.response, stop, events);
                return Ok(Progress::Done);
            }
            (EventKind::Incomplete, _) => {
                let stop = incomplete_reason(event.response.as_deref());
                self.stop(event.response, stop, events);
                return Ok(Progress::Done);
            }
            (EventKind::Failed | EventKind::Error, _) => return Err(self.failure(data)),
            _ => {}
        }
        Ok(Progress::More)
    }

    fn end(
        &mut self,
        cut: Option<&str>,
        _events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let cause = cut.unwrap_or("the answer ended without response.completed");
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
        if let Some(error) = document.response.error {
            return Err(error.into_error(&self.endpoint));
        }
        for (index, item) in (0..).zip(document.output) {
            self.finish_item(Some(index), item, events);
        }
        let stop = match (document.status.as_deref(), self.called_tools) {
            (Some("incomplete"), _) => incomplete_reason(Some(&document.response)),
            (_, true) => StopReason::ToolUse,
            (_, false) => StopReason::End,
        };
        self.stop(Some(Box::new(document.response)), stop, events);
        Ok(())
    }
}

impl ResponsesDecoder {
    /// Reads the event again for what only a failure has.
    fn failure(&self, data: &str) -> ModelError {
        #[derive(Deserialize)]
        struct Failed {
            response: WireResponse,
        }

        let failed = serde_json::from_str::<Failed>(data)
            .ok()
            .and_then(|failed| failed.response.error)
            .or_else(|| serde_json::from_str(data).ok());
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

fn incomplete_reason(response: Option<&WireResponse>) -> StopReason {
    let details = response.and_then(|response| response.incomplete_details.as_ref());
    match details.and_then(|details| details.reason.as_deref()) {
        Some("content_filter") => StopReason::Refused,
        // max_output_tokens, and whatever else ends an answer early.
        _ => StopReason::Length,
    }
}

fn summary_text(parts: Option<Vec<WirePart>>) -> String {
    let texts: Vec<String> = parts
        .into_iter()
        .flatten()
        .filter_map(|part| part.text)
        .collect();
    texts.join(PART_BREAK)
}

#[cfg(test)]
mod tests;
