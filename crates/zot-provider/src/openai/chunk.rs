//! The shape of one streamed chunk, read leniently and without intermediate values.

use std::borrow::Cow;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(default, borrow, rename = "choices", deserialize_with = "first")]
    pub(super) choice: Option<Choice<'a>>,
    // Boxed because it is rare, and every chunk is moved several times while it is read.
    pub(super) usage: Option<Box<WireUsage>>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

impl<'a> Chunk<'a> {
    /// The text of a chunk that says nothing else, as it stands in the chunk.
    pub(super) fn only_text(&self) -> Option<&'a str> {
        let choice = self.choice.as_ref()?;
        let delta = choice.delta.as_ref()?;
        let nothing_else = self.usage.is_none()
            && self.error.is_none()
            && choice.usage.is_none()
            && choice.finish_reason.is_none()
            && delta.tool_calls.is_none()
            && delta.reasoning_content.is_empty()
            && delta.reasoning.is_empty()
            && delta.refusal.is_empty();
        match delta.content {
            Cow::Borrowed(text) if nothing_else => Some(text),
            _ => None,
        }
    }
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow)]
    pub(super) delta: Option<Delta<'a>>,
    /// What an answer has that is not streamed.
    #[serde(borrow)]
    pub(super) message: Option<Delta<'a>>,
    pub(super) finish_reason: Option<String>,
    /// Some servers put the counts here.
    pub(super) usage: Option<Box<WireUsage>>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(default, borrow, deserialize_with = "text")]
    pub(super) content: Cow<'a, str>,
    #[serde(default, borrow, deserialize_with = "text")]
    pub(super) reasoning_content: Cow<'a, str>,
    #[serde(default, borrow, deserialize_with = "text")]
    pub(super) reasoning: Cow<'a, str>,
    #[serde(default, borrow, deserialize_with = "text")]
    pub(super) refusal: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallDelta<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
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
    #[serde(default, borrow, deserialize_with = "text")]
    pub(super) arguments: Cow<'a, str>,
}

#[derive(Deserialize)]
pub(super) struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    /// DeepSeek's name for the cached part.
    prompt_cache_hit_tokens: Option<u64>,
    /// Moonshot's.
    cached_tokens: Option<u64>,
}

#[derive(Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

impl WireUsage {
    pub(super) fn usage(&self) -> zot_conversation::Usage {
        let prompt = self.prompt_tokens.unwrap_or_default();
        let cached = self
            .prompt_tokens_details
            .as_ref()
            .and_then(|details| details.cached_tokens)
            .or(self.prompt_cache_hit_tokens)
            .or(self.cached_tokens)
            .unwrap_or_default()
            .min(prompt);
        zot_conversation::Usage {
            input: prompt - cached,
            output: self.completion_tokens.unwrap_or_default(),
            cache_read: cached,
            ..zot_conversation::Usage::default()
        }
    }
}

/// Reads the first element of an array; we never ask for more than one choice.
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

/// Reads a string, the text of an array of parts, or nothing.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    struct Text;

    impl<'de> Visitor<'de> for Text {
        type Value = Cow<'de, str>;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("text")
        }

        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok(Cow::Borrowed(""))
        }

        fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Cow::Owned(text.to_owned()))
        }

        fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
            Ok(Cow::Borrowed(text))
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Self::Value, A::Error> {
            let mut joined = String::new();
            while let Some(part) = parts.next_element::<TextPart>()? {
                joined.push_str(&part.text);
            }
            Ok(Cow::Owned(joined))
        }

        fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Cow::Borrowed(""))
        }
    }

    deserializer.deserialize_any(Text)
}

#[derive(Deserialize)]
struct TextPart {
    #[serde(default)]
    text: String,
}
