//! Decodes responses: chunks of whole parts. The wire has no end marker; the chunk with a finish
//! reason is the last one that matters.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use zot_conversation::{ModelError, ModelEvent, Reasoning, StopReason, ToolCallId, Usage};

use super::SERVER_ID_MARK;
use super::error::ErrorObject;
use crate::call::{Decoder, Progress, generated_id};
use crate::endpoint::Endpoint;
use crate::error::{broke_off, stream_error};
use crate::lenient;
use crate::sse::SseEvent;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow, default, deserialize_with = "lenient::list")]
    candidates: Vec<Candidate<'a>>,
    #[serde(default, deserialize_with = "lenient::optional")]
    usage_metadata: Option<WireUsage>,
    #[serde(default, deserialize_with = "lenient::optional")]
    prompt_feedback: Option<PromptFeedback>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow, default, deserialize_with = "lenient::optional")]
    content: Option<Content<'a>>,
    #[serde(borrow, default, deserialize_with = "lenient::string")]
    finish_reason: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "lenient::string")]
    finish_message: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow, default, deserialize_with = "lenient::list")]
    parts: Vec<Part<'a>>,
}

/// Parts of the provider's own tools and media have none of these fields and are skipped.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(borrow, default, deserialize_with = "lenient::string")]
    text: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "lenient::optional")]
    thought: Option<bool>,
    #[serde(alias = "thought_signature")]
    thought_signature: Option<String>,
    #[serde(borrow, default, deserialize_with = "lenient::optional")]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
    id: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireUsage {
    #[serde(default, deserialize_with = "lenient::count")]
    prompt_token_count: Option<u64>,
    /// The results of the provider's own tools, which count as input in addition to the prompt.
    #[serde(default, deserialize_with = "lenient::count")]
    tool_use_prompt_token_count: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    cached_content_token_count: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    candidates_token_count: Option<u64>,
    #[serde(default, deserialize_with = "lenient::count")]
    thoughts_token_count: Option<u64>,
}

impl WireUsage {
    fn usage(&self) -> Usage {
        let prompt = self
            .prompt_token_count
            .unwrap_or_default()
            .saturating_add(self.tool_use_prompt_token_count.unwrap_or_default());
        let cached = self
            .cached_content_token_count
            .unwrap_or_default()
            .min(prompt);
        let response = self.candidates_token_count.unwrap_or_default();
        Usage {
            input: prompt - cached,
            output: response.saturating_add(self.thoughts_token_count.unwrap_or_default()),
            cache_read: cached,
            ..Usage::default()
        }
    }
}

pub(super) struct GeminiDecoder {
    endpoint: Arc<Endpoint>,
    thinking: String,
    called_tools: bool,
    usage: Usage,
    stop: Option<StopReason>,
    /// Events that were not JSON, and whether a good one came after them.
    skipped: u64,
    last_was_malformed: bool,
}

impl GeminiDecoder {
    pub(super) fn new(endpoint: Arc<Endpoint>) -> Self {
        Self {
            endpoint,
            thinking: String::new(),
            called_tools: false,
            usage: Usage::default(),
            stop: None,
            skipped: 0,
            last_was_malformed: false,
        }
    }

    fn part(&mut self, part: Part<'_>, events: &mut VecDeque<ModelEvent>) {
        let signature = part.thought_signature.filter(|text| !text.is_empty());
        if let Some(call) = part.function_call {
            self.close_thinking(None, events);
            self.call(call, signature, events);
            return;
        }
        let text = part.text.unwrap_or_default();
        if part.thought == Some(true) {
            if !text.is_empty() {
                self.thinking.push_str(&text);
                events.push_back(ModelEvent::ThinkingDelta(text.into_owned()));
            }
            if signature.is_some() {
                self.close_thinking(signature, events);
            }
            return;
        }
        if text.is_empty() && signature.is_none() {
            return;
        }
        self.close_thinking(None, events);
        if !text.is_empty() {
            events.push_back(ModelEvent::TextDelta(text.into_owned()));
        }
        if signature.is_some() {
            events.push_back(ModelEvent::Reasoning(Reasoning {
                encrypted: signature,
                ..self.reasoning()
            }));
        }
    }

    fn call(
        &mut self,
        call: FunctionCall<'_>,
        signature: Option<String>,
        events: &mut VecDeque<ModelEvent>,
    ) {
        self.called_tools = true;
        let id = match call.id.filter(|id| !id.is_empty()) {
            Some(id) => ToolCallId::from(format!("{SERVER_ID_MARK}{id}")),
            None => generated_id(),
        };
        if signature.is_some() {
            // The signature belongs to the call: the request puts it back there.
            events.push_back(ModelEvent::Reasoning(Reasoning {
                encrypted: signature,
                id: Some(id.as_str().to_owned()),
                ..self.reasoning()
            }));
        }
        events.push_back(ModelEvent::ToolCallStart {
            id: id.clone(),
            name: call.name,
        });
        if let Some(arguments) = call.args.filter(|arguments| arguments.get() != "null") {
            events.push_back(ModelEvent::ToolCallArguments {
                id: id.clone(),
                delta: arguments.get().to_owned(),
            });
        }
        events.push_back(ModelEvent::ToolCallEnd { id });
    }

    fn close_thinking(&mut self, signature: Option<String>, events: &mut VecDeque<ModelEvent>) {
        if self.thinking.is_empty() && signature.is_none() {
            return;
        }
        events.push_back(ModelEvent::Reasoning(Reasoning {
            text: std::mem::take(&mut self.thinking),
            signature,
            ..self.reasoning()
        }));
    }

    fn reasoning(&self) -> Reasoning {
        Reasoning {
            provider: self.endpoint.provider.clone(),
            ..Reasoning::default()
        }
    }

    fn finish(&mut self, reason: &str, message: Option<&str>) -> Result<(), ModelError> {
        let stop = match reason {
            "MAX_TOKENS" => StopReason::Length,
            "SAFETY"
            | "RECITATION"
            | "LANGUAGE"
            | "BLOCKLIST"
            | "PROHIBITED_CONTENT"
            | "SPII"
            | "IMAGE_SAFETY"
            | "MODEL_ARMOR"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION" => StopReason::Refused,
            "MALFORMED_FUNCTION_CALL"
            | "UNEXPECTED_TOOL_CALL"
            | "TOO_MANY_TOOL_CALLS"
            | "MISSING_THOUGHT_SIGNATURE"
            | "MALFORMED_RESPONSE"
            | "OTHER" => {
                let separator = message.map_or("", |_| ": ");
                let message = message.unwrap_or_default();
                let cause = format_args!("the response ended with {reason}{separator}{message}");
                return Err(stream_error(&self.endpoint.provider, cause));
            }
            // STOP, and future values.
            _ if self.called_tools => StopReason::ToolUse,
            _ => StopReason::End,
        };
        self.stop = Some(stop);
        Ok(())
    }
}

impl Decoder for GeminiDecoder {
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
        let chunk = str::from_utf8(event.data)
            .ok()
            .and_then(|data| serde_json::from_str::<Chunk<'_>>(data).ok());
        let Some(chunk) = chunk else {
            self.skipped += 1;
            self.last_was_malformed = true;
            return Ok(Progress::More);
        };
        self.last_was_malformed = false;
        // We never request more than one.
        let candidate = chunk.candidates.into_iter().next();
        let (content, reason, message) = match candidate {
            Some(candidate) => (
                candidate.content,
                candidate.finish_reason,
                candidate.finish_message,
            ),
            None => (None, None, None),
        };
        for part in content.into_iter().flat_map(|content| content.parts) {
            self.part(part, events);
        }
        if let Some(usage) = chunk.usage_metadata.map(|usage| usage.usage())
            && usage != self.usage
        {
            self.usage = usage;
            events.push_back(ModelEvent::Usage(usage));
        }
        // Content and usage next to an error are reported before it.
        if let Some(error) = chunk.error {
            return Err(ErrorObject::parse(error.get()).into_error(&self.endpoint));
        }
        if let Some(reason) = reason.filter(|reason| reason != "FINISH_REASON_UNSPECIFIED") {
            self.close_thinking(None, events);
            self.finish(&reason, message.as_deref())?;
        }
        if chunk
            .prompt_feedback
            .is_some_and(|feedback| feedback.block_reason.is_some())
        {
            self.stop = Some(StopReason::Refused);
        }
        Ok(Progress::More)
    }

    fn end(
        &mut self,
        cut: Option<&str>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        match self.stop {
            Some(stop) if !self.last_was_malformed => {
                events.push_back(ModelEvent::Stop(stop));
                Ok(())
            }
            _ => {
                let cause = cut.unwrap_or("the response ended without a finishReason");
                Err(broke_off(&self.endpoint.provider, cause, self.skipped))
            }
        }
    }
}

#[cfg(test)]
mod tests;
