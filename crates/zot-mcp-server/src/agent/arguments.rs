//! The arguments of `zot` and `zot_reply`.

use serde::Deserialize;
use serde_json::{Value, json};
use zot_sdk::ReasoningEffort;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartArguments {
    pub(super) prompt: String,
    pub(super) cwd: Option<String>,
    pub(super) model: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) max_steps: Option<u64>,
    pub(super) max_cost_usd: Option<f64>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReplyArguments {
    pub(super) session_id: String,
    pub(super) prompt: String,
    pub(super) model: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) max_steps: Option<u64>,
    pub(super) max_cost_usd: Option<f64>,
}

pub(super) fn start_schema() -> Value {
    schema(
        &["prompt"],
        &[
            (
                "prompt",
                json!({"type": "string", "description": "The task, with everything the agent has to know"}),
            ),
            (
                "cwd",
                json!({"type": "string", "description": "The directory to work in; the server's own if not given"}),
            ),
        ],
    )
}

pub(super) fn reply_schema() -> Value {
    schema(
        &["session_id", "prompt"],
        &[
            (
                "session_id",
                json!({"type": "string", "description": "The session_id of an earlier result"}),
            ),
            (
                "prompt",
                json!({"type": "string", "description": "The next message to the agent"}),
            ),
        ],
    )
}

fn schema(required: &[&str], own: &[(&str, Value)]) -> Value {
    let mut properties = serde_json::Map::new();
    for (name, property) in own {
        properties.insert((*name).to_owned(), property.clone());
    }
    let efforts: Vec<&str> = ReasoningEffort::ALL
        .iter()
        .map(|effort| effort.as_str())
        .collect();
    let common = [
        (
            "model",
            json!({"type": "string", "description": "The model, as `zot --list-models` names it; the server's default if not given"}),
        ),
        (
            "reasoning",
            json!({"type": "string", "enum": efforts, "description": "How hard a reasoning model thinks"}),
        ),
        (
            "max_steps",
            json!({"type": "integer", "minimum": 1, "description": "The most model calls for this prompt"}),
        ),
        (
            "max_cost_usd",
            json!({"type": "number", "minimum": 0, "description": "The most this prompt may cost, in US dollars"}),
        ),
    ];
    for (name, property) in common {
        properties.insert(name.to_owned(), property);
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
