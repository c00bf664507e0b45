//! What the server reports while a prompt or compaction runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::ContentBlock;
use crate::RawJson;

/// A stream notification. None carries an `id`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The prompt as it was added to the transcript.
    UserMessage {
        content: Vec<ContentBlock>,
        time: String,
    },
    /// One model call begins; `step` counts from 1 within a prompt.
    TurnStart { step: u32 },
    /// The model accepted the request.
    AssistantStart,
    /// A piece of the answer.
    TextDelta { delta: String },
    /// The model begins to write a tool call.
    ToolUseStart { id: String, name: String },
    /// A piece of the call's arguments, as JSON text.
    ToolUseArgs { id: String, delta: String },
    /// The call's arguments are complete.
    ToolUseEnd { id: String },
    /// Tokens and cost of the model call that just ended, and of everything so far.
    Usage {
        input: u64,
        output: u64,
        cache_read: u64,
        cache_write: u64,
        #[serde(serialize_with = "serialize_cost")]
        cost_usd: f64,
        cumulative: CumulativeUsage,
    },
    /// The assistant's message as it was added to the transcript.
    AssistantMessage {
        content: Vec<ContentBlock>,
        time: String,
    },
    /// A call that is about to run.
    ToolCall {
        id: String,
        name: String,
        args: RawJson,
    },
    /// One model call ended. `stop` is `end`, `tool_use`, `length`, `error` or `aborted`.
    TurnEnd {
        stop: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Output of a tool that is still running.
    ToolProgress { id: String, text: String },
    /// A tool finished.
    ToolResult {
        id: String,
        is_error: bool,
        content: Vec<ContentBlock>,
    },
    /// Something went wrong; the process lives on.
    Error { message: String },
    /// A compaction finished.
    CompactDone { summary: String },
    /// The whole prompt is over, well or badly.
    Done,
}

/// Tokens and cost since the process started.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CumulativeUsage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    #[serde(serialize_with = "serialize_cost")]
    pub cost_usd: f64,
}

/// Writes whole numbers without a fraction, as Go does: `0`, not `0.0`.
fn serialize_cost<S: Serializer>(cost: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if cost.fract() == 0.0 && cost.abs() < 1e15 {
        serializer.serialize_i64(*cost as i64)
    } else {
        serializer.serialize_f64(*cost)
    }
}
