//! Writes requests.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use zot_conversation::{
    ContentBlock, Image, Message, ModelRequest, Reasoning, ReasoningEffort, Role, ToolDefinition,
    ToolResult,
};

use super::SERVER_ID_MARK;
use crate::body::{HeadCache, List, MessageCache, RequestBody};
use crate::declaration::{
    Declaration, DeclarationCache, Declarations, Dialect, Naming, Parameters, WireArguments,
};
use crate::json;

/// The text of a result without text.
const NO_TEXT: &str = "(no output)";

/// The value Google accepts as the signature of a call that none of its models made.
const FOREIGN_CALL_SIGNATURE: &str = "skip_thought_signature_validator";

/// The first generation that requires signatures and takes a level instead of a budget.
const FIRST_STRICT_GENERATION: u32 = 3;

/// The smallest budget that every model of the budget generation accepts.
///
/// Limit: with less, thinking is left out.
const MIN_GEMINI_THINKING_BUDGET: u64 = 512;

/// Thinking counts against the output limit; this much is left for the response where possible.
///
/// Limit: thinking gets less, so that this many tokens remain for the response.
const GEMINI_ANSWER_RESERVE: u64 = 4096;

#[derive(Default)]
pub(super) struct RequestCache {
    head: HeadCache,
    messages: MessageCache,
    declarations: DeclarationCache,
    /// The generation for which the cached messages were written.
    generation: Generation,
}

/// How a model treats thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Generation {
    /// A budget of tokens; signatures are optional.
    Budget,
    /// A level; the first call of each step must carry a signature.
    #[default]
    Level,
}

impl Generation {
    fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or_default();
        let number = name
            .strip_prefix("gemini-")
            .and_then(|rest| rest.split(['.', '-']).next())
            .and_then(|number| number.parse::<u32>().ok());
        match number {
            Some(number) if number < FIRST_STRICT_GENERATION => Self::Budget,
            _ => Self::Level,
        }
    }
}

/// How messages are written.
#[derive(Clone, Copy)]
struct Terms<'a> {
    provider: &'a str,
    generation: Generation,
    naming: &'a Naming,
}

impl RequestCache {
    pub(super) fn declare(
        &mut self,
        provider: &str,
        tools: &[Arc<ToolDefinition>],
    ) -> Arc<Declarations> {
        self.declarations.get(Dialect::Gemini, provider, tools)
    }

    pub(super) fn body(&mut self, provider: &str, request: &ModelRequest<'_>) -> RequestBody {
        let declarations = self.declare(provider, request.tools);
        let generation = Generation::of(request.model);
        if generation != self.generation {
            self.messages = MessageCache::default();
            self.generation = generation;
        }
        self.messages.write_for(&declarations.naming);
        let terms = Terms {
            provider,
            generation,
            naming: &declarations.naming,
        };
        let mut body = RequestBody::default();
        body.begin(&Options::new(generation, request));
        body.push(self.head.get(request.system, request.tools, |buffer| {
            let tools = declarations.of(request.tools);
            write_head(request.system, tools, buffer);
        }));
        // A result must name the function; the name is in the previous message. New messages are
        // serialised in order, so one walk finds each one's predecessor.
        let mut walk = request.messages.iter();
        let mut before: Option<&Arc<Message>> = None;
        let mut at: Option<&Arc<Message>> = None;
        let pieces = self.messages.get(request.messages, |message, buffer| {
            for candidate in walk.by_ref() {
                before = at.replace(candidate);
                if std::ptr::eq(candidate.as_ref(), message) {
                    break;
                }
            }
            let before = before.map(AsRef::as_ref);
            write_message(terms, message, before, buffer);
        });
        body.finish(List::Empty, pieces);
        body
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Options {
    generation_config: GenerationConfig,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    max_output_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
}

impl Options {
    fn new(generation: Generation, request: &ModelRequest<'_>) -> Self {
        let thinking_config = request.reasoning.map(|effort| ThinkingConfig {
            include_thoughts: true,
            thinking_budget: (generation == Generation::Budget)
                .then(|| thinking_budget(effort, request.max_output)),
            thinking_level: (generation == Generation::Level)
                .then(|| thinking_level(effort, request.model)),
        });
        Self {
            generation_config: GenerationConfig {
                max_output_tokens: request.max_output,
                temperature: request.sampling.temperature,
                top_p: request.sampling.top_p,
                thinking_config,
            },
        }
    }
}

fn thinking_budget(effort: ReasoningEffort, max_output: u64) -> u64 {
    let wanted = match effort {
        ReasoningEffort::None | ReasoningEffort::Minimal => MIN_GEMINI_THINKING_BUDGET,
        ReasoningEffort::Low => 2048,
        ReasoningEffort::Medium => 8192,
        ReasoningEffort::High | ReasoningEffort::Xhigh | ReasoningEffort::Max => 24_576,
    };
    let room = max_output
        .saturating_sub(GEMINI_ANSWER_RESERVE)
        .max(MIN_GEMINI_THINKING_BUDGET);
    wanted.min(room)
}

fn thinking_level(effort: ReasoningEffort, model: &str) -> &'static str {
    match effort {
        // The large models accept nothing lower.
        ReasoningEffort::None | ReasoningEffort::Minimal if model.contains("-pro") => "low",
        ReasoningEffort::None | ReasoningEffort::Minimal => "minimal",
        ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        ReasoningEffort::High | ReasoningEffort::Xhigh | ReasoningEffort::Max => "high",
    }
}

fn write_head(system: &str, tools: &[Declaration], buffer: &mut Vec<u8>) {
    if !system.is_empty() {
        buffer.extend_from_slice(b",\"systemInstruction\":");
        let parts = [Part::text(system)];
        json::append(buffer, &SystemInstruction { parts });
    }
    if !tools.is_empty() {
        buffer.extend_from_slice(b",\"tools\":");
        let function_declarations = tools
            .iter()
            .map(|tool| FunctionDeclaration {
                name: &tool.name,
                description: &tool.description,
                parameters: &tool.parameters,
            })
            .collect();
        json::append(
            buffer,
            &[Tool {
                function_declarations,
            }],
        );
    }
    buffer.extend_from_slice(b",\"contents\":[");
}

#[derive(Serialize)]
struct SystemInstruction<'a> {
    parts: [Part<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Serialize)]
struct FunctionDeclaration<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Parameters::is_absent")]
    parameters: &'a Parameters,
}

#[derive(Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: Vec<Part<'a>>,
}

#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    thought: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<InlineData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    #[serde(serialize_with = "json::base64")]
    data: &'a Image,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: Cow<'a, str>,
    args: WireArguments<'a>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: Cow<'a, str>,
    response: ResponseObject<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum ResponseObject<'a> {
    Output(Cow<'a, str>),
    Error(Cow<'a, str>),
}

impl<'a> Part<'a> {
    fn text(text: &'a str) -> Self {
        Self {
            text: Some(text),
            ..Self::default()
        }
    }
}

fn write_message(
    terms: Terms<'_>,
    message: &Message,
    before: Option<&Message>,
    buffer: &mut Vec<u8>,
) {
    let (role, parts) = match message.role {
        Role::User => ("user", user_parts(message)),
        Role::Assistant => ("model", model_parts(terms, message)),
        Role::Tool => ("user", result_parts(terms, message, before)),
    };
    if !parts.is_empty() {
        buffer.push(b',');
        json::append(buffer, &Content { role, parts });
    }
}

fn user_parts(message: &Message) -> Vec<Part<'_>> {
    message.content.iter().filter_map(user_part).collect()
}

fn user_part(block: &ContentBlock) -> Option<Part<'_>> {
    match block {
        ContentBlock::Text(text) if !text.is_empty() => Some(Part::text(text)),
        ContentBlock::Image(image) => Some(Part {
            inline_data: Some(InlineData {
                mime_type: &image.mime_type,
                data: image,
            }),
            ..Part::default()
        }),
        _ => None,
    }
}

fn model_parts<'a>(terms: Terms<'a>, message: &'a Message) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    // A signature whose call follows.
    let mut awaited: Option<&'a Reasoning> = None;
    for block in &message.content {
        match block {
            ContentBlock::Text(text) if !text.is_empty() => parts.push(Part::text(text)),
            ContentBlock::Reasoning(reasoning) if reasoning.provider == terms.provider => {
                awaited = reasoning.id.is_some().then_some(reasoning);
                if awaited.is_none() {
                    push_reasoning(reasoning, &mut parts);
                }
            }
            ContentBlock::ToolCall(call) => {
                let own = awaited
                    .take()
                    .filter(|awaited| awaited.id.as_deref() == Some(call.id.as_str()));
                let first = !parts.iter().any(|part| part.function_call.is_some());
                let stand_in = (first && terms.generation == Generation::Level)
                    .then_some(FOREIGN_CALL_SIGNATURE);
                parts.push(Part {
                    function_call: Some(FunctionCall {
                        id: call.id.as_str().strip_prefix(SERVER_ID_MARK),
                        name: terms.naming.tool(&call.name),
                        args: terms.naming.arguments(&call.name, &call.arguments),
                    }),
                    thought_signature: own.and_then(|own| own.encrypted.as_deref()).or(stand_in),
                    ..Part::default()
                });
            }
            _ => {}
        }
    }
    parts
}

/// Sends back a signed thought, or the signature of the text before it. Thoughts without a
/// signature are summaries for people and are not sent.
fn push_reasoning<'a>(reasoning: &'a Reasoning, parts: &mut Vec<Part<'a>>) {
    if let Some(signature) = reasoning.signature.as_deref() {
        parts.push(Part {
            thought: true,
            text: Some(&reasoning.text),
            thought_signature: Some(signature),
            ..Part::default()
        });
    } else if let Some(signature) = reasoning.encrypted.as_deref() {
        match parts.last_mut() {
            Some(last) if last.text.is_some() && last.thought_signature.is_none() => {
                last.thought_signature = Some(signature);
            }
            _ => parts.push(Part {
                thought_signature: Some(signature),
                ..Part::text("")
            }),
        }
    }
}

fn result_parts<'a>(
    terms: Terms<'a>,
    message: &'a Message,
    before: Option<&'a Message>,
) -> Vec<Part<'a>> {
    let part = |result: &'a ToolResult| {
        let id = result.call_id.as_str();
        let call = before.and_then(|before| before.tool_calls().find(|c| c.id == result.call_id));
        Part {
            function_response: Some(FunctionResponse {
                id: id.strip_prefix(SERVER_ID_MARK),
                name: terms.naming.tool(call.map_or(id, |call| &call.name)),
                response: response(result),
            }),
            ..Part::default()
        }
    };
    message.tool_results().map(part).collect()
}

fn response(result: &ToolResult) -> ResponseObject<'_> {
    let mut texts = result.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let mut joined = Cow::Borrowed(texts.next().unwrap_or_default());
    for text in texts {
        let joined = joined.to_mut();
        joined.push('\n');
        joined.push_str(text);
    }
    if joined.is_empty() {
        joined = Cow::Borrowed(NO_TEXT);
    }
    match result.is_error {
        true => ResponseObject::Error(joined),
        false => ResponseObject::Output(joined),
    }
}

#[cfg(test)]
mod tests;
