//! The shape of the events.

use std::borrow::Cow;

use serde::Deserialize;
use zot_conversation::Usage;

use super::error::ErrorObject;

/// Every field the events in use have. A tagged enum would make serde copy each event before
/// reading it.
#[derive(Deserialize)]
pub(super) struct WireEvent<'a> {
    #[serde(rename = "type")]
    pub(super) kind: EventKind,
    pub(super) output_index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) arguments: Option<Cow<'a, str>>,
    // Boxed because they are rare, and every event is moved several times while it is read.
    pub(super) item: Option<Box<WireItem>>,
    pub(super) response: Option<Box<WireResponse>>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventKind {
    #[serde(rename = "response.output_item.added")]
    ItemAdded,
    #[serde(rename = "response.output_item.done")]
    ItemDone,
    #[serde(
        rename = "response.output_text.delta",
        alias = "response.refusal.delta"
    )]
    TextDelta,
    #[serde(
        rename = "response.reasoning_summary_text.delta",
        alias = "response.reasoning_text.delta"
    )]
    ReasoningDelta,
    #[serde(rename = "response.reasoning_summary_part.added")]
    ReasoningPartAdded,
    #[serde(rename = "response.function_call_arguments.delta")]
    ArgumentsDelta,
    #[serde(rename = "response.function_call_arguments.done")]
    ArgumentsDone,
    #[serde(rename = "response.completed")]
    Completed,
    #[serde(rename = "response.incomplete")]
    Incomplete,
    #[serde(rename = "response.failed", alias = "response.cancelled")]
    Failed,
    #[serde(rename = "error")]
    Error,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
pub(super) struct WireItem {
    #[serde(rename = "type")]
    pub(super) kind: ItemKind,
    pub(super) id: Option<String>,
    pub(super) call_id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: Option<String>,
    pub(super) encrypted_content: Option<String>,
    pub(super) summary: Option<Vec<WirePart>>,
    pub(super) content: Option<Vec<WirePart>>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
pub(super) enum ItemKind {
    Message,
    FunctionCall,
    Reasoning,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
pub(super) struct WirePart {
    pub(super) text: Option<String>,
    pub(super) refusal: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WireResponse {
    pub(super) error: Option<ErrorObject>,
    pub(super) incomplete_details: Option<IncompleteDetails>,
    pub(super) usage: Option<WireUsage>,
}

#[derive(Deserialize)]
pub(super) struct IncompleteDetails {
    pub(super) reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WireUsage {
    pub(super) input_tokens: Option<u64>,
    pub(super) output_tokens: Option<u64>,
    pub(super) input_tokens_details: Option<InputDetails>,
}

#[derive(Deserialize)]
pub(super) struct InputDetails {
    pub(super) cached_tokens: Option<u64>,
}

impl WireUsage {
    pub(super) fn usage(&self) -> Usage {
        let input = self.input_tokens.unwrap_or_default();
        let details = self.input_tokens_details.as_ref();
        let cached = details
            .and_then(|details| details.cached_tokens)
            .unwrap_or_default()
            .min(input);
        Usage {
            input: input - cached,
            output: self.output_tokens.unwrap_or_default(),
            cache_read: cached,
            ..Usage::default()
        }
    }
}
