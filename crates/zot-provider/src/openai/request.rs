//! Writes requests.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use zot_conversation::{
    ContentBlock, Image, Message, ModelRequest, ReasoningEffort, Role, Sampling, ToolDefinition,
    ToolResult,
};

use super::{
    CallIdForm, EffortField, OpenAiQuirks, OutputLimitField, ReasoningReplay, UsageReport,
};
use crate::body::{HeadCache, List, MessageCache, RequestBody};
use crate::call_ids::{CallIds, IdRule};
use crate::declaration::{
    Declaration, DeclarationCache, Declarations, Dialect, Naming, Parameters, WireArguments,
};
use crate::endpoint::Target;
use crate::http::Delivery;
use crate::json;
use crate::openai_wires::{OpenAiWireClient, RequestWriter};
use crate::sampling;

/// The text of a result without text: several servers refuse an empty one.
const NO_TEXT: &str = "(no output)";

#[derive(Default)]
pub(crate) struct RequestCache {
    head: HeadCache,
    messages: MessageCache,
    declarations: DeclarationCache,
    /// The rule for which the ids in the cached messages were written.
    id_rule: Option<IdRule>,
}

/// How messages are written.
#[derive(Clone, Copy)]
struct Terms<'a> {
    provider: &'a str,
    quirks: OpenAiQuirks,
    naming: &'a Naming,
    ids: &'a CallIds,
}

impl RequestWriter for RequestCache {
    type Quirks = OpenAiQuirks;

    const TARGET: Target<'static> = super::TARGET;

    fn declare(&mut self, provider: &str, tools: &[Arc<ToolDefinition>]) -> Arc<Declarations> {
        self.declarations.get(Dialect::OpenAi, provider, tools)
    }

    fn body(
        &mut self,
        client: &OpenAiWireClient<Self>,
        request: &ModelRequest<'_>,
        effort: Option<ReasoningEffort>,
    ) -> RequestBody {
        let (provider, delivery) = (&client.endpoint.provider, client.http.delivery());
        self.write(provider, client.quirks, delivery, request, effort)
    }
}

impl RequestCache {
    pub(super) fn write(
        &mut self,
        provider: &str,
        quirks: OpenAiQuirks,
        delivery: Delivery,
        request: &ModelRequest<'_>,
        effort: Option<ReasoningEffort>,
    ) -> RequestBody {
        let declarations = self.declare(provider, request.tools);
        let id_rule = match quirks.call_ids {
            CallIdForm::NineAlphanumerics => IdRule::Mistral,
            CallIdForm::ByModel => IdRule::of_chat_model(request.model),
        };
        if self.id_rule.replace(id_rule) != Some(id_rule) {
            self.messages = MessageCache::default();
        }
        self.messages.write_for(&declarations.naming);
        let terms = Terms {
            provider,
            quirks,
            naming: &declarations.naming,
            ids: &CallIds::new(id_rule, request.messages),
        };
        let mut body = RequestBody::default();
        body.begin(&Options::new(quirks, delivery, request, effort));
        body.push(self.head.get(request.system, request.tools, |buffer| {
            let tools = declarations.of(request.tools);
            write_head(request.system, tools, buffer);
        }));
        let pieces = self.messages.get(request.messages, |message, buffer| {
            write_message(terms, message, buffer);
        });
        let list = match request.system.is_empty() {
            true => List::Empty,
            false => List::Started,
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
    reasoning: Option<ReasoningOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
}

#[derive(Serialize)]
struct ReasoningOptions {
    effort: &'static str,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

impl<'a> Options<'a> {
    fn new(
        quirks: OpenAiQuirks,
        delivery: Delivery,
        request: &ModelRequest<'a>,
        effort: Option<ReasoningEffort>,
    ) -> Self {
        let stream = delivery == Delivery::Streamed;
        let Sampling { temperature, top_p } = sampling::openai(request, effort);
        let limit = |field| (quirks.output_limit == field).then_some(request.max_output);
        Self {
            model: request.model,
            stream,
            stream_options: (stream && quirks.usage_report == UsageReport::OnRequest).then_some(
                StreamOptions {
                    include_usage: true,
                },
            ),
            max_tokens: limit(OutputLimitField::MaxTokens),
            max_completion_tokens: limit(OutputLimitField::MaxCompletionTokens),
            reasoning_effort: effort
                .filter(|_| quirks.effort == EffortField::ReasoningEffort)
                .map(ReasoningEffort::as_str),
            reasoning: effort
                .filter(|_| quirks.effort == EffortField::Reasoning)
                .map(|effort| ReasoningOptions {
                    effort: effort.as_str(),
                }),
            temperature,
            top_p,
        }
    }
}

fn write_head(system: &str, tools: &[Declaration], buffer: &mut Vec<u8>) {
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
    parameters: &'a Parameters,
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
        reasoning_details: Vec<&'a RawValue>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<WireCall<'a>>,
    },
    Tool {
        tool_call_id: Cow<'a, str>,
        content: Cow<'a, str>,
    },
}

/// A plain string where possible: not every server accepts parts.
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
    id: Cow<'a, str>,
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: Cow<'a, str>,
    #[serde(serialize_with = "as_text")]
    arguments: WireArguments<'a>,
}

/// Arguments are JSON in a string on this wire.
fn as_text<S: serde::Serializer>(
    arguments: &WireArguments<'_>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(arguments.text())
}

fn write_message(terms: Terms<'_>, message: &Message, buffer: &mut Vec<u8>) {
    match message.role {
        Role::User => write_user(message, buffer),
        Role::Assistant => write_assistant(terms, message, buffer),
        Role::Tool => write_results(terms, message, buffer),
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

fn write_assistant(terms: Terms<'_>, message: &Message, buffer: &mut Vec<u8>) {
    let blocks = message.content.iter().enumerate();
    let tool_calls: Vec<WireCall<'_>> = blocks
        .filter_map(|(position, block)| match block {
            ContentBlock::ToolCall(call) => Some(WireCall {
                id: terms.ids.wire(message, position, call.id.as_str()),
                kind: "function",
                function: WireFunction {
                    name: terms.naming.tool(&call.name),
                    arguments: terms.naming.arguments(&call.name, &call.arguments),
                },
            }),
            _ => None,
        })
        .collect();
    let text: Cow<'_, str> = message.text().into();
    if text.is_empty() && tool_calls.is_empty() {
        return;
    }
    let replays = match terms.quirks.reasoning_replay {
        ReasoningReplay::Never => false,
        ReasoningReplay::WithToolCalls => !tool_calls.is_empty(),
        ReasoningReplay::Always | ReasoningReplay::AsParts => true,
    };
    let reasoning = replays
        .then(|| reasoning_text(terms.provider, message))
        .filter(|text| !text.is_empty());
    let text = Some(text).filter(|text| !text.is_empty());
    let (content, reasoning_content) = match reasoning {
        Some(thought) if terms.quirks.reasoning_replay == ReasoningReplay::AsParts => {
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
        reasoning_details: reasoning_details(terms.provider, message),
        tool_calls,
    };
    push(&message, buffer);
}

fn write_results(terms: Terms<'_>, message: &Message, buffer: &mut Vec<u8>) {
    for (position, block) in message.content.iter().enumerate() {
        let ContentBlock::ToolResult(result) = block else {
            continue;
        };
        let wire = WireMessage::Tool {
            tool_call_id: terms.ids.wire(message, position, result.call_id.as_str()),
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

/// Joins the text blocks with line feeds; borrows the text if there is only one.
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

/// Returns the details that OpenRouter expects back unchanged.
fn reasoning_details<'a>(provider: &str, message: &'a Message) -> Vec<&'a RawValue> {
    let blocks = message.content.iter();
    blocks
        .filter_map(|block| match block {
            ContentBlock::Reasoning(reasoning) if reasoning.provider == provider => {
                reasoning.details.as_deref()
            }
            _ => None,
        })
        .flat_map(|details| serde_json::from_str::<Vec<&RawValue>>(details).unwrap_or_default())
        .collect()
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
