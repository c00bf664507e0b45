//! Questions for the client's user.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::{Map, Value, json};

/// A form for the client's user.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) message: String,
    /// A flat JSON Schema.
    pub(crate) schema: Value,
    /// How long the user may take.
    pub(crate) patience: Duration,
}

/// What the client's user said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Accept(Map<String, Value>),
    Decline,
    /// Dismissed, or the client did not answer.
    Cancel,
    /// The client cannot ask its user.
    Unavailable,
}

impl Question {
    /// Returns the parameters of `elicitation/create`.
    pub(crate) fn params(&self) -> Value {
        // No mode means a form, and revisions before 2025-11-25 know no modes.
        json!({"message": self.message, "requestedSchema": self.schema})
    }
}

impl Answer {
    /// Reads the result of `elicitation/create`; `None` if it is none.
    pub(crate) fn read(result: &Value) -> Option<Self> {
        match result.get("action")?.as_str()? {
            "accept" => match result.get("content") {
                None | Some(Value::Null) => Some(Self::Accept(Map::new())),
                Some(Value::Object(content)) => Some(Self::Accept(content.clone())),
                Some(_) => None,
            },
            "decline" => Some(Self::Decline),
            "cancel" => Some(Self::Cancel),
            _ => None,
        }
    }
}
