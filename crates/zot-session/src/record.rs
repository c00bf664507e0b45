//! The records of a session file.
//!
//! Content blocks have no `type`: readers distinguish them by their fields.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use serde_json::value::RawValue;
use zot_conversation::{ContentBlock, Message, Role, ToolResult, Usage};

use crate::SessionMeta;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Record<'a> {
    Meta {
        meta: &'a MetaRecord<'a>,
    },
    Message {
        message: MessageRecord<'a>,
    },
    Usage {
        usage: UsageRecord,
        cumulative: UsageRecord,
    },
    /// The result of one call of a batch that is not finished. The batch's message follows it and
    /// holds it again; it counts only where that is missing. The original does not know it either.
    Result {
        result: BlockRecord<'a>,
    },
    /// The transcript now consists of these messages. The original does not know it; its readers
    /// skip it.
    Replaced {
        messages: Vec<MessageRecord<'a>>,
    },
    /// From here on the session uses another model. The original does not know this record.
    Model {
        provider: &'a str,
        model: &'a str,
    },
}

#[derive(Serialize)]
pub(crate) struct MetaRecord<'a> {
    id: &'a str,
    /// Omitted from a portable file.
    #[serde(skip_serializing_if = "str::is_empty")]
    cwd: &'a str,
    model: &'a str,
    provider: &'a str,
    started: String,
    version: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fork_point: Option<u64>,
}

impl<'a> From<&'a SessionMeta> for MetaRecord<'a> {
    fn from(meta: &'a SessionMeta) -> Self {
        Self {
            id: &meta.id,
            cwd: &meta.cwd,
            model: &meta.model,
            provider: &meta.provider,
            started: meta.started.to_string(),
            version: &meta.version,
            title: meta.title.as_deref(),
            parent: meta.parent.as_deref(),
            fork_point: meta.fork_point,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct MessageRecord<'a> {
    role: &'static str,
    content: Vec<BlockRecord<'a>>,
    time: String,
}

impl<'a> From<&'a Arc<Message>> for MessageRecord<'a> {
    fn from(message: &'a Arc<Message>) -> Self {
        Self {
            role: match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::Tool => "tool",
            },
            content: message.content.iter().map(BlockRecord::from).collect(),
            time: message.time.to_string(),
        }
    }
}

/// One block; the fields that are set determine its kind.
#[derive(Serialize, Default)]
pub(crate) struct BlockRecord<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Vec<BlockRecord<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<&'a str>,
}

impl<'a> From<&'a ContentBlock> for BlockRecord<'a> {
    fn from(block: &'a ContentBlock) -> Self {
        let empty = Self::default();
        match block {
            ContentBlock::Text(text) => Self {
                text: Some(text),
                ..empty
            },
            ContentBlock::Image(image) => Self {
                mime_type: Some(&image.mime_type),
                data: Some(STANDARD.encode(&image.data)),
                ..empty
            },
            ContentBlock::Reasoning(reasoning) => Self {
                reasoning_id: Some(reasoning.id.as_deref().unwrap_or_default()),
                details: reasoning.details.as_deref(),
                summary: Some(&reasoning.text),
                encrypted_content: reasoning.encrypted.as_deref(),
                signature: reasoning.signature.as_deref(),
                provider: Some(&reasoning.provider),
                prefix: reasoning.prefix.as_deref(),
                ..empty
            },
            ContentBlock::ToolCall(call) => Self {
                id: Some(call.id.as_str()),
                name: Some(&call.name),
                arguments: call
                    .arguments
                    .json()
                    .ok()
                    .or_else(|| serde_json::from_str("{}").ok()),
                ..empty
            },
            ContentBlock::ToolResult(result) => result.into(),
        }
    }
}

impl<'a> From<&'a ToolResult> for BlockRecord<'a> {
    fn from(result: &'a ToolResult) -> Self {
        Self {
            call_id: Some(result.call_id.as_str()),
            content: Some(result.content.iter().map(Self::from).collect()),
            is_error: Some(result.is_error),
            ..Self::default()
        }
    }
}

#[derive(Serialize)]
pub(crate) struct UsageRecord {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    cost_usd: f64,
}

impl From<&Usage> for UsageRecord {
    fn from(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
            cost_usd: usage.cost_usd,
        }
    }
}

/// Writes a record as one line of a file.
pub(crate) fn line(record: &Record<'_>) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(record)?;
    line.push(b'\n');
    Ok(line)
}
