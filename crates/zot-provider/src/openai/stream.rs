//! Decodes responses.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use zot_conversation::{
    MAX_RESPONSE_BLOCKS, ModelError, ModelErrorKind, ModelEvent, Reasoning, StopReason, ToolCallId,
};

use super::chunk::{CallDelta, Choice, Chunk, Content, ContentPart, Delta};
use super::details::ReasoningDetails;
use super::error::ErrorObject;
use super::shape::Shape;
use crate::call::{Decoder, Progress, generated_id};
use crate::endpoint::Endpoint;
use crate::error::{broke_off, document_error, stream_error};
use crate::sse::SseEvent;

const END_MARKER: &[u8] = b"[DONE]";

/// A tool call that has not ended.
struct OpenCall {
    index: Option<u64>,
    id: ToolCallId,
    /// Whether the server assigned the id, not us.
    server_id: bool,
    /// Arguments that came before the name.
    early_arguments: String,
    /// Set when the name has arrived.
    name: Option<String>,
    /// Whether the arguments so far are a whole object, which decides which call a delta belongs
    /// to.
    arguments: Completeness,
}

pub(super) struct OpenAiDecoder {
    endpoint: Arc<Endpoint>,
    reasoning: String,
    details: ReasoningDetails,
    calls: Vec<OpenCall>,
    stop: Option<StopReason>,
    /// Whether the response has text or calls.
    has_content: bool,
    /// The shape of the last chunk that held only text.
    shape: Shape,
    /// Bytes of reasoning details and of arguments that came before their name.
    kept: usize,
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
            details: ReasoningDetails::default(),
            calls: Vec::new(),
            stop: None,
            has_content: false,
            shape: Shape::default(),
            kept: 0,
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
        // After deltas a whole message only repeats them.
        let whole = choice.message.filter(|_| !self.has_content);
        if let Some(delta) = choice.delta.or(whole.map(|message| *message)) {
            self.delta(delta, events);
        }
        let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) else {
            // A document is complete even without a reason, which some servers omit.
            if self.is_document && self.stop.is_none() {
                self.close(events);
                self.stop = Some(self.complete_stop());
            }
            return Ok(());
        };
        match finish(&reason) {
            Finish::Failed => {
                let cause = format_args!("the provider ended the response with \"{reason}\"");
                Err(ModelError {
                    kind: ModelErrorKind::Unavailable,
                    ..stream_error(&self.endpoint.provider, cause)
                })
            }
            _ if self.stop.is_some() => Ok(()),
            Finish::Stopped(stop) => {
                self.close(events);
                self.stop = Some(stop);
                Ok(())
            }
            // Several servers send `stop` after tool calls, and some send `tool_calls` without one.
            Finish::Complete => {
                self.close(events);
                self.stop = Some(self.complete_stop());
                Ok(())
            }
        }
    }

    fn complete_stop(&self) -> StopReason {
        match self.calls.is_empty() {
            true => StopReason::End,
            false => StopReason::ToolUse,
        }
    }

    fn delta(&mut self, delta: Delta<'_>, events: &mut VecDeque<ModelEvent>) {
        let thinking = delta.thinking().map(|text| text.clone().into_owned());
        let has_thinking = thinking.is_some();
        self.think(thinking.unwrap_or_default(), events);
        for detail in delta.reasoning_details.iter().filter(|_| !has_thinking) {
            let text = ReasoningDetails::text(detail).unwrap_or_default();
            self.think(text.to_owned(), events);
        }
        self.kept += self.details.add(delta.reasoning_details);
        match delta.content {
            Content::Text(text) if text.is_empty() => {}
            Content::Text(text) => self.text(text.into_owned(), events),
            Content::Parts(parts) => {
                for part in parts {
                    match part {
                        ContentPart::Text(text) => self.text(text, events),
                        ContentPart::Thinking(text) => self.think(text, events),
                    }
                }
            }
        }
        if !delta.refusal.is_empty() {
            self.text(delta.refusal.into_owned(), events);
        }
        let legacy = delta.function_call.map(|function| CallDelta {
            index: None,
            id: Cow::Borrowed(""),
            function: Some(function),
        });
        for call in delta.tool_calls.into_iter().chain(legacy) {
            self.close_reasoning(events);
            self.call_delta(call, events);
        }
    }

    fn think(&mut self, text: String, events: &mut VecDeque<ModelEvent>) {
        if !text.is_empty() {
            self.reasoning.push_str(&text);
            events.push_back(ModelEvent::ThinkingDelta(text));
        }
    }

    fn text(&mut self, text: String, events: &mut VecDeque<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        self.has_content = true;
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
        self.has_content = true;
        let function = delta.function.unwrap_or_default();
        let known = self.find_call(delta.index, &delta.id, &function.name);
        // The limit on blocks counts only those with a name, but all are searched for every delta.
        if known.is_none() && self.calls.len() > MAX_RESPONSE_BLOCKS {
            return;
        }
        let position = known.unwrap_or_else(|| {
            let server_id = !delta.id.is_empty();
            self.calls.push(OpenCall {
                index: delta.index,
                id: match server_id {
                    true => delta.id.as_ref().into(),
                    false => generated_id(),
                },
                server_id,
                early_arguments: String::new(),
                name: None,
                arguments: Completeness::default(),
            });
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(position) else {
            return;
        };
        if call.name.is_none() && !function.name.is_empty() {
            call.start(function.name.into_owned(), events);
        }
        if function.arguments.is_empty() {
            return;
        }
        call.arguments.add(&function.arguments);
        if call.name.is_some() {
            events.push_back(ModelEvent::ToolCallArguments {
                id: call.id.clone(),
                delta: function.arguments.into_owned(),
            });
        } else {
            self.kept += function.arguments.len();
            call.early_arguments.push_str(&function.arguments);
        }
    }

    /// Finds the call that a delta continues. Servers omit the index, the id or both, and some
    /// number every call 0: a new id together with a name always begins a new call.
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
            if renamed && !name.is_empty() {
                return by_id(id);
            }
            // Two calls with the same index and no id: the first has all its arguments.
            let is_next = id.is_empty() && !known.server_id && known.is_followed_by(name);
            return (!is_next).then_some(position);
        }
        if !id.is_empty() {
            return by_id(id);
        }
        let last = self.calls.len().checked_sub(1)?;
        let known = self.calls.get(last)?;
        (!known.is_followed_by(name)).then_some(last)
    }

    /// Ends the reasoning and every call, in the order of their indices.
    fn close(&mut self, events: &mut VecDeque<ModelEvent>) {
        self.close_reasoning(events);
        // Details may arrive until the end, those of a call together with the call.
        if let Some(details) = self.details.take() {
            events.push_back(ModelEvent::Reasoning(Reasoning {
                provider: self.endpoint.provider.clone(),
                details: Some(details),
                ..Reasoning::default()
            }));
        }
        self.calls.sort_by_key(|call| call.index);
        for call in &mut self.calls {
            if call.name.is_none() {
                call.start(String::new(), events);
            }
            let id = call.id.clone();
            events.push_back(ModelEvent::ToolCallEnd { id });
        }
    }

    /// Handles the wire's end marker. A response without a finish reason is complete if it has any
    /// content.
    fn end_marker(&mut self, events: &mut VecDeque<ModelEvent>) -> Result<Progress, ModelError> {
        let stop = match self.stop {
            Some(stop) => stop,
            None if self.has_content && !self.last_was_malformed => {
                self.close(events);
                self.complete_stop()
            }
            None => return Err(self.incomplete("the response ended without a finish_reason")),
        };
        events.push_back(ModelEvent::Stop(stop));
        Ok(Progress::Done)
    }

    /// Reads an error whose fields are not wrapped in `error`, as older versions of vLLM send it.
    fn bare_error(&self, data: &str) -> Option<ModelError> {
        let document = serde_json::from_str(data).ok()?;
        let secret = self.endpoint.secret();
        document_error(&self.endpoint.provider, &document, secret.as_deref())
    }

    fn incomplete(&self, cause: &str) -> ModelError {
        broke_off(&self.endpoint.provider, cause, self.skipped)
    }
}

impl OpenCall {
    /// Returns whether a delta with this name, and without an id, begins another call. Some servers
    /// repeat the name in every delta.
    fn is_followed_by(&self, name: &str) -> bool {
        match &self.name {
            _ if name.is_empty() => false,
            Some(known) if known == name => self.arguments.is_complete(),
            Some(_) => true,
            None => false,
        }
    }

    fn start(&mut self, name: String, events: &mut VecDeque<ModelEvent>) {
        self.name = Some(name.clone());
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

/// Counts the braces of arguments as they arrive.
#[derive(Default)]
struct Completeness {
    depth: u32,
    has_begun: bool,
    in_string: bool,
    escaped: bool,
}

impl Completeness {
    fn add(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if std::mem::take(&mut self.escaped) => {}
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' => {
                    self.has_begun = true;
                    self.depth += 1;
                }
                b'}' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.has_begun && self.depth == 0
    }
}

impl Decoder for OpenAiDecoder {
    fn buffered_bytes(&self) -> usize {
        self.kept
    }

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
            return self.end_marker(events);
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
        let usage = chunk.usage();
        let error = chunk.error();
        if chunk.choice.is_none()
            && usage.is_none()
            && error.is_none()
            && let Some(error) = self.bare_error(data)
        {
            return Err(error);
        }
        // Content and usage next to an error are reported before it.
        let chosen = match chunk.choice {
            Some(choice) => self.choice(choice, events),
            None => Ok(()),
        };
        if let Some(usage) = usage {
            events.push_back(ModelEvent::Usage(usage));
        }
        if let Some(error) = error {
            return Err(ErrorObject::parse(error.get()).into_error(&self.endpoint));
        }
        chosen?;
        Ok(Progress::More)
    }

    fn end(
        &mut self,
        cut: Option<&str>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        // After a finish_reason only counts and the end marker follow: the response itself is
        // complete.
        match self.stop {
            Some(stop) if !self.last_was_malformed => {
                events.push_back(ModelEvent::Stop(stop));
                Ok(())
            }
            _ => Err(self.incomplete(cut.unwrap_or("the response ended without a finish_reason"))),
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

/// What a `finish_reason` means.
enum Finish {
    /// The model finished its response.
    Complete,
    Stopped(StopReason),
    Failed,
}

/// Interprets a reason as compatible servers, and the servers behind them, write it. OpenAI,
/// Mistral, DeepSeek, Zhipu and vLLM each document a list.
fn finish(reason: &str) -> Finish {
    match reason.to_ascii_lowercase().as_str() {
        "length"
        | "max_tokens"
        | "max_output_tokens"
        | "max_completion_tokens"
        | "model_length"
        | "model_context_window_exceeded"
        | "context_length_exceeded" => Finish::Stopped(StopReason::Length),
        "content_filter"
        | "content_filtered"
        | "refusal"
        | "safety"
        | "recitation"
        | "blocklist"
        | "prohibited_content"
        | "spii"
        | "sensitive"
        | "guardrail_intervened" => Finish::Stopped(StopReason::Refused),
        "error"
        | "abort"
        | "aborted"
        | "cancelled"
        | "network_error"
        | "insufficient_system_resource"
        | "malformed_function_call"
        | "unexpected_tool_call" => Finish::Failed,
        // stop, tool_calls, function_call, eos, stop_sequence, end_turn, and future values.
        _ => Finish::Complete,
    }
}

#[cfg(test)]
mod tests;
