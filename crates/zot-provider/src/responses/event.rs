//! The fields of the events.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::error::ErrorObject;
use crate::lenient;

/// Every field of the events that are used. A tagged enum would make serde copy each event before
/// reading it.
#[derive(Deserialize)]
pub(super) struct WireEvent<'a> {
    #[serde(rename = "type")]
    pub(super) kind: EventKind,
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) output_index: Option<u64>,
    #[serde(default, borrow, deserialize_with = "lenient::string")]
    pub(super) delta: Option<Cow<'a, str>>,
    #[serde(default, borrow, deserialize_with = "lenient::string")]
    pub(super) arguments: Option<Cow<'a, str>>,
    // Boxed because they are rare, and every event is moved several times while it is read.
    #[serde(default, deserialize_with = "lenient::optional")]
    pub(super) item: Option<Box<WireItem>>,
    #[serde(default, borrow, deserialize_with = "lenient::optional")]
    pub(super) response: Option<Box<WireResponse<'a>>>,
    /// Present next to an error that belongs to no response.
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
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
    #[serde(rename = "response.completed", alias = "response.done")]
    Completed,
    #[serde(rename = "response.incomplete")]
    Incomplete,
    #[serde(rename = "response.failed", alias = "response.cancelled")]
    Failed,
    #[serde(rename = "error", alias = "response.error")]
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
    #[serde(default, deserialize_with = "lenient::optional")]
    pub(super) phase: Option<String>,
    #[serde(default, deserialize_with = "lenient::list")]
    pub(super) summary: Vec<WirePart>,
    #[serde(default, deserialize_with = "lenient::list")]
    pub(super) content: Vec<WirePart>,
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
pub(super) struct WireResponse<'a> {
    #[serde(default, deserialize_with = "lenient::optional")]
    pub(super) error: Option<ErrorObject>,
    #[serde(default, borrow, deserialize_with = "lenient::string")]
    pub(super) status: Option<Cow<'a, str>>,
    #[serde(default, deserialize_with = "lenient::optional")]
    pub(super) incomplete_details: Option<IncompleteDetails>,
    #[serde(borrow)]
    pub(super) usage: Option<&'a RawValue>,
    /// All items again, complete.
    #[serde(default, deserialize_with = "lenient::list")]
    pub(super) output: Vec<WireItem>,
}

#[derive(Deserialize)]
pub(super) struct IncompleteDetails {
    pub(super) reason: Option<String>,
}
