//! What is sent.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use zot_conversation::{
    ContentBlock, Image, Message, ModelRequest, Role, Sampling, ToolCall, ToolDefinition,
    ToolResult,
};

use super::{EffortField, OpenAiQuirks, OutputLimitField, ReasoningReplay, UsageReport};
use crate::body::{HeadCache, List, MessageCache, RequestBody};
use crate::json;
use crate::sampling;

/// Stands for a result without text: several servers refuse an empty one.
const NO_TEXT: &str = "(no output)";

#[derive(Default)]
pub(super) struct RequestCache {
    head: HeadCache,
    messages: MessageCache,
}

impl RequestCache {
    pub(super) fn body(
        &mut self,
        provider: &str,
        quirks: OpenAiQuirks,
        request: &ModelRequest<'_>,
    ) -> RequestBody {
        let mut body = RequestBody::default();
        body.begin(&Options::new(quirks, request));
        body.push(self.head.get(request.system, request.tools, |buffer| {
            write_head(request.system, request.tools, buffer);
        }));
        let pieces = self.messages.get(request.messages, |message, buffer| {
            write_message(provider, quirks, message, buffer);
        });
        let list = match request.system.is_empty() {
            true => List::Empty,
            false => List::Begun,
        };
        body.finish(list, pieces);
        body
    }
}

#[derive(Serialize)]
struct Options<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

impl<'a> Options<'a> {
    fn new(quirks: OpenAiQuirks, request: &ModelRequest<'a>) -> Self {
        let Sampling { temperature, top_p } = sampling::openai(request);
        let limit = |field| (quirks.output_limit == field).then_some(request.max_output);
        Self {
            model: request.model,
            stream: true,
            stream_options: (quirks.usage_report == UsageReport::OnRequest).then_some(
                StreamOptions {
                    include_usage: true,
                },
            ),
            max_tokens: limit(OutputLimitField::MaxTokens),
            max_completion_tokens: limit(OutputLimitField::MaxCompletionTokens),
            reasoning_effort: request
                .reasoning
                .filter(|_| quirks.effort == EffortField::ReasoningEffort)
                .map(|effort| effort.as_str()),
            temperature,
            top_p,
        }
    }
}

fn write_head(system: &str, tools: &[Arc<ToolDefinition>], buffer: &mut Vec<u8>) {
    if !tools.is_empty() {
        buffer.extend_from_slice(b",\"tools\":");
        let tools: Vec<Tool<'_>> = tools
            .iter()
            .map(|tool| Tool::Function {
                function: FunctionDefinition {
                    name: &tool.name,
                    description: &tool.description,
                    parameters: &tool.parameters,
                },
            })
            .collect();
        json::append(buffer, &tools);
    }
    buffer.extend_from_slice(b",\"messages\":[");
    if !system.is_empty() {
        let message = WireMessage::System { content: system };
        json::append(buffer, &message);
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function { function: FunctionDefinition<'a> },
}

#[derive(Serialize)]
struct FunctionDefinition<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum WireMessage<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        content: Option<Content<'a>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<Cow<'a, str>>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: Cow<'a, str>,
    },
}

/// A plain string where possible: not every server takes parts.
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

impl Serialize for Content<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Parts(parts) => parts.serialize(serializer),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
    Thinking { thinking: [ThinkingText; 1] },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ThinkingText {
    Text { text: String },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    #[serde(serialize_with = "json::data_url")]
    url: &'a Image,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

fn write_message(provider: &str, quirks: OpenAiQuirks, message: &Message, buffer: &mut Vec<u8>) {
    match message.role {
        Role::User => write_user(message, buffer),
        Role::Assistant => write_assistant(provider, quirks, message, buffer),
        Role::Tool => write_results(message, buffer),
    }
}

fn push(message: &WireMessage<'_>, buffer: &mut Vec<u8>) {
    buffer.push(b',');
    json::append(buffer, message);
}

fn write_user(message: &Message, buffer: &mut Vec<u8>) {
    let has_image = message
        .content
        .iter()
        .any(|block| matches!(block, ContentBlock::Image(_)));
    let content = match has_image {
        true => Content::Parts(message.content.iter().filter_map(part).collect()),
        false => Content::Text(joined(&message.content)),
    };
    push(&WireMessage::User { content }, buffer);
}

fn write_assistant(provider: &str, quirks: OpenAiQuirks, message: &Message, buffer: &mut Vec<u8>) {
    let tool_calls: Vec<WireCall<'_>> = message.tool_calls().map(wire_call).collect();
    let text: Cow<'_, str> = message.text().into();
    if text.is_empty() && tool_calls.is_empty() {
        return;
    }
    let replays = match quirks.reasoning_replay {
        ReasoningReplay::Never => false,
        ReasoningReplay::WithToolCalls => !tool_calls.is_empty(),
        ReasoningReplay::Always | ReasoningReplay::AsParts => true,
    };
    let reasoning = replays
        .then(|| reasoning_text(provider, message))
        .filter(|text| !text.is_empty());
    let text = Some(text).filter(|text| !text.is_empty());
    let (content, reasoning_content) = match reasoning {
        Some(thought) if quirks.reasoning_replay == ReasoningReplay::AsParts => {
            let thinking = [ThinkingText::Text { text: thought }];
            let mut parts = vec![Part::Thinking { thinking }];
            parts.extend(text.map(|text| Part::Text { text }));
            (Some(Content::Parts(parts)), None)
        }
        reasoning => (text.map(Content::Text), reasoning.map(Cow::Owned)),
    };
    let message = WireMessage::Assistant {
        content,
        reasoning_content,
        tool_calls,
    };
    push(&message, buffer);
}

fn write_results(message: &Message, buffer: &mut Vec<u8>) {
    for result in message.tool_results() {
        let wire = WireMessage::Tool {
            tool_call_id: result.call_id.as_str(),
            content: result_text(result),
        };
        push(&wire, buffer);
    }
}

fn result_text(result: &ToolResult) -> Cow<'_, str> {
    let mut text = joined(&result.content);
    if text.is_empty() {
        text = Cow::Borrowed(NO_TEXT);
    }
    if result.is_error {
        // The wire has no field for it.
        text.to_mut().push_str(" [error]");
    }
    text
}

fn wire_call(call: &ToolCall) -> WireCall<'_> {
    WireCall {
        id: call.id.as_str(),
        kind: "function",
        function: WireFunction {
            name: &call.name,
            arguments: call.arguments.json_or_empty(),
        },
    }
}

fn part(block: &ContentBlock) -> Option<Part<'_>> {
    match block {
        ContentBlock::Text(text) if !text.is_empty() => Some(Part::Text {
            text: Cow::Borrowed(text),
        }),
        ContentBlock::Image(image) => Some(Part::ImageUrl {
            image_url: ImageUrl { url: image },
        }),
        _ => None,
    }
}

/// The text blocks on lines of their own; borrowed when there is only one.
fn joined(content: &[ContentBlock]) -> Cow<'_, str> {
    let mut texts = content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let mut joined = Cow::Borrowed(texts.next().unwrap_or_default());
    for text in texts {
        let joined = joined.to_mut();
        joined.push('\n');
        joined.push_str(text);
    }
    joined
}

fn reasoning_text(provider: &str, message: &Message) -> String {
    message
        .content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::Reasoning(reasoning) if reasoning.provider == provider => {
                Some(reasoning.text.as_str())
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests;
