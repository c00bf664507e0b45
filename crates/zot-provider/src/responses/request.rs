//! Writes requests.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use zot_conversation::{
    ContentBlock, Image, Message, ModelRequest, Reasoning, ReasoningEffort, Role, Sampling,
    ToolDefinition, ToolResult,
};

use super::MessageDetails;
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

/// The text of a result without content, which would be refused.
const NO_OUTPUT: &str = "(no output)";

/// Marks a failed call: the wire has no field for it.
const ERROR_MARK: &str = "[error]";

#[derive(Default)]
pub(crate) struct RequestCache {
    head: HeadCache,
    messages: MessageCache,
    declarations: DeclarationCache,
    /// The generation for which the cached messages were written.
    replay: Replay,
}

/// Whether reasoning items are sent back: models that do not reason refuse them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Replay {
    #[default]
    WithReasoning,
    WithoutReasoning,
}

impl Replay {
    fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or_default();
        let plain = ["gpt-3", "gpt-4", "chatgpt-"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        match plain || name.contains("-chat") {
            true => Self::WithoutReasoning,
            false => Self::WithReasoning,
        }
    }
}

/// How messages are written.
#[derive(Clone, Copy)]
struct Terms<'a> {
    provider: &'a str,
    replay: Replay,
    naming: &'a Naming,
    ids: &'a CallIds,
}

impl RequestWriter for RequestCache {
    type Quirks = ();

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
        self.write(provider, delivery, request, effort)
    }
}

impl RequestCache {
    pub(super) fn write(
        &mut self,
        provider: &str,
        delivery: Delivery,
        request: &ModelRequest<'_>,
        effort: Option<ReasoningEffort>,
    ) -> RequestBody {
        let declarations = self.declare(provider, request.tools);
        let replay = Replay::of(request.model);
        if replay != self.replay {
            self.messages = MessageCache::default();
            self.replay = replay;
        }
        self.messages.write_for(&declarations.naming);
        let terms = Terms {
            provider,
            replay,
            naming: &declarations.naming,
            ids: &CallIds::new(IdRule::OpenAiResponses, request.messages),
        };
        let mut body = RequestBody::default();
        body.begin(&Options::new(replay, delivery, request, effort));
        body.push(self.head.get(request.system, request.tools, |buffer| {
            let tools = declarations.of(request.tools);
            write_head(request.system, tools, buffer);
        }));
        let pieces = self.messages.get(request.messages, |message, buffer| {
            write_message(terms, message, buffer);
        });
        body.finish(List::Empty, pieces);
        body
    }
}

#[derive(Serialize)]
struct Options<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    max_output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    include: Option<[&'static str; 1]>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

impl<'a> Options<'a> {
    fn new(
        replay: Replay,
        delivery: Delivery,
        request: &ModelRequest<'a>,
        effort: Option<ReasoningEffort>,
    ) -> Self {
        let Sampling { temperature, top_p } = sampling::openai(request, effort);
        Self {
            model: request.model,
            stream: delivery == Delivery::Streamed,
            store: false,
            max_output_tokens: request.max_output,
            include: (replay == Replay::WithReasoning).then_some(["reasoning.encrypted_content"]),
            reasoning: effort.map(|effort| ReasoningOptions {
                effort: effort.as_str(),
                summary: (effort != ReasoningEffort::None).then_some("auto"),
            }),
            temperature,
            top_p,
        }
    }
}

fn write_head(system: &str, tools: &[Declaration], buffer: &mut Vec<u8>) {
    if !system.is_empty() {
        buffer.extend_from_slice(b",\"instructions\":");
        json::append(buffer, &system);
    }
    if !tools.is_empty() {
        buffer.extend_from_slice(b",\"tools\":");
        let tools: Vec<Tool<'_>> = tools
            .iter()
            .map(|tool| Tool::Function {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.parameters,
                strict: false,
            })
            .collect();
        json::append(buffer, &tools);
    }
    buffer.extend_from_slice(b",\"input\":[");
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Tool<'a> {
    Function {
        name: &'a str,
        description: &'a str,
        parameters: &'a Parameters,
        /// Defaults to true if omitted, and then most schemas are refused.
        strict: bool,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    Message {
        role: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        phase: Option<String>,
        content: Vec<Part<'a>>,
    },
    Reasoning {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        summary: Vec<Summary<'a>>,
        encrypted_content: &'a str,
    },
    FunctionCall {
        call_id: Cow<'a, str>,
        name: Cow<'a, str>,
        #[serde(serialize_with = "as_text")]
        arguments: WireArguments<'a>,
    },
    FunctionCallOutput {
        call_id: Cow<'a, str>,
        output: Output<'a>,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    InputText {
        text: Cow<'a, str>,
    },
    InputImage {
        #[serde(serialize_with = "json::data_url")]
        image_url: &'a Image,
        detail: &'static str,
    },
    OutputText {
        text: &'a str,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Summary<'a> {
    SummaryText { text: &'a str },
}

/// A plain string where possible: not every compatible server accepts parts.
enum Output<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

impl Serialize for Output<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Parts(parts) => parts.serialize(serializer),
        }
    }
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
        Role::User => {
            let content: Vec<Part<'_>> = message.content.iter().filter_map(input_part).collect();
            if !content.is_empty() {
                let role = "user";
                let phase = None;
                push(
                    &Item::Message {
                        role,
                        phase,
                        content,
                    },
                    buffer,
                );
            }
        }
        Role::Assistant => write_assistant(terms, message, buffer),
        Role::Tool => {
            for (position, block) in message.content.iter().enumerate() {
                let ContentBlock::ToolResult(result) = block else {
                    continue;
                };
                let item = Item::FunctionCallOutput {
                    call_id: terms.ids.wire(message, position, result.call_id.as_str()),
                    output: output(result),
                };
                push(&item, buffer);
            }
        }
    }
}

fn push(item: &Item<'_>, buffer: &mut Vec<u8>) {
    buffer.push(b',');
    json::append(buffer, item);
}

fn write_assistant(terms: Terms<'_>, message: &Message, buffer: &mut Vec<u8>) {
    let content = &message.content;
    // Reasoning without the item it led to is refused.
    let last_item = content.iter().rposition(|block| match block {
        ContentBlock::Text(text) => !text.is_empty(),
        block => matches!(block, ContentBlock::ToolCall(_)),
    });
    let Some(last_item) = last_item else {
        return;
    };
    for (position, block) in content.iter().enumerate().take(last_item + 1) {
        match block {
            ContentBlock::Text(text) if !text.is_empty() => {
                let item = Item::Message {
                    role: "assistant",
                    phase: content
                        .get(position + 1)
                        .filter(|_| terms.replay == Replay::WithReasoning)
                        .and_then(|next| phase(terms.provider, next)),
                    content: vec![Part::OutputText { text }],
                };
                push(&item, buffer);
            }
            ContentBlock::Reasoning(reasoning) if terms.replay == Replay::WithReasoning => {
                if let Some(item) = reasoning_item(terms.provider, reasoning) {
                    push(&item, buffer);
                }
            }
            ContentBlock::ToolCall(call) => {
                let item = Item::FunctionCall {
                    call_id: terms.ids.wire(message, position, call.id.as_str()),
                    name: terms.naming.tool(&call.name),
                    arguments: terms.naming.arguments(&call.name, &call.arguments),
                };
                push(&item, buffer);
            }
            _ => {}
        }
    }
}

/// Returns the phase of the message whose text precedes `block`.
fn phase(provider: &str, block: &ContentBlock) -> Option<String> {
    let ContentBlock::Reasoning(reasoning) = block else {
        return None;
    };
    let details = reasoning
        .details
        .as_deref()
        .filter(|_| reasoning.provider == provider)?;
    serde_json::from_str::<MessageDetails>(details).ok()?.phase
}

/// Returns the item unchanged. Without encrypted content it cannot be sent, because the server
/// stores nothing.
fn reasoning_item<'a>(provider: &str, reasoning: &'a Reasoning) -> Option<Item<'a>> {
    if reasoning.provider != provider {
        return None;
    }
    let text = reasoning.text.as_str();
    Some(Item::Reasoning {
        id: reasoning.id.as_deref(),
        summary: match text.is_empty() {
            true => Vec::new(),
            false => vec![Summary::SummaryText { text }],
        },
        encrypted_content: reasoning.encrypted.as_deref()?,
    })
}

fn output(result: &ToolResult) -> Output<'_> {
    let mut parts: Vec<Part<'_>> = result.content.iter().filter_map(input_part).collect();
    if parts.is_empty() {
        parts.push(input_text(NO_OUTPUT));
    }
    if result.is_error {
        parts.push(input_text(ERROR_MARK));
    }
    let only_text = parts
        .iter()
        .all(|part| matches!(part, Part::InputText { .. }));
    if !only_text {
        return Output::Parts(parts);
    }
    let mut texts = parts.into_iter().filter_map(|part| match part {
        Part::InputText { text } => Some(text),
        _ => None,
    });
    let mut joined = texts.next().unwrap_or_default();
    for text in texts {
        let joined = joined.to_mut();
        joined.push('\n');
        joined.push_str(&text);
    }
    Output::Text(joined)
}

fn input_text(text: &str) -> Part<'_> {
    Part::InputText {
        text: Cow::Borrowed(text),
    }
}

fn input_part(block: &ContentBlock) -> Option<Part<'_>> {
    match block {
        ContentBlock::Text(text) if !text.is_empty() => Some(input_text(text)),
        ContentBlock::Image(image) => Some(Part::InputImage {
            image_url: image,
            detail: "auto",
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
