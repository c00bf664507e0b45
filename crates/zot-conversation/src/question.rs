//! Questions that a running tool asks a person.

#[cfg(test)]
mod tests;

use std::fmt;
use std::future::ready;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::BoxFuture;

/// Where a running tool asks.
pub trait Questions: Send + Sync {
    /// Waits for an answer. Where nobody can answer, it is declined at once.
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer>;
}

/// Declines every question, for calls that nobody watches.
pub struct NobodyAnswers;

impl Questions for NobodyAnswers {
    fn ask(&self, _question: Question) -> BoxFuture<'_, Answer> {
        Box::pin(ready(Answer::Decline))
    }
}

/// A question of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Who wants to know: the name of an MCP server or an extension.
    pub origin: String,
    pub message: String,
    pub kind: QuestionKind,
}

/// How a question is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionKind {
    /// With the fields of a form: a JSON Schema object whose properties are text, numbers, booleans
    /// and choices.
    Form { schema: JsonObject },
    /// By opening an address, where the person does the rest.
    Url { url: String },
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// With the fields of the form; `None` for an address.
    Accept {
        content: Option<JsonObject>,
    },
    Decline,
    /// Neither: dismissed, aborted, or not answered in time.
    Cancel,
}

/// Names a question until it is answered.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct QuestionId(Arc<str>);

impl QuestionId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for QuestionId {
    fn from(id: &str) -> Self {
        Self(Arc::from(id))
    }
}

impl fmt::Display for QuestionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The text of a JSON object; the order of its fields is the order to show them in.
#[derive(Debug, Clone)]
pub struct JsonObject(Arc<RawValue>);

/// The text is not a JSON object.
#[derive(Debug, thiserror::Error)]
pub enum NotAnObject {
    #[error("expected a JSON object: {0}")]
    Json(#[from] serde_json::Error),
    #[error("expected a JSON object, got another JSON value")]
    Kind,
}

impl JsonObject {
    pub fn parse(text: &str) -> Result<Self, NotAnObject> {
        Self::try_from(serde_json::from_str::<&RawValue>(text.trim())?)
    }

    pub fn as_raw(&self) -> &RawValue {
        &self.0
    }

    pub fn as_str(&self) -> &str {
        self.0.get()
    }
}

impl TryFrom<&RawValue> for JsonObject {
    type Error = NotAnObject;

    fn try_from(raw: &RawValue) -> Result<Self, NotAnObject> {
        match raw.get().starts_with('{') {
            true => Ok(Self(Arc::from(raw.to_owned()))),
            false => Err(NotAnObject::Kind),
        }
    }
}

impl PartialEq for JsonObject {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}
