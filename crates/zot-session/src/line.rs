//! Parses one line of a session file: ours, the original's, and those of future versions.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::value::RawValue;
use zot_conversation::{
    Arguments, ContentBlock, Image, Message, Reasoning, Role, Timestamp, ToolCall, ToolResult,
    Usage,
};

use crate::SessionMeta;

/// The content of a line.
pub(crate) enum Line {
    Meta(SessionMeta),
    Message(Read<Message>),
    Usage {
        turn: Usage,
        cumulative: Usage,
    },
    Result(Read<ToolResult>),
    Replaced(Vec<Read<Message>>),
    Model {
        provider: String,
        model: String,
    },
    /// The session was given a title; a record of the original.
    Renamed(Option<String>),
    /// A kind of record that this version does not know.
    Unknown,
}

/// A value, and how many of its parts were not understood.
pub(crate) struct Read<T> {
    pub(crate) value: T,
    pub(crate) unknown_blocks: usize,
}

/// Reads a line without its line feed.
pub(crate) fn parse(line: &[u8]) -> Result<Line, String> {
    match serde_json::from_slice::<RawLine<'_>>(line) {
        Ok(raw) => raw.understood(),
        // A record of a newer version may use our names for other things.
        Err(error) => match serde_json::from_slice::<Kind>(line) {
            Ok(kind) if !KINDS.contains(&kind.name.as_str()) => Ok(Line::Unknown),
            _ => Err(error.to_string()),
        },
    }
}

const KINDS: [&str; 8] = [
    "meta",
    "message",
    "usage",
    "result",
    "replaced",
    "model",
    "rename",
    "compaction",
];

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    name: String,
}

#[derive(Deserialize)]
struct RawLine<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    meta: Option<RawMeta>,
    message: Option<RawMessage>,
    usage: Option<RawUsage>,
    cumulative: Option<RawUsage>,
    result: Option<RawBlock>,
    messages: Option<Vec<RawMessage>>,
    provider: Option<String>,
    model: Option<String>,
    title: Option<String>,
}

impl RawLine<'_> {
    fn understood(self) -> Result<Line, String> {
        let missing = |field: &str| format!("a record of type {field} without its {field}");
        match self.kind.as_ref() {
            "meta" => Ok(Line::Meta(self.meta.ok_or(missing("meta"))?.into())),
            "message" => {
                let message = self.message.ok_or(missing("message"))?;
                Ok(Line::Message(message.understood()?))
            }
            "usage" => {
                let turn: Usage = self.usage.ok_or(missing("usage"))?.into();
                let cumulative = self.cumulative.map_or(turn, Into::into);
                Ok(Line::Usage { turn, cumulative })
            }
            "result" => match self.result.ok_or(missing("result"))?.understood() {
                Some(Read {
                    value: ContentBlock::ToolResult(value),
                    unknown_blocks,
                }) => Ok(Line::Result(Read {
                    value,
                    unknown_blocks,
                })),
                _ => Err("the result answers no call".to_owned()),
            },
            // The original's name for it.
            "replaced" | "compaction" => {
                let messages = self.messages.unwrap_or_default().into_iter();
                messages
                    .map(RawMessage::understood)
                    .collect::<Result<_, _>>()
                    .map(Line::Replaced)
            }
            "model" => Ok(Line::Model {
                provider: self.provider.ok_or(missing("model"))?,
                model: self.model.ok_or(missing("model"))?,
            }),
            "rename" => Ok(Line::Renamed(
                self.title.filter(|title| !title.trim().is_empty()),
            )),
            _ => Ok(Line::Unknown),
        }
    }
}

#[derive(Deserialize)]
struct RawMeta {
    id: Option<String>,
    cwd: Option<String>,
    model: Option<String>,
    provider: Option<String>,
    started: Option<String>,
    version: Option<String>,
    title: Option<String>,
    parent: Option<String>,
    fork_point: Option<u64>,
}

impl From<RawMeta> for SessionMeta {
    fn from(raw: RawMeta) -> Self {
        Self {
            id: raw.id.unwrap_or_default(),
            cwd: raw.cwd.unwrap_or_default(),
            model: raw.model.unwrap_or_default(),
            provider: raw.provider.unwrap_or_default(),
            started: time(raw.started.as_deref()),
            version: raw.version.unwrap_or_default(),
            title: raw.title.filter(|title| !title.trim().is_empty()),
            parent: raw.parent.filter(|parent| !parent.is_empty()),
            fork_point: raw.fork_point,
        }
    }
}

/// Parses a time; defaults to the epoch.
fn time(text: Option<&str>) -> Timestamp {
    text.and_then(|text| text.parse().ok()).unwrap_or_default()
}

#[derive(Deserialize)]
struct RawMessage {
    role: String,
    content: Option<Vec<RawBlock>>,
    time: Option<String>,
}

impl RawMessage {
    fn understood(self) -> Result<Read<Message>, String> {
        let role = match self.role.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            "tool" => Role::Tool,
            other => return Err(format!("unknown role {other:?}")),
        };
        let content = all_understood(self.content.unwrap_or_default());
        Ok(Read {
            value: Message {
                role,
                content: content.value,
                time: time(self.time.as_deref()),
            },
            unknown_blocks: content.unknown_blocks,
        })
    }
}

fn all_understood(blocks: Vec<RawBlock>) -> Read<Vec<ContentBlock>> {
    let mut unknown_blocks = 0;
    let mut value = Vec::with_capacity(blocks.len());
    for block in blocks {
        match block.understood() {
            Some(block) => {
                unknown_blocks += block.unknown_blocks;
                value.push(block.value);
            }
            None => unknown_blocks += 1,
        }
    }
    Read {
        value,
        unknown_blocks,
    }
}

/// A content block. It has no `type`: its fields determine its kind.
#[derive(Deserialize)]
struct RawBlock {
    text: Option<String>,
    mime_type: Option<String>,
    data: Option<String>,
    id: Option<String>,
    name: Option<String>,
    arguments: Option<Box<RawValue>>,
    call_id: Option<String>,
    content: Option<Vec<RawBlock>>,
    is_error: Option<bool>,
    reasoning_id: Option<String>,
    details: Option<String>,
    summary: Option<String>,
    encrypted_content: Option<String>,
    signature: Option<String>,
    provider: Option<String>,
    prefix: Option<String>,
}

impl RawBlock {
    fn understood(self) -> Option<Read<ContentBlock>> {
        let mut unknown_blocks = 0;
        let value = if let Some(call_id) = self.call_id {
            let content = all_understood(self.content.unwrap_or_default());
            unknown_blocks = content.unknown_blocks;
            ContentBlock::ToolResult(ToolResult {
                call_id: call_id.into(),
                is_error: self.is_error.unwrap_or_default(),
                content: content.value,
            })
        } else if self.reasoning_id.is_some()
            || self.summary.is_some()
            || self.encrypted_content.is_some()
        {
            ContentBlock::Reasoning(Reasoning {
                provider: self.provider.unwrap_or_default(),
                text: self.summary.unwrap_or_default(),
                details: self.details,
                signature: self.signature,
                encrypted: self.encrypted_content.filter(|content| !content.is_empty()),
                id: self.reasoning_id.filter(|id| !id.is_empty()),
                prefix: self.prefix,
            })
        } else if let Some(name) = self.name {
            let arguments = self.arguments.as_deref().map_or("", RawValue::get);
            ContentBlock::ToolCall(ToolCall {
                id: self.id.unwrap_or_default().into(),
                name,
                arguments: Arguments::from_model_text(arguments),
            })
        } else if let (Some(mime_type), Some(data)) = (self.mime_type, self.data) {
            let data = STANDARD.decode(data).ok()?;
            ContentBlock::Image(Image {
                mime_type,
                data: data.into(),
            })
        } else {
            ContentBlock::Text(self.text?)
        };
        Some(Read {
            value,
            unknown_blocks,
        })
    }
}

#[derive(Deserialize)]
struct RawUsage {
    #[serde(default)]
    input_tokens: u64,
    #[serde(default)]
    output_tokens: u64,
    #[serde(default)]
    cache_read_tokens: u64,
    #[serde(default)]
    cache_write_tokens: u64,
    #[serde(default)]
    cost_usd: f64,
}

impl From<RawUsage> for Usage {
    fn from(raw: RawUsage) -> Self {
        Self {
            input: raw.input_tokens,
            output: raw.output_tokens,
            cache_read: raw.cache_read_tokens,
            cache_write: raw.cache_write_tokens,
            cost_usd: raw.cost_usd,
        }
    }
}
