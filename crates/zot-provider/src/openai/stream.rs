//! What is received.

use std::collections::VecDeque;
use std::sync::Arc;

use zot_conversation::{ModelError, ModelEvent, Reasoning, StopReason, ToolCallId};

use super::chunk::{CallDelta, Choice, Chunk, Delta};
use super::error::ErrorObject;
use super::shape::Shape;
use crate::call::{Decoder, Progress, generated_id};
use crate::endpoint::Endpoint;
use crate::error::{broke_off, stream_error};
use crate::sse::SseEvent;

const END_MARKER: &[u8] = b"[DONE]";

/// A tool call under way.
struct OpenCall {
    index: Option<u64>,
    id: ToolCallId,
    /// Whether the server named it, or we did.
    server_id: bool,
    /// Arguments that came before the name.
    early_arguments: String,
    started: bool,
}

pub(super) struct OpenAiDecoder {
    endpoint: Arc<Endpoint>,
    reasoning: String,
    calls: Vec<OpenCall>,
    stop: Option<StopReason>,
    /// The last chunk that was nothing but text.
    shape: Shape,
    /// Events that were not JSON, and whether a good one came after them.
    skipped: u64,
    last_was_malformed: bool,
    is_document: bool,
}

impl OpenAiDecoder {
    pub(super) fn new(endpoint: Arc<Endpoint>) -> Self {
        Self {
            endpoint,
            reasoning: String::new(),
            calls: Vec::new(),
            stop: None,
            shape: Shape::default(),
            skipped: 0,
            last_was_malformed: false,
            is_document: false,
        }
    }

    fn choice(
        &mut self,
        choice: Choice<'_>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        // Some servers repeat the whole message at the end of a stream.
        let said = match self.is_document {
            true => choice.message,
            false => choice.delta,
        };
        if let Some(delta) = said {
            self.delta(delta, events);
        }
        if let Some(usage) = choice.usage {
            events.push_back(ModelEvent::Usage(usage.usage()));
        }
        match choice.finish_reason.as_deref() {
            None | Some("") if !self.is_document => {}
            Some("error") => {
                let cause = "the provider ended the answer with an error";
                return Err(stream_error(&self.endpoint.provider, cause));
            }
            // A document is whole: some servers give no reason then.
            reason if self.stop.is_none() => {
                self.close(events);
                let reason = reason.unwrap_or_default();
                self.stop = Some(stop_reason(reason, !self.calls.is_empty()));
            }
            _ => {}
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta<'_>, events: &mut VecDeque<ModelEvent>) {
        let thinking = match delta.reasoning_content.is_empty() {
            true => delta.reasoning,
            false => delta.reasoning_content,
        };
        if !thinking.is_empty() {
            self.reasoning.push_str(&thinking);
            events.push_back(ModelEvent::ThinkingDelta(thinking.into_owned()));
        }
        for text in [delta.content, delta.refusal] {
            if !text.is_empty() {
                self.text(text.into_owned(), events);
            }
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.close_reasoning(events);
            self.call_delta(call, events);
        }
    }

    fn text(&mut self, text: String, events: &mut VecDeque<ModelEvent>) {
        self.close_reasoning(events);
        events.push_back(ModelEvent::TextDelta(text));
    }

    fn close_reasoning(&mut self, events: &mut VecDeque<ModelEvent>) {
        if self.reasoning.is_empty() {
            return;
        }
        events.push_back(ModelEvent::Reasoning(Reasoning {
            provider: self.endpoint.provider.clone(),
            text: std::mem::take(&mut self.reasoning),
            ..Reasoning::default()
        }));
    }

    fn call_delta(&mut self, delta: CallDelta<'_>, events: &mut VecDeque<ModelEvent>) {
        let function = delta.function.unwrap_or_default();
        let position = self
            .find_call(delta.index, &delta.id, &function.name)
            .unwrap_or_else(|| {
                let server_id = !delta.id.is_empty();
                self.calls.push(OpenCall {
                    index: delta.index,
                    id: match server_id {
                        true => delta.id.as_ref().into(),
                        false => generated_id(),
                    },
                    server_id,
                    early_arguments: String::new(),
                    started: false,
                });
                self.calls.len() - 1
            });
        let Some(call) = self.calls.get_mut(position) else {
            return;
        };
        if !call.started && !function.name.is_empty() {
            call.start(function.name.into_owned(), events);
        }
        if function.arguments.is_empty() {
            return;
        }
        if call.started {
            events.push_back(ModelEvent::ToolCallArguments {
                id: call.id.clone(),
                delta: function.arguments.into_owned(),
            });
        } else {
            call.early_arguments.push_str(&function.arguments);
        }
    }

    /// The call a delta continues. Servers leave out the index, the id or both, and some number
    /// every call 0: a new id together with a name always begins a new call.
    fn find_call(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let by_id = |id: &str| {
            self.calls
                .iter()
                .rposition(|call| call.server_id && call.id.as_str() == id)
        };
        if let Some(index) = index {
            let position = self
                .calls
                .iter()
                .rposition(|call| call.index == Some(index))?;
            let known = self.calls.get(position)?;
            let renamed = known.server_id && !id.is_empty() && known.id.as_str() != id;
            return match renamed && !name.is_empty() {
                true => by_id(id),
                false => Some(position),
            };
        }
        if !id.is_empty() {
            return by_id(id);
        }
        match name.is_empty() {
            true => self.calls.len().checked_sub(1),
            false => None,
        }
    }

    /// Ends the reasoning and every call, in the order of their indices.
    fn close(&mut self, events: &mut VecDeque<ModelEvent>) {
        self.close_reasoning(events);
        self.calls.sort_by_key(|call| call.index);
        for call in &mut self.calls {
            if !call.started {
                call.start(String::new(), events);
            }
            let id = call.id.clone();
            events.push_back(ModelEvent::ToolCallEnd { id });
        }
    }

    fn incomplete(&self, cause: &str) -> ModelError {
        broke_off(&self.endpoint.provider, cause, self.skipped)
    }
}

impl OpenCall {
    fn start(&mut self, name: String, events: &mut VecDeque<ModelEvent>) {
        self.started = true;
        events.push_back(ModelEvent::ToolCallStart {
            id: self.id.clone(),
            name,
        });
        if !self.early_arguments.is_empty() {
            events.push_back(ModelEvent::ToolCallArguments {
                id: self.id.clone(),
                delta: std::mem::take(&mut self.early_arguments),
            });
        }
    }
}

impl Decoder for OpenAiDecoder {
    fn event(
        &mut self,
        event: SseEvent<'_>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<Progress, ModelError> {
        if let Some(text) = self.shape.text(event.data) {
            self.last_was_malformed = false;
            if !text.is_empty() {
                self.text(text.to_owned(), events);
            }
            return Ok(Progress::More);
        }
        if event.data.trim_ascii() == END_MARKER {
            return match self.stop {
                Some(stop) => {
                    events.push_back(ModelEvent::Stop(stop));
                    Ok(Progress::Done)
                }
                None => Err(self.incomplete("the answer ended without a finish_reason")),
            };
        }
        // Checking the encoding once is cheaper than for each string.
        let chunk = str::from_utf8(event.data)
            .ok()
            .and_then(|data| Some((data, serde_json::from_str::<Chunk<'_>>(data).ok()?)));
        let Some((data, chunk)) = chunk else {
            self.skipped += 1;
            self.last_was_malformed = true;
            return Ok(Progress::More);
        };
        match chunk.only_text() {
            Some(text) => self.shape.learn(data, text),
            None => self.shape.forget(),
        }
        self.last_was_malformed = false;
        if let Some(error) = chunk.error.filter(|error| error.get() != "null") {
            return Err(ErrorObject::parse(error.get()).into_error(&self.endpoint));
        }
        if let Some(choice) = chunk.choice {
            self.choice(choice, events)?;
        }
        if let Some(usage) = chunk.usage {
            events.push_back(ModelEvent::Usage(usage.usage()));
        }
        Ok(Progress::More)
    }

    fn end(
        &mut self,
        cut: Option<&str>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        // After a finish_reason only counts and the marker follow: the answer itself is whole.
        match self.stop {
            Some(stop) if !self.last_was_malformed => {
                events.push_back(ModelEvent::Stop(stop));
                Ok(())
            }
            _ => Err(self.incomplete(cut.unwrap_or("the answer ended without a finish_reason"))),
        }
    }

    fn document(
        &mut self,
        body: &[u8],
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        self.is_document = true;
        let event = SseEvent {
            name: b"",
            data: body,
        };
        self.event(event, events)?;
        self.end(None, events)
    }
}

fn stop_reason(reason: &str, called_tools: bool) -> StopReason {
    match reason {
        "length" | "max_tokens" | "model_length" => StopReason::Length,
        "content_filter" => StopReason::Refused,
        // Several servers say `stop` after tool calls, and some say `tool_calls` without one.
        _ if called_tools => StopReason::ToolUse,
        _ => StopReason::End,
    }
}

#[cfg(test)]
mod tests;
