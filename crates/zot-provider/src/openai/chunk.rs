//! The shape of one streamed chunk, read leniently and without intermediate values.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use zot_conversation::Usage;

use crate::{lenient, usage};

#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(default, borrow, rename = "choices", deserialize_with = "first")]
    pub(super) choice: Option<Choice<'a>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    /// Where Groq puts the counts.
    #[serde(default, borrow, deserialize_with = "lenient::optional")]
    x_groq: Option<GroqExtras<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct GroqExtras<'a> {
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
}

impl<'a> Chunk<'a> {
    /// Returns the text of a chunk that holds nothing else, borrowed from the chunk.
    pub(super) fn only_text(&self) -> Option<&'a str> {
        let choice = self.choice.as_ref()?;
        let delta = choice.delta.as_ref()?;
        let nothing_else = self.usage.is_none()
            && self.x_groq.is_none()
            && self.error.is_none()
            && choice.usage.is_none()
            && choice.error.is_none()
            && choice.message.is_none()
            && choice.finish_reason.is_none()
            && delta.tool_calls.is_empty()
            && delta.function_call.is_none()
            && delta.thinking().is_none()
            && delta.reasoning_details.is_empty()
            && delta.refusal.is_empty();
        match &delta.content {
            Content::Text(Cow::Borrowed(text)) if nothing_else => Some(text),
            _ => None,
        }
    }

    /// Returns the error object, of the chunk or of its choice.
    pub(super) fn error(&self) -> Option<&'a RawValue> {
        let of_choice = self.choice.as_ref().and_then(|choice| choice.error);
        let errors = [self.error, of_choice];
        errors
            .into_iter()
            .flatten()
            .find(|error| !matches!(error.get(), "null" | "false" | "\"\"" | "{}"))
    }

    /// Returns the token counts, from any of the fields that servers use.
    pub(super) fn usage(&self) -> Option<Usage> {
        let of_choice = self.choice.as_ref().and_then(|choice| choice.usage);
        let of_groq = self.x_groq.as_ref().and_then(|extras| extras.usage);
        let fields = [self.usage, of_choice, of_groq];
        fields.into_iter().flatten().find_map(usage::read)
    }
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    /// A whole message, from servers that do not stream.
    #[serde(default, borrow, deserialize_with = "lenient::optional")]
    pub(super) message: Option<Box<Delta<'a>>>,
    #[serde(default, borrow, deserialize_with = "lenient::string")]
    pub(super) finish_reason: Option<Cow<'a, str>>,
    /// Some servers put the counts here.
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    /// Where OpenRouter puts an error of the server behind it.
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(default, borrow, deserialize_with = "content")]
    pub(super) content: Content<'a>,
    #[serde(default, borrow, deserialize_with = "text")]
    reasoning_content: Cow<'a, str>,
    #[serde(default, borrow, deserialize_with = "text")]
    reasoning: Cow<'a, str>,
    #[serde(default, borrow, deserialize_with = "text")]
    thinking: Cow<'a, str>,
    /// OpenRouter's.
    #[serde(default, deserialize_with = "lenient::list")]
    pub(super) reasoning_details: Vec<Value>,
    #[serde(default, borrow, deserialize_with = "text")]
    pub(super) refusal: Cow<'a, str>,
    #[serde(default, borrow, deserialize_with = "calls")]
    pub(super) tool_calls: Vec<CallDelta<'a>>,
    /// The older form of `tool_calls`, for a single call.
    #[serde(default, borrow, deserialize_with = "lenient::optional")]
    pub(super) function_call: Option<FunctionDelta<'a>>,
}

impl<'a> Delta<'a> {
    /// Returns the thinking, under any of its names: servers that use two repeat the text.
    pub(super) fn thinking(&self) -> Option<&Cow<'a, str>> {
        let names = [&self.reasoning_content, &self.reasoning, &self.thinking];
        names.into_iter().find(|text| !text.is_empty())
    }
}

/// The text of a response: a string, or a list of parts from Mistral's reasoning models.
pub(super) enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<ContentPart>),
}

impl Default for Content<'_> {
    fn default() -> Self {
        Self::Text(Cow::Borrowed(""))
    }
}

pub(super) enum ContentPart {
    Text(String),
    Thinking(String),
}

#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    #[serde(default, deserialize_with = "lenient::count")]
    pub(super) index: Option<u64>,
    #[serde(default, borrow, deserialize_with = "text")]
    pub(super) id: Cow<'a, str>,
    #[serde(default, borrow)]
    pub(super) function: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize, Default)]
pub(super) struct FunctionDelta<'a> {
    #[serde(default, borrow, deserialize_with = "text")]
    pub(super) name: Cow<'a, str>,
    #[serde(default, borrow, deserialize_with = "arguments")]
    pub(super) arguments: Cow<'a, str>,
}

/// Reads the first element of an array; we never request more than one choice.
fn first<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Choice<'de>>, D::Error> {
    struct First;

    impl<'de> Visitor<'de> for First {
        type Value = Option<Choice<'de>>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an array of choices")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(None)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
            let first = elements.next_element()?;
            while elements.next_element::<IgnoredAny>()?.is_some() {}
            Ok(first)
        }
    }

    deserializer.deserialize_any(First)
}

/// Reads calls, or none from anything but an array of them.
fn calls<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<CallDelta<'de>>, D::Error> {
    struct Calls;

    impl<'de> Visitor<'de> for Calls {
        type Value = Vec<CallDelta<'de>>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("an array of calls")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Vec::new())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
            let mut calls = Vec::new();
            while let Some(call) = elements.next_element::<Option<CallDelta<'de>>>()? {
                calls.extend(call);
            }
            Ok(calls)
        }

        fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Self::Value, A::Error> {
            CallDelta::deserialize(MapAccessDeserializer::new(entries)).map(|call| vec![call])
        }
    }

    deserializer.deserialize_any(Calls)
}

/// Reads a string; any other value counts as absent.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    lenient::string(deserializer).map(Option::unwrap_or_default)
}

/// Reads arguments: a string, or the object itself as some servers send it.
fn arguments<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?.get();
    if raw.starts_with('{') {
        return Ok(Cow::Borrowed(raw));
    }
    // A string without escapes needs no copy.
    let inner = raw.strip_prefix('"').and_then(|raw| raw.strip_suffix('"'));
    Ok(match inner {
        Some(inner) if !inner.contains('\\') => Cow::Borrowed(inner),
        Some(_) => Cow::Owned(serde_json::from_str(raw).unwrap_or_default()),
        None => Cow::Borrowed(""),
    })
}

/// Reads a string, an array of parts, or nothing.
fn content<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Content<'de>, D::Error> {
    struct ContentVisitor;

    impl<'de> Visitor<'de> for ContentVisitor {
        type Value = Content<'de>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("text or parts")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Content::default())
        }

        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok(Content::default())
        }

        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok(Content::default())
        }

        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok(Content::default())
        }

        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok(Content::default())
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Content::Text(Cow::Owned(text.to_owned())))
        }

        fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
            Ok(Content::Text(Cow::Borrowed(text)))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
            let mut parts = Vec::new();
            while let Some(part) = elements.next_element::<Value>()? {
                parts.extend(ContentPart::read(&part));
            }
            Ok(Content::Parts(parts))
        }

        fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<Self::Value, A::Error> {
            let part = Value::deserialize(MapAccessDeserializer::new(entries))?;
            Ok(Content::Parts(
                ContentPart::read(&part).into_iter().collect(),
            ))
        }
    }

    deserializer.deserialize_any(ContentVisitor)
}

impl ContentPart {
    /// Reads a part by its content; references, images and future kinds hold nothing to show.
    fn read(part: &Value) -> Option<Self> {
        if let Some(thinking) = part.get("thinking") {
            return Some(Self::Thinking(joined_text(thinking)));
        }
        let text = match part {
            Value::String(text) => text.clone(),
            part => joined_text(part.get("text").or_else(|| part.get("refusal"))?),
        };
        match part.get("type").and_then(Value::as_str) {
            Some("thinking" | "reasoning") => Some(Self::Thinking(text)),
            _ => Some(Self::Text(text)),
        }
    }
}

/// Returns the text of a string, of a part, or of a list of either: Mistral's `thinking` is such a
/// list.
fn joined_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(joined_text).collect(),
        Value::Object(part) => part.get("text").map(joined_text).unwrap_or_default(),
        _ => String::new(),
    }
}
