//! `rtr`: calls the model.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::lenient::Plain;
use super::response::{failure_variant, write_chunk, write_done, write_fields};
use super::{Failure, Frame, Message, RequestError};

#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    Capabilities,
    Infer(Inference),
}

/// A conversation for the model to continue.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Inference {
    pub messages: Vec<Message>,
    pub sampling: Sampling,
    /// Whether the response is streamed.
    pub stream: bool,
}

/// Sampling parameters; absent ones are left to the model.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    /// The original sends it without a `type`.
    Capabilities {
        streaming: bool,
        model: String,
    },
    Chunk(String),
    Done {
        full_text: String,
    },
    Response {
        content: String,
    },
    Error(Failure),
    Other(Value),
}

impl Sampling {
    pub(super) fn read(frame: &Frame) -> Result<Self, RequestError> {
        Ok(Self {
            temperature: frame.number("temperature")?,
            top_p: frame.number("top_p")?,
        })
    }
}

impl super::Request for Request {
    type Response = Response;

    const SERVICE: &'static str = "rtr";

    fn read(mut frame: Frame) -> Result<Self, RequestError> {
        match frame.type_name() {
            Some("capabilities") => Ok(Self::Capabilities),
            Some("infer") => Ok(Self::Infer(Inference {
                sampling: Sampling::read(&frame)?,
                stream: frame.wants_stream(),
                messages: frame.message_list("an array")?,
            })),
            _ => Err(frame.unknown_type()),
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Capabilities => "capabilities",
            Self::Infer(_) => "infer",
        }
    }
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        if let Self::Infer(inference) = self {
            map.serialize_entry("messages", &inference.messages)?;
            map.serialize_entry("stream", &inference.stream)?;
            if let Some(temperature) = inference.sampling.temperature {
                map.serialize_entry("temperature", &temperature)?;
            }
            if let Some(top_p) = inference.sampling.top_p {
                map.serialize_entry("top_p", &top_p)?;
            }
        }
        map.serialize_entry("type", super::Request::type_name(self))?;
        map.end()
    }
}

impl super::Response for Response {
    fn read(mut frame: Frame) -> Self {
        match frame.type_name() {
            Some("chunk") if frame.text("delta").is_some() => {
                Self::Chunk(frame.take_text("delta").unwrap_or_default())
            }
            Some("done") if frame.text("full_text").is_some() => Self::Done {
                full_text: frame.take_text("full_text").unwrap_or_default(),
            },
            Some("response") if frame.text("content").is_some() => Self::Response {
                content: frame.take_text("content").unwrap_or_default(),
            },
            Some("error") => Self::Error(Failure::read(frame)),
            None if frame.field("streaming").is_some() => Self::Capabilities {
                streaming: frame
                    .field("streaming")
                    .is_some_and(|streaming| Plain::from(streaming).is_true()),
                model: frame.take_text("model").unwrap_or_default(),
            },
            _ => Self::Other(frame.into()),
        }
    }

    failure_variant!();
}

impl Serialize for Response {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Capabilities { streaming, model } => {
                write_fields!(serializer, "model": model, "streaming": streaming)
            }
            Self::Chunk(delta) => write_chunk(serializer, delta),
            Self::Done { full_text } => write_done(serializer, full_text, None, None),
            Self::Response { content } => {
                write_fields!(serializer, "content": content, "type": "response")
            }
            Self::Error(failure) => failure.serialize(serializer),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}
