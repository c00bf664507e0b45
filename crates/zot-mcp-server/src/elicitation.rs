//! Questions for the client's user.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::{Map, Value, json};
use zot_mcp::version::Era;

use crate::request::ClientAbilities;

/// A question for the client's user.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) message: String,
    pub(crate) kind: Kind,
    /// How long the user may take.
    pub(crate) patience: Duration,
}

/// How a question is answered.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// With a form, described by a flat JSON Schema.
    Form(Value),
    /// At an address.
    Url(String),
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
    /// Returns whether a client can put the question to its user.
    pub(crate) fn suits(&self, abilities: ClientAbilities) -> bool {
        match self.kind {
            Kind::Form(_) => abilities.elicits,
            Kind::Url(_) => abilities.opens_urls,
        }
    }

    /// Returns the parameters of `elicitation/create`; `id` names the question.
    pub(crate) fn params(&self, era: Era, id: &str) -> Value {
        match (&self.kind, era) {
            // No mode means a form, and revisions before 2025-11-25 know no modes.
            (Kind::Form(schema), _) => {
                json!({"message": self.message, "requestedSchema": schema})
            }
            (Kind::Url(url), Era::Modern) => {
                json!({"mode": "url", "message": self.message, "url": url})
            }
            (Kind::Url(url), Era::Legacy) => {
                json!({"mode": "url", "message": self.message, "url": url, "elicitationId": id})
            }
        }
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
