//! Calls of tools that need someone's permission, as forms for the client's user.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::{Value, json};
use zot_sdk::{Decision, Remember, ToolCall};

use crate::elicitation::{Answer, Kind, Question};

/// How much of a preview the client's user gets to see.
///
/// Limit: the rest of the preview is left out, with a note.
const MAX_PREVIEW_BYTES: usize = 4 * 1024;

const FIELD: &str = "allow";
const THIS_CALL: &str = "this call";
const THIS_TOOL: &str = "every call of this tool";
const EVERYTHING: &str = "every call";

/// What the model reads when the client cannot ask its user.
pub(crate) const CANNOT_ASK: &str = "refused: the user wants to confirm calls of this tool, but the MCP client \
     cannot ask (it has no elicitation). Do not try again: continue without the call, or describe what it would \
     have done";

/// Returns the question whether a call of the agent may run.
pub(crate) fn question(call: &ToolCall, preview: Option<&str>, patience: Duration) -> Question {
    let what = preview.map_or_else(
        || call.arguments.json_or_empty().to_owned(),
        ToOwned::to_owned,
    );
    Question {
        message: message(&call.name, &what),
        kind: Kind::Form(json!({
            "type": "object",
            "properties": {
                FIELD: {
                    "type": "string",
                    "title": "Allow",
                    "description": "Which calls are allowed, until the answer is there",
                    "enum": [THIS_CALL, THIS_TOOL, EVERYTHING],
                    "default": THIS_CALL,
                },
            },
        })),
        patience,
    }
}

/// Returns the question whether a single call may run.
pub(crate) fn single_question(tool: &str, what: &str, patience: Duration) -> Question {
    Question {
        message: message(tool, what),
        kind: Kind::Form(json!({"type": "object", "properties": {}})),
        patience,
    }
}

fn message(tool: &str, what: &str) -> String {
    let shown = &what[..what.floor_char_boundary(MAX_PREVIEW_BYTES)];
    let note = match shown.len() == what.len() {
        true => String::new(),
        false => format!("\n[{} more bytes]", what.len() - shown.len()),
    };
    format!("zot wants to run {tool}:\n{shown}{note}")
}

pub(crate) fn decision(answer: &Answer) -> Decision {
    match answer {
        Answer::Accept(content) => {
            let remember = match content.get(FIELD).and_then(Value::as_str) {
                Some(THIS_TOOL) => Remember::Tool,
                Some(EVERYTHING) => Remember::Session,
                _ => Remember::Call,
            };
            Decision::allow().remembered(remember)
        }
        Answer::Decline => Decision::deny("refused by the user"),
        Answer::Cancel => Decision::deny("refused: the user did not decide"),
        Answer::Unavailable => Decision::deny(CANNOT_ASK),
    }
}
