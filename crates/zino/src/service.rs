//! What a service is: something that answers one request with one or more frames.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_conversation::BoxFuture;

use crate::kind::ServiceKind;
use crate::lenient;
use crate::logging::Log;

/// A request, or the fields of an answer.
pub type Object = Map<String, Value>;

/// How many frames of an answer may wait for a caller before the service does.
///
/// Limit: the service waits for the reader.
pub(crate) const ANSWER_QUEUE_LENGTH: usize = 64;

/// Answers requests.
pub trait Service: Send + Sync {
    fn kind(&self) -> ServiceKind;

    /// Answers one request. Dropping the future gives the request up: whatever it started elsewhere
    /// ends with it.
    fn handle(&self, request: Object, answers: Answers) -> BoxFuture<'_, ()>;

    /// Done once at the start, on a thread of its own, beside the first requests, and given up when
    /// `stop` fires.
    fn prepare(&self, _log: Log, _stop: &CancellationToken) {}

    /// Reads what it has from disk again.
    fn reload(&self) -> Result<(), String> {
        Ok(())
    }
}

/// One frame of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A piece of text.
    Chunk(String),
    /// The end of a text that came in pieces.
    Done {
        full_text: String,
        iterations: Option<u64>,
    },
    /// Anything else, its `type` included.
    Message(Object),
}

impl Answer {
    pub fn message(value: Value) -> Self {
        match value {
            Value::Object(object) => Self::Message(object),
            other => Self::Message(Object::from_iter([("value".to_owned(), other)])),
        }
    }

    pub fn error(message: impl Into<String>) -> Self {
        Self::message(json!({ "type": "error", "message": message.into() }))
    }

    /// What an error answer says.
    pub fn error_message(&self) -> Option<&str> {
        match self {
            Self::Message(object) if object.get("type").is_some_and(|kind| kind == "error") => {
                object.get("message").and_then(Value::as_str).or(Some(""))
            }
            _ => None,
        }
    }

    /// From the wire. Chunks and ends that lack their text are messages like others.
    pub fn from_object(mut object: Object) -> Self {
        let kind = object.get("type").and_then(Value::as_str).unwrap_or("");
        match kind {
            "chunk" if object.get("delta").is_some_and(Value::is_string) => {
                match object.remove("delta") {
                    Some(Value::String(delta)) => Self::Chunk(delta),
                    _ => Self::Message(object),
                }
            }
            "done" if object.get("full_text").is_some_and(Value::is_string) => {
                let iterations = object.get("iterations").and_then(Value::as_u64);
                match object.remove("full_text") {
                    Some(Value::String(full_text)) => Self::Done {
                        full_text,
                        iterations,
                    },
                    _ => Self::Message(object),
                }
            }
            _ => Self::Message(object),
        }
    }
}

impl Serialize for Answer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Chunk(delta) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("type", "chunk")?;
                map.serialize_entry("delta", delta)?;
                map.end()
            }
            Self::Done {
                full_text,
                iterations,
            } => {
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("type", "done")?;
                map.serialize_entry("full_text", full_text)?;
                if let Some(iterations) = iterations {
                    map.serialize_entry("iterations", iterations)?;
                }
                map.end()
            }
            Self::Message(object) => object.serialize(serializer),
        }
    }
}

/// Where a service puts its answer.
#[derive(Debug, Clone)]
pub struct Answers(mpsc::Sender<Answer>);

/// Nobody waits for the answer any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the caller has hung up")]
pub struct HungUp;

impl Answers {
    pub fn channel() -> (Self, mpsc::Receiver<Answer>) {
        let (sender, receiver) = mpsc::channel(ANSWER_QUEUE_LENGTH);
        (Self(sender), receiver)
    }

    /// Adds a frame, waiting while the caller is behind.
    pub async fn send(&self, answer: Answer) -> Result<(), HungUp> {
        self.0.send(answer).await.map_err(|_| HungUp)
    }

    /// Adds the last frame; nobody minds if the caller has gone.
    pub async fn finish(&self, answer: Answer) {
        let _ = self.0.send(answer).await;
    }
}

/// Whether an answer is wanted in pieces. Whatever counts as true in Python does, as in the
/// original.
pub(crate) fn wants_stream(request: &Object) -> bool {
    request.get("stream").is_some_and(lenient::is_true)
}

/// The channel of a request to the daemon or `ctx`. The original answers whatever it is, but only a
/// text leads to a history there; a number is taken for its text, so that its history is kept.
pub(crate) fn channel_id(request: &Object) -> Option<String> {
    match request.get("channel_id") {
        Some(Value::String(channel)) => Some(channel.clone()).filter(|id| !id.is_empty()),
        Some(number @ Value::Number(_)) if lenient::is_true(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A number of a request, if it is given.
pub(crate) fn number(request: &Object, name: &str) -> Result<Option<f64>, String> {
    match request.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match lenient::number(value) {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{name} must be a number")),
        },
    }
}

/// The answer to a `type` a service does not know.
pub fn unknown_type(request: &Object) -> Answer {
    // As Python prints it; what is not there is None.
    let kind = request.get("type").unwrap_or(&Value::Null);
    let kind = lenient::shown(kind).unwrap_or_else(|| kind.to_string());
    Answer::error(format!("Unknown message type: {kind}"))
}
