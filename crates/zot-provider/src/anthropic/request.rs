//! What is sent.
//!
//! Cache breakpoints sit on the system prompt, on the last message, and where the previous
//! request's last message was, so that each request reads what the one before it wrote. Messages
//! with a breakpoint are serialised anew; all before them come from the cache.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use zot_conversation::{
    ContentBlock, Image, Message, ModelRequest, Reasoning, ReasoningEffort, Role, Sampling,
    ToolDefinition, ToolResult,
};

use crate::body::{HeadCache, List, MessageCache, RequestBody};
use crate::call_ids::{CallIds, IdRule};
use crate::declaration::{
    Declaration, DeclarationCache, Declarations, Dialect, Naming, Parameters, WireArguments,
};
use crate::http::Delivery;
use crate::json;

/// The least the provider accepts.
const MIN_THINKING_BUDGET: u64 = 1024;

/// Thinking counts against the output limit; this much is left for the answer where possible.
const ANSWER_RESERVE: u64 = 4096;

#[derive(Default)]
pub(super) struct RequestCache {
    head: HeadCache,
    messages: MessageCache,
    declarations: DeclarationCache,
}

/// What messages are written by.
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
    ) -> RequestBody {
        let declarations = self.declare(provider, request.tools);
        self.messages.write_for(&declarations.naming);
        let terms = Terms {
            provider,
            naming: &declarations.naming,
            ids: &CallIds::new(IdRule::Anthropic, request.messages),
        };
        let mut body = RequestBody::default();
        body.begin(&Options::new(provider, delivery, request));
        body.push(self.head.get(request.system, request.tools, |buffer| {
            let tools = declarations.of(request.tools);
            write_head(request.system, tools, buffer);
        }));

        let breakpoints = Breakpoints::find(provider, request.messages);
        let (settled, recent) = request.messages.split_at(breakpoints.settled);
        let pieces = self.messages.get(settled, |message, buffer| {
            write_message(terms, message, Breakpoint::Absent, buffer);
        });
        let mut tail = Vec::new();
        for (index, message) in recent.iter().enumerate() {
            let breakpoint = breakpoints.at(breakpoints.settled + index);
            write_message(terms, message, breakpoint, &mut tail);
        }
        body.finish(List::Empty, pieces.chain([tail.into()]));
        body
    }
}

#[derive(Serialize)]
struct Options<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Thinking {
    Enabled { budget_tokens: u64 },
}

impl<'a> Options<'a> {
    fn new(provider: &str, delivery: Delivery, request: &ModelRequest<'a>) -> Self {
        let thinking = request
            .reasoning
            .filter(|_| accepts_thinking(provider, request.messages))
            .and_then(|effort| thinking_budget(effort, request.max_output))
            .map(|budget_tokens| Thinking::Enabled { budget_tokens });
        let Sampling { temperature, top_p } = match thinking {
            // Refused then.
            Some(_) => Sampling::default(),
            None => request.sampling,
        };
        Self {
            model: request.model,
            max_tokens: request.max_output,
            stream: delivery == Delivery::Streamed,
            thinking,
            temperature,
            // Newer models refuse both at once.
            top_p: top_p.filter(|_| temperature.is_none()),
        }
    }
}

/// How many tokens may go into thinking; `None` when the output limit leaves no room for it.
fn thinking_budget(effort: ReasoningEffort, max_output: u64) -> Option<u64> {
    let wanted = match effort {
        ReasoningEffort::None => return None,
        ReasoningEffort::Minimal => MIN_THINKING_BUDGET,
        ReasoningEffort::Low => 4096,
        ReasoningEffort::Medium => 10_240,
        ReasoningEffort::High => 32_768,
        ReasoningEffort::Xhigh | ReasoningEffort::Max => 65_536,
    };
    let room = max_output
        .saturating_sub(ANSWER_RESERVE)
        .max(MIN_THINKING_BUDGET);
    Some(wanted.min(room)).filter(|&budget| budget < max_output)
}

/// A turn under way that did not begin with thinking cannot have it switched on in its middle.
fn accepts_thinking(provider: &str, messages: &[Arc<Message>]) -> bool {
    let turn = messages
        .iter()
        .rposition(|message| message.role == Role::User)
        .map_or(0, |index| index + 1);
    let opening = messages
        .iter()
        .skip(turn)
        .find(|message| message.role == Role::Assistant);
    opening.is_none_or(|message| {
        let first = message
            .content
            .iter()
            .find(|block| is_sent(provider, block));
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

/// Where the messages carry a cache breakpoint.
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
            block => wire_block(terms.provider, block),
        })
        .collect();
    if content.is_empty() {
        return;
    }
    // An error result holds text only: its images stand behind all results of the message.
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

/// Whether the provider takes `block`: it refuses blank text and foreign reasoning.
fn is_sent(provider: &str, block: &ContentBlock) -> bool {
    match block {
        ContentBlock::ToolCall(_) | ContentBlock::ToolResult(_) => true,
        block => wire_block(provider, block).is_some(),
    }
}

/// Text, an image or reasoning as the provider takes it.
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
    // Text and images only, which no provider's name matters to.
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
