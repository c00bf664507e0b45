//! Messages and the blocks they are made of.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::value::RawValue;

/// The moment a message joined the transcript.
pub type Timestamp = jiff::Timestamp;

/// One entry of the transcript.
///
/// Transcripts hold `Arc<Message>`, and a message never changes once it is in one: model clients
/// recognise what they have already serialised by pointer identity.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub role: Role,
    pub content: Vec<ContentBlock>,
    pub time: Timestamp,
}

/// The first line of a message that repeats the images of tool results, for models that cannot see
/// them there. The original writes such messages into its sessions, also without an image.
pub const IMAGE_MIRROR_HEADING: &str = "Tool output included the following image content:";

impl Message {
    /// Returns whether it is a user's own message and not one that repeats tool results.
    pub fn is_prompt(&self) -> bool {
        self.role == Role::User && !self.is_image_mirror()
    }

    /// Returns whether it repeats images of tool results, see [`IMAGE_MIRROR_HEADING`].
    pub fn is_image_mirror(&self) -> bool {
        let Some(ContentBlock::Text(text)) = self.content.first() else {
            return false;
        };
        let rest = text.strip_prefix(IMAGE_MIRROR_HEADING);
        self.role == Role::User
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('\n'))
    }

    /// Creates a user message with one text block.
    pub fn user_text(text: impl Into<String>, time: Timestamp) -> Self {
        Self {
            role: Role::User,
            content: vec![ContentBlock::Text(text.into())],
            time,
        }
    }

    /// Joins the text blocks without a separator.
    pub fn text(&self) -> String {
        joined_text(&self.content)
    }

    /// Returns the tool calls of an assistant message, in the order the model made them.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// Returns the results of a tool message, in call order.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.content.iter().filter_map(|block| match block {
            ContentBlock::ToolResult(result) => Some(result),
            _ => None,
        })
    }
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    User,
    Assistant,
    /// The results of one batch of tool calls.
    Tool,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum ContentBlock {
    Text(String),
    Image(Image),
    Reasoning(Reasoning),
    ToolCall(ToolCall),
    ToolResult(ToolResult),
}

/// Joins the text blocks of `content` without a separator.
pub fn joined_text(content: &[ContentBlock]) -> String {
    content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

/// An image, as the bytes of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// For example `image/png`.
    pub mime_type: String,
    pub data: Bytes,
}

/// The formats that every provider accepts, with their first bytes.
const IMAGE_FORMATS: [(&str, &[u8]); 5] = [
    ("image/png", b"\x89PNG\r\n\x1a\n"),
    ("image/jpeg", b"\xff\xd8\xff"),
    ("image/gif", b"GIF87a"),
    ("image/gif", b"GIF89a"),
    // Its name follows four bytes of length.
    ("image/webp", b"RIFF"),
];

/// Other formats, named in error messages.
const OTHER_FORMATS: [(&str, &[u8]); 8] = [
    ("BMP", b"BM"),
    ("TIFF", b"II*\0"),
    ("TIFF", b"MM\0*"),
    ("SVG", b"<svg"),
    ("SVG", b"<?xml"),
    ("PDF", b"%PDF"),
    ("ICO", b"\0\0\x01\0"),
    ("JPEG XL", b"\xff\x0a"),
];

/// Bytes that are not an image of a supported format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a PNG, JPEG, GIF or WebP image, got {found}: convert it first")]
pub struct UnsupportedImage {
    found: String,
}

impl Image {
    /// Determines the format from the first bytes, because providers refuse an image with a wrong
    /// declared type.
    pub fn recognised(declared: &str, data: Bytes) -> Result<Self, UnsupportedImage> {
        if let Some(mime_type) = Self::mime_type_of(&data) {
            let mime_type = mime_type.to_owned();
            return Ok(Self { mime_type, data });
        }
        let found = match Self::unsupported_format(&data) {
            Some(name) => name.to_owned(),
            None => format!(
                "{} bytes of another kind, declared as {declared:?}",
                data.len()
            ),
        };
        Err(UnsupportedImage { found })
    }

    /// Returns the type of the image that begins with `head`, if every provider accepts it.
    pub fn mime_type_of(head: &[u8]) -> Option<&'static str> {
        IMAGE_FORMATS
            .iter()
            .find(|(mime_type, start)| {
                let is_webp = || head.get(8..12) == Some(b"WEBP");
                head.starts_with(start) && (*mime_type != "image/webp" || is_webp())
            })
            .map(|(mime_type, _)| *mime_type)
    }

    /// Returns the name of a format that providers do not accept, from the first bytes of a file.
    pub fn unsupported_format(head: &[u8]) -> Option<&'static str> {
        let other = OTHER_FORMATS
            .iter()
            .find(|(_, start)| head.starts_with(start));
        match other {
            Some((name, _)) => Some(name),
            None if head.get(4..8) == Some(b"ftyp") => Some("HEIC or AVIF"),
            None => None,
        }
    }
}

/// A model's reasoning before its response, with what its provider needs to accept it back.
///
/// Blocks are replayed verbatim, only to the provider that made them, and on some wires only behind
/// the same conversation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reasoning {
    /// The provider that made the block, for example `anthropic`.
    pub provider: String,
    /// The readable part; empty when the provider shows none.
    pub text: String,
    /// Other data that the provider expects back, as JSON: OpenRouter's `reasoning_details`, or on
    /// OpenAI's responses the kind of message that the preceding text was.
    pub details: Option<String>,
    /// Anthropic's signature over `text`.
    pub signature: Option<String>,
    /// Content only the provider can read (redacted thinking, encrypted reasoning items).
    pub encrypted: Option<String>,
    /// The provider's own id of the block.
    pub id: Option<String>,
    /// Digest of what came before the block: the model, the system prompt, the tools and the earlier
    /// messages. `None` where the wire does not need it.
    pub prefix: Option<String>,
}

impl Reasoning {
    /// Returns how many bytes the provider sent.
    pub(crate) fn length(&self) -> usize {
        let others = [&self.details, &self.signature, &self.encrypted, &self.id];
        let others = others.into_iter().flatten();
        self.text.len() + others.map(String::len).sum::<usize>()
    }
}

/// Identifies a tool call within a conversation. Cheap to clone: every argument delta carries it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ToolCallId(Arc<str>);

impl ToolCallId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ToolCallId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl From<String> for ToolCallId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for ToolCallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// A tool call as the model made it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    pub id: ToolCallId,
    pub name: String,
    pub arguments: Arguments,
}

/// The arguments of a tool call: the exact JSON text the model wrote.
///
/// The text is kept, not a parsed value, because replaying a conversation must reproduce the same
/// bytes for the provider's prompt cache to hit.
#[derive(Debug, Clone)]
pub struct Arguments(Result<Arc<RawValue>, Arc<MalformedArguments>>);

/// Arguments that were not a JSON object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct MalformedArguments {
    /// What the model wrote.
    pub text: String,
    pub reason: String,
}

impl Arguments {
    /// Reads the text a model streamed. No text at all means no arguments: `{}`.
    pub fn from_model_text(text: &str) -> Self {
        let trimmed = text.trim();
        let text = if trimmed.is_empty() { "{}" } else { trimmed };
        match serde_json::from_str::<&RawValue>(text) {
            Ok(raw) if raw.get().starts_with('{') => Self(Ok(Arc::from(raw.to_owned()))),
            Ok(_) => Self::malformed(text, "arguments must be a JSON object".to_owned()),
            Err(error) => Self::malformed(text, error.to_string()),
        }
    }

    /// Creates arguments that the output limit cut off. Such a call is never run, even if they are
    /// empty.
    pub fn cut_off(text: &str) -> Self {
        let reason = "the answer reached the output limit before they were complete: make smaller \
                      calls, for example write a long file in several pieces";
        Self::malformed(text, reason.to_owned())
    }

    /// Creates an empty object.
    pub fn empty() -> Self {
        Self::from_model_text("")
    }

    fn malformed(text: &str, reason: String) -> Self {
        Self(Err(Arc::new(MalformedArguments {
            text: text.to_owned(),
            reason,
        })))
    }

    /// Returns the JSON object, or what is wrong with the text.
    pub fn json(&self) -> Result<&RawValue, &MalformedArguments> {
        match &self.0 {
            Ok(raw) => Ok(raw),
            Err(malformed) => Err(malformed),
        }
    }

    /// Returns a JSON object that may be shown or sent back: `{}` for malformed text.
    pub fn json_or_empty(&self) -> &str {
        match &self.0 {
            Ok(raw) => raw.get(),
            Err(_) => "{}",
        }
    }
}

impl PartialEq for Arguments {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Ok(left), Ok(right)) => left.get() == right.get(),
            (Err(left), Err(right)) => left == right,
            _ => false,
        }
    }
}

/// The result of one tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    pub call_id: ToolCallId,
    pub is_error: bool,
    /// Text and image blocks only.
    pub content: Vec<ContentBlock>,
}
