//! The JSON object in a frame, before its service decodes it.

#[cfg(test)]
mod tests;

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Value};

use super::lenient::Plain;
use super::{Messages, RequestError};
use crate::json::replace_lone_surrogates;

/// The fields of one frame; the last of several with the same name wins.
///
/// `messages` may be long and is decoded directly into shared messages; the others stay values, because
/// each service accepts other types.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Frame {
    fields: Map<String, Value>,
    messages: Option<Messages>,
}

impl Frame {
    /// Parses a frame's object. Python also writes lone surrogates, which no string can hold: each becomes
    /// U+FFFD.
    pub fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(bytes).or_else(|error| match error.classify() {
            Category::Syntax | Category::Eof => {
                let Ok(text) = std::str::from_utf8(bytes) else {
                    return Err(error);
                };
                serde_json::from_str(&replace_lone_surrogates(text))
            }
            Category::Data | Category::Io => Err(error),
        })
    }

    /// The `type`, if it is a string.
    pub fn type_name(&self) -> Option<&str> {
        self.text("type")
    }

    /// A field that is a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name).and_then(Value::as_str)
    }

    /// Whether a streamed response is requested: any value that is true in Python.
    pub fn wants_stream(&self) -> bool {
        let stream = self.fields.get("stream");
        stream.is_some_and(|value| Plain::from(value).is_true())
    }

    pub(super) fn field(&self, name: &str) -> Option<&Value> {
        self.fields.get(name)
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.fields.remove(name)
    }

    pub(super) fn take_text(&mut self, name: &str) -> Option<String> {
        match self.fields.remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn take_messages(&mut self) -> Option<Messages> {
        self.messages.take()
    }

    /// Returns the list in `messages`; `expected` describes it in the error for other types.
    pub(super) fn message_list(
        &mut self,
        expected: &'static str,
    ) -> Result<Vec<super::Message>, RequestError> {
        match self.messages.take() {
            None | Some(Messages::Other(Value::Null)) => Ok(Vec::new()),
            Some(Messages::List(messages)) => Ok(messages),
            Some(Messages::Other(_)) => Err(RequestError::wrong("messages", expected)),
        }
    }

    /// Decodes a string; absent and `null` count as empty.
    pub(super) fn string_or_empty(&mut self, name: &'static str) -> Result<String, RequestError> {
        match self.fields.remove(name) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(RequestError::wrong(name, "a string")),
        }
    }

    pub(super) fn integer(&self, name: &'static str) -> Result<Option<i64>, RequestError> {
        match self.fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match Plain::from(value).integer() {
                Some(integer) => Ok(Some(integer)),
                None => Err(RequestError::wrong(name, "a whole number")),
            },
        }
    }

    pub(super) fn number(&self, name: &'static str) -> Result<Option<f64>, RequestError> {
        match self.fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match Plain::from(value).number() {
                Some(number) => Ok(Some(number)),
                None => Err(RequestError::wrong(name, "a number")),
            },
        }
    }

    /// The channel of a request to the daemon or `ctx`. The original accepts any value, but only a string
    /// has a history there; here a number counts as its text, so that it has one too.
    pub(super) fn channel_id(&self) -> Option<String> {
        match self.fields.get("channel_id") {
            Some(Value::String(channel)) => Some(channel.clone()).filter(|id| !id.is_empty()),
            Some(number @ Value::Number(_)) if Plain::from(number).is_true() => {
                Some(number.to_string())
            }
            _ => None,
        }
    }

    /// The error for a `type` that the service does not know.
    pub(super) fn unknown_type(&self) -> RequestError {
        // As Python prints it; a missing one is None.
        let kind = self.fields.get("type").unwrap_or(&Value::Null);
        let shown = Plain::from(kind).shown();
        RequestError::UnknownType(shown.unwrap_or_else(|| kind.to_string()))
    }
}

impl From<Frame> for Value {
    fn from(frame: Frame) -> Self {
        let mut fields = frame.fields;
        if let Some(messages) = frame.messages {
            fields.insert("messages".to_owned(), messages.into());
        }
        Self::Object(fields)
    }
}

impl From<Map<String, Value>> for Frame {
    fn from(mut fields: Map<String, Value>) -> Self {
        let messages = fields.remove("messages").map(Messages::from);
        Self { fields, messages }
    }
}

impl<'de> Deserialize<'de> for Frame {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FrameVisitor;

        impl<'de> Visitor<'de> for FrameVisitor {
            type Value = Frame;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Frame, A::Error> {
                let mut frame = Frame::default();
                while let Some(name) = map.next_key::<String>()? {
                    if name == "messages" {
                        frame.messages = Some(map.next_value()?);
                    } else {
                        frame.fields.insert(name, map.next_value()?);
                    }
                }
                Ok(frame)
            }
        }

        deserializer.deserialize_map(FrameVisitor)
    }
}
