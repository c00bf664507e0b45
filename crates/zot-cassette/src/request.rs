//! The normalised form of a request: only what is compared.
//!
//! Times are left out. Images are kept as a digest: they are never sent again, only compared.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};
use zot_conversation::{
    Arguments, ContentBlock, Image, Message, ModelRequest, Reasoning, Role, ToolDefinition,
};

use super::conversations::Continues;
use super::redaction::Redactor;
use crate::json;

/// One request as it is written.
#[derive(Serialize)]
pub(super) struct RequestRecord<'a, T: Serialize, M: Serialize> {
    /// The provider of a backup model; otherwise the header's applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) provider: Option<&'a str>,
    pub(super) model: Redacted<'a>,
    pub(super) reasoning: Option<&'a str>,
    pub(super) max_output: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) continues: Option<Continues>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) system: Option<Redacted<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<T>,
    pub(super) messages: Vec<M>,
}

/// Appends the request to a line. `same` messages are those of `continues`.
pub(super) fn append_request(
    line: &mut Vec<u8>,
    fallback: Option<&str>,
    request: &ModelRequest<'_>,
    continues: Option<Continues>,
    head: HeadPart,
    redactor: &Redactor,
) {
    let same = continues.map_or(0, |continues| continues.messages);
    let new = request.messages.get(same..).unwrap_or_default();
    let record = RequestRecord {
        provider: fallback,
        model: redactor.string(request.model),
        reasoning: request.reasoning.map(|effort| effort.as_str()),
        max_output: request.max_output,
        continues,
        system: (head == HeadPart::Written).then(|| redactor.string(request.system)),
        tools: (head == HeadPart::Written).then(|| tool_records(request.tools, redactor)),
        messages: new
            .iter()
            .map(|message| message_record(message, redactor))
            .collect(),
    };
    append_in_one_line(line, &record);
}

/// Whether system prompt and tools are part of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadPart {
    Written,
    /// Inherited from the exchange that is continued.
    Inherited,
}

/// Appends one message as an unredacted cassette would hold it.
pub(super) fn append_message(buffer: &mut Vec<u8>, message: &Message) {
    append_in_one_line(buffer, &message_record(message, &Redactor::NONE));
}

/// Appends the tools as an unredacted cassette would hold them.
pub(super) fn append_tools(buffer: &mut Vec<u8>, tools: &[Arc<ToolDefinition>]) {
    append_in_one_line(buffer, &tool_records(tools, &Redactor::NONE));
}

/// JSON written by a model or a tool's author may contain line feeds between its parts.
fn append_in_one_line(buffer: &mut Vec<u8>, value: &impl Serialize) {
    let start = buffer.len();
    json::append(buffer, value);
    let written = buffer.get_mut(start..).unwrap_or_default();
    if memchr::memchr2(b'\n', b'\r', written).is_some() {
        for byte in written {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
    }
}

/// A text that is serialised without its secrets.
pub(super) struct Redacted<'a> {
    pub(super) text: &'a str,
    pub(super) redactor: &'a Redactor,
}

impl Serialize for Redacted<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.redactor.apply(self.text))
    }
}

/// Foreign JSON that is serialised without its secrets: as JSON, or as a text where a secret was part
/// of its structure.
struct RedactedJson<'a> {
    raw: &'a RawValue,
    redactor: &'a Redactor,
}

impl Serialize for RedactedJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let redacted = self.redactor.apply(self.raw.get());
        match redacted {
            std::borrow::Cow::Borrowed(_) => self.raw.serialize(serializer),
            std::borrow::Cow::Owned(text) => match serde_json::from_str::<&RawValue>(&text) {
                Ok(raw) => raw.serialize(serializer),
                Err(_) => serializer.serialize_str(&text),
            },
        }
    }
}

#[derive(Serialize)]
struct ToolRecord<'a> {
    name: Redacted<'a>,
    description: Redacted<'a>,
    parameters: RedactedJson<'a>,
}

fn tool_records<'a>(
    tools: &'a [Arc<ToolDefinition>],
    redactor: &'a Redactor,
) -> Vec<ToolRecord<'a>> {
    tools
        .iter()
        .map(|tool| ToolRecord {
            name: redactor.string(&tool.name),
            description: redactor.string(&tool.description),
            parameters: RedactedJson {
                raw: &tool.parameters,
                redactor,
            },
        })
        .collect()
}

#[derive(Serialize)]
struct MessageRecord<'a> {
    role: &'static str,
    content: Vec<BlockRecord<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockRecord<'a> {
    Text {
        text: Redacted<'a>,
    },
    Image {
        mime_type: &'a str,
        bytes: usize,
        sha256: String,
    },
    Reasoning(ReasoningRecord<'a>),
    ToolCall {
        id: Redacted<'a>,
        name: Redacted<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        arguments: Option<RedactedJson<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        malformed_arguments: Option<Redacted<'a>>,
    },
    ToolResult {
        call_id: Redacted<'a>,
        is_error: bool,
        content: Vec<BlockRecord<'a>>,
    },
}

#[derive(Serialize)]
pub(super) struct ReasoningRecord<'a> {
    provider: &'a str,
    text: Redacted<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Redacted<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signature: Option<Redacted<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted: Option<Redacted<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Redacted<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<&'a str>,
}

pub(super) fn reasoning_record<'a>(
    reasoning: &'a Reasoning,
    redactor: &'a Redactor,
) -> ReasoningRecord<'a> {
    let part = |part: &'a Option<String>| part.as_deref().map(|text| redactor.string(text));
    ReasoningRecord {
        provider: &reasoning.provider,
        text: redactor.string(&reasoning.text),
        details: part(&reasoning.details),
        signature: part(&reasoning.signature),
        encrypted: part(&reasoning.encrypted),
        id: part(&reasoning.id),
        prefix: reasoning.prefix.as_deref(),
    }
}

fn message_record<'a>(message: &'a Message, redactor: &'a Redactor) -> MessageRecord<'a> {
    MessageRecord {
        role: match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        },
        content: block_records(&message.content, redactor),
    }
}

fn block_records<'a>(blocks: &'a [ContentBlock], redactor: &'a Redactor) -> Vec<BlockRecord<'a>> {
    blocks
        .iter()
        .map(|block| block_record(block, redactor))
        .collect()
}

fn block_record<'a>(block: &'a ContentBlock, redactor: &'a Redactor) -> BlockRecord<'a> {
    match block {
        ContentBlock::Text(text) => BlockRecord::Text {
            text: redactor.string(text),
        },
        ContentBlock::Image(image) => image_record(image),
        ContentBlock::Reasoning(reasoning) => {
            BlockRecord::Reasoning(reasoning_record(reasoning, redactor))
        }
        ContentBlock::ToolCall(call) => {
            let (arguments, malformed_arguments) = arguments_record(&call.arguments, redactor);
            BlockRecord::ToolCall {
                id: redactor.string(call.id.as_str()),
                name: redactor.string(&call.name),
                arguments,
                malformed_arguments,
            }
        }
        ContentBlock::ToolResult(result) => BlockRecord::ToolResult {
            call_id: redactor.string(result.call_id.as_str()),
            is_error: result.is_error,
            content: block_records(&result.content, redactor),
        },
    }
}

fn arguments_record<'a>(
    arguments: &'a Arguments,
    redactor: &'a Redactor,
) -> (Option<RedactedJson<'a>>, Option<Redacted<'a>>) {
    match arguments.json() {
        Ok(raw) => (Some(RedactedJson { raw, redactor }), None),
        Err(malformed) => (None, Some(redactor.string(&malformed.text))),
    }
}

fn image_record(image: &Image) -> BlockRecord<'_> {
    let digest = Sha256::digest(&image.data);
    BlockRecord::Image {
        mime_type: &image.mime_type,
        bytes: image.data.len(),
        sha256: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}
