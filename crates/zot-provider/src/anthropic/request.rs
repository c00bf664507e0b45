//! Writes requests.
//!
//! Cache breakpoints sit on the system prompt, on the last message, and where the previous
//! request's last message was, so that each request reads what the one before it wrote. Messages
//! with a breakpoint are serialised again; all before them come from the cache.

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use zot_conversation::{
    ContentBlock, Image, Message, ModelRequest, Reasoning, Role, ToolDefinition, ToolResult,
};

use super::prefix::{self, Prefixes, Reader, Replay, Replayed};
use super::thinking::{ThinkingForm, ThinkingOptions};
use crate::body::{HeadCache, List, MessageCache, RequestBody};
use crate::call_ids::{CallIds, IdRule};
use crate::catalog::rules;
use crate::declaration::{
    Declaration, DeclarationCache, Declarations, Dialect, Naming, Parameters, WireArguments,
};
use crate::http::Delivery;
use crate::json;

#[derive(Default)]
pub(super) struct RequestCache {
    head: HeadCache,
    messages: MessageCache,
    declarations: DeclarationCache,
    prefixes: Prefixes,
    start: Option<Start>,
}

/// The first digest of a conversation, kept while model, system prompt and tools stay the same.
struct Start {
    model: String,
    head: Bytes,
    digest: [u8; 32],
}

/// How messages are written.
#[derive(Clone, Copy)]
struct Terms<'a> {
    provider: &'a str,
    naming: &'a Naming,
    ids: &'a CallIds,
}

impl RequestCache {
    pub(super) fn declare(
        &mut self,
        provider: &str,
        tools: &[Arc<ToolDefinition>],
    ) -> Arc<Declarations> {
        self.declarations.get(Dialect::Anthropic, provider, tools)
    }

    pub(super) fn body(
        &mut self,
        provider: &str,
        delivery: Delivery,
        request: &ModelRequest<'_>,
        thinking_form: ThinkingForm,
    ) -> Prepared {
        let declarations = self.declare(provider, request.tools);
        self.messages.write_for(&declarations.naming);
        let terms = Terms {
            provider,
            naming: &declarations.naming,
            ids: &CallIds::new(IdRule::Anthropic, request.messages),
        };
        let head = self.head.get(request.system, request.tools, |buffer| {
            let tools = declarations.of(request.tools);
            write_head(request.system, tools, buffer);
        });
        let start = start_of(&mut self.start, request.model, &head);
        let reader = Reader {
            provider,
            binds: rules::binds_thinking(request.model),
        };
        let chain = self.prefixes.follow(
            start,
            &reader,
            request.messages,
            |message, replay, buffer| {
                write_message(terms, message, replay, Breakpoint::Absent, buffer);
            },
        );

        let mut body = RequestBody::default();
        let thinking = ThinkingOptions::new(request, thinking_form, || {
            accepts_budget(provider, request.messages, |index| chain.replay(index))
        });
        let asks_to_think = thinking.thinking.is_some();
        body.begin(&Options {
            model: request.model,
            max_tokens: request.max_output,
            stream: delivery == Delivery::Streamed,
            thinking,
        });
        body.push(head);

        let breakpoints = Breakpoints::find(provider, request.messages);
        let (settled, recent) = request.messages.split_at(breakpoints.settled);
        let write = |index: usize, message: &Message, buffer: &mut Vec<u8>| {
            let breakpoint = breakpoints.at(index);
            write_message(terms, message, chain.replay(index), breakpoint, buffer);
        };
        let pieces = self.messages.get_written(chain.number(), settled, write);
        let mut tail = Vec::new();
        for (index, message) in recent.iter().enumerate() {
            write(breakpoints.settled + index, message, &mut tail);
        }
        body.finish(List::Empty, pieces.chain([tail.into()]));
        Prepared {
            body,
            asks_to_think,
            prefix: chain.prefix(),
            replayed: chain.replayed(provider),
        }
    }

    /// Stops replaying the thinking that the service refused.
    pub(super) fn refuse(&mut self, replayed: &Replayed) {
        self.prefixes.refuse(replayed);
    }
}

fn start_of(kept: &mut Option<Start>, model: &str, head: &Bytes) -> [u8; 32] {
    let same = |kept: &&Start| {
        // Comparing addresses is enough: the cache returns the same bytes while the head is
        // unchanged.
        kept.model == model && std::ptr::eq(kept.head.as_ref(), head.as_ref())
    };
    if let Some(kept) = kept.as_ref().filter(same) {
        return kept.digest;
    }
    let digest = prefix::start(model, head);
    *kept = Some(Start {
        model: model.to_owned(),
        head: head.clone(),
        digest,
    });
    digest
}

/// A request that is ready to be sent.
pub(super) struct Prepared {
    pub(super) body: RequestBody,
    /// Whether it requests thinking.
    pub(super) asks_to_think: bool,
    /// The digest of the prefix that the response follows.
    pub(super) prefix: String,
    /// The thinking of earlier responses that it replays.
    pub(super) replayed: Option<Replayed>,
}

#[derive(Serialize)]
struct Options<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(flatten)]
    thinking: ThinkingOptions,
}

/// Returns whether thinking with a budget can be requested: not in the middle of a turn that began
/// without thinking. (Adaptive thinking has no such rule.)
fn accepts_budget(
    provider: &str,
    messages: &[Arc<Message>],
    replay: impl Fn(usize) -> Replay,
) -> bool {
    let turn = messages
        .iter()
        .rposition(|message| message.role == Role::User)
        .map_or(0, |index| index + 1);
    let opening = messages
        .iter()
        .enumerate()
        .skip(turn)
        .find(|(_, message)| message.role == Role::Assistant);
    opening.is_none_or(|(index, message)| {
        let drops = replay(index) == Replay::Dropped;
        let first = message.content.iter().find(|block| {
            is_sent(provider, block) && !(drops && matches!(block, ContentBlock::Reasoning(_)))
        });
        matches!(first, Some(ContentBlock::Reasoning(_)))
    })
}

fn write_head(system: &str, tools: &[Declaration], buffer: &mut Vec<u8>) {
    if !tools.is_empty() {
        buffer.extend_from_slice(b",\"tools\":");
        let tools: Vec<Tool<'_>> = tools.iter().map(Tool::new).collect();
        json::append(buffer, &tools);
    }
    if !is_blank(system) {
        buffer.extend_from_slice(b",\"system\":");
        let block = Block::Text {
            text: Cow::Borrowed(system),
            cache_control: Some(CacheControl::Ephemeral),
        };
        json::append(buffer, &[block]);
    }
    buffer.extend_from_slice(b",\"messages\":[");
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Parameters,
}

impl<'a> Tool<'a> {
    fn new(declaration: &'a Declaration) -> Self {
        Self {
            name: &declaration.name,
            description: &declaration.description,
            input_schema: &declaration.parameters,
        }
    }
}

/// Which messages carry a cache breakpoint.
struct Breakpoints {
    /// Messages before this one carry none.
    settled: usize,
    last: Option<usize>,
    previous: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Breakpoint {
    Present,
    Absent,
}

impl Breakpoints {
    fn find(provider: &str, messages: &[Arc<Message>]) -> Self {
        let can_carry = |message: &Message| {
            message
                .content
                .iter()
                .filter(|block| is_sent(provider, block))
                .any(|block| !matches!(block, ContentBlock::Reasoning(_)))
        };
        let last = messages.iter().rposition(|message| can_carry(message));
        let previous = last.and_then(|last| {
            messages
                .iter()
                .take(last)
                .rposition(|message| message.role != Role::Assistant && can_carry(message))
        });
        Self {
            settled: previous.or(last).unwrap_or(messages.len()),
            last,
            previous,
        }
    }

    fn at(&self, index: usize) -> Breakpoint {
        match Some(index) == self.last || Some(index) == self.previous {
            true => Breakpoint::Present,
            false => Breakpoint::Absent,
        }
    }
}

#[derive(Serialize)]
struct WireMessage<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: ImageSource<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: WireArguments<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

#[derive(Serialize, Clone, Copy)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ImageSource<'a> {
    Base64 {
        media_type: &'a str,
        #[serde(serialize_with = "json::base64")]
        data: &'a Image,
    },
}

impl Block<'_> {
    fn takes_cache_control(&self) -> bool {
        !matches!(self, Self::Thinking { .. } | Self::RedactedThinking { .. })
    }

    fn set_cache_control(&mut self) {
        match self {
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::ToolUse { cache_control, .. }
            | Self::ToolResult { cache_control, .. } => {
                *cache_control = Some(CacheControl::Ephemeral);
            }
            Self::Thinking { .. } | Self::RedactedThinking { .. } => {}
        }
    }
}

fn write_message(
    terms: Terms<'_>,
    message: &Message,
    replay: Replay,
    breakpoint: Breakpoint,
    buffer: &mut Vec<u8>,
) {
    let blocks = message.content.iter().enumerate();
    let mut content: Vec<Block<'_>> = blocks
        .filter_map(|(position, block)| match block {
            ContentBlock::ToolCall(call) => Some(Block::ToolUse {
                id: terms.ids.wire(message, position, call.id.as_str()),
                name: terms.naming.tool(&call.name),
                input: terms.naming.arguments(&call.name, &call.arguments),
                cache_control: None,
            }),
            ContentBlock::ToolResult(result) => {
                let id = terms.ids.wire(message, position, result.call_id.as_str());
                Some(wire_result(id, result))
            }
            ContentBlock::Reasoning(_) if replay == Replay::Dropped => None,
            block => wire_block(terms.provider, block),
        })
        .collect();
    if content.is_empty() {
        return;
    }
    // An error result may hold text only: its images follow all results of the message.
    let beside = message.tool_results().filter(|result| result.is_error);
    content.extend(beside.flat_map(|result| result.content.iter().filter_map(image_block)));
    if breakpoint == Breakpoint::Present
        && let Some(block) = content
            .iter_mut()
            .rfind(|block| block.takes_cache_control())
    {
        block.set_cache_control();
    }
    let role = match message.role {
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
    };
    buffer.push(b',');
    json::append(buffer, &WireMessage { role, content });
}

/// Returns whether `block` is sent: the provider refuses blank text and reasoning of other
/// providers.
fn is_sent(provider: &str, block: &ContentBlock) -> bool {
    match block {
        ContentBlock::ToolCall(_) | ContentBlock::ToolResult(_) => true,
        block => wire_block(provider, block).is_some(),
    }
}

/// Converts text, an image or reasoning to the provider's form.
fn wire_block<'a>(provider: &str, block: &'a ContentBlock) -> Option<Block<'a>> {
    match block {
        ContentBlock::Text(text) => (!is_blank(text)).then(|| Block::Text {
            text: Cow::Borrowed(text),
            cache_control: None,
        }),
        ContentBlock::Image(_) => image_block(block),
        ContentBlock::Reasoning(reasoning) => wire_reasoning(provider, reasoning),
        ContentBlock::ToolCall(_) | ContentBlock::ToolResult(_) => None,
    }
}

fn image_block(block: &ContentBlock) -> Option<Block<'_>> {
    let ContentBlock::Image(image) = block else {
        return None;
    };
    Some(Block::Image {
        source: ImageSource::Base64 {
            media_type: &image.mime_type,
            data: image,
        },
        cache_control: None,
    })
}

fn wire_reasoning<'a>(provider: &str, reasoning: &'a Reasoning) -> Option<Block<'a>> {
    if reasoning.provider != provider {
        return None;
    }
    if let Some(data) = &reasoning.encrypted {
        return Some(Block::RedactedThinking { data });
    }
    let signature = reasoning.signature.as_deref()?;
    Some(Block::Thinking {
        thinking: &reasoning.text,
        signature,
    })
}

fn wire_result<'a>(id: Cow<'a, str>, result: &'a ToolResult) -> Block<'a> {
    // Results hold text and images only, for which the provider's name does not matter.
    let mut content: Vec<Block<'a>> = result
        .content
        .iter()
        .filter(|block| !result.is_error || !matches!(block, ContentBlock::Image(_)))
        .filter_map(|block| wire_block("", block))
        .collect();
    if content.is_empty() && result.is_error {
        // An error without content is refused.
        content.push(Block::Text {
            text: Cow::Borrowed("(no output)"),
            cache_control: None,
        });
    }
    Block::ToolResult {
        tool_use_id: id,
        content,
        is_error: result.is_error,
        cache_control: None,
    }
}

fn is_blank(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

#[cfg(test)]
mod tests;
