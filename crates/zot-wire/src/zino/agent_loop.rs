//! `agr`: asks the model, runs the tools it calls, and asks again.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::lenient::Plain;
use super::response::{failure_variant, write_chunk, write_done, write_fields};
use super::router::Sampling;
use super::{Failure, Frame, Message, RequestError};

#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Run(Run),
}

/// A conversation for the loop to answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Run {
    pub messages: Vec<Message>,
    pub sampling: Sampling,
    /// How many model calls are allowed; if absent, as configured.
    pub max_iterations: Option<u64>,
    /// Whether the response is streamed.
    pub stream: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    Chunk(String),
    Done {
        full_text: String,
        iterations: Option<u64>,
    },
    Result {
        content: String,
        iterations: Option<u64>,
    },
    Error(Failure),
    Other(Value),
}

impl super::Request for Request {
    type Response = Response;

    const SERVICE: &'static str = "agr";

    fn read(mut frame: Frame) -> Result<Self, RequestError> {
        if frame.type_name() != Some("run") {
            return Err(frame.unknown_type());
        }
        Ok(Self::Run(Run {
            stream: frame.wants_stream(),
            max_iterations: max_iterations(&frame)?,
            messages: frame.message_list("an array")?,
            sampling: Sampling::read(&frame)?,
        }))
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Run(_) => "run",
        }
    }
}

fn max_iterations(frame: &Frame) -> Result<Option<u64>, RequestError> {
    match frame.field("max_iterations") {
        None | Some(Value::Null) => Ok(None),
        Some(given) => Plain::from(given)
            .integer()
            .and_then(|given| u64::try_from(given).ok())
            .filter(|given| *given > 0)
            .map(Some)
            .ok_or(RequestError::wrong(
                "max_iterations",
                "a whole number above 0",
            )),
    }
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let Self::Run(run) = self;
        let mut map = serializer.serialize_map(None)?;
        if let Some(max_iterations) = run.max_iterations {
            map.serialize_entry("max_iterations", &max_iterations)?;
        }
        map.serialize_entry("messages", &run.messages)?;
        map.serialize_entry("stream", &run.stream)?;
        if let Some(temperature) = run.sampling.temperature {
            map.serialize_entry("temperature", &temperature)?;
        }
        if let Some(top_p) = run.sampling.top_p {
            map.serialize_entry("top_p", &top_p)?;
        }
        map.serialize_entry("type", "run")?;
        map.end()
    }
}

impl super::Response for Response {
    fn read(mut frame: Frame) -> Self {
        let iterations = frame.field("iterations").and_then(Value::as_u64);
        match frame.type_name() {
            Some("chunk") if frame.text("delta").is_some() => {
                Self::Chunk(frame.take_text("delta").unwrap_or_default())
            }
            Some("done") if frame.text("full_text").is_some() => Self::Done {
                full_text: frame.take_text("full_text").unwrap_or_default(),
                iterations,
            },
            // The original's daemon accepts both.
            Some("result" | "response") if frame.text("content").is_some() => Self::Result {
                content: frame.take_text("content").unwrap_or_default(),
                iterations,
            },
            Some("error") => Self::Error(Failure::read(frame)),
            _ => Self::Other(frame.into()),
        }
    }

    failure_variant!();
}

impl Serialize for Response {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Chunk(delta) => write_chunk(serializer, delta),
            Self::Done {
                full_text,
                iterations,
            } => write_done(serializer, full_text, *iterations, None),
            Self::Result {
                content,
                iterations,
            } => write_fields!(
                serializer, "content": content, "iterations": iterations, "type": "result",
            ),
            Self::Error(failure) => failure.serialize(serializer),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}
