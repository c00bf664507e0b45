//! The offline model as ZINO speaks to models: tool calls and their results are blocks of text.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use zot_agent::hermes::{BlockItem, BlockParser, Tag};
use zot_conversation::{
    Arguments, BoxFuture, ContentBlock, Message, Model, ModelError, ModelEvent, ModelRequest,
    ModelStream, Role, ToolCall, ToolDefinition, ToolEffect, ToolResult,
};
use zot_provider::offline::OfflineModel;

/// What the model calls to run a command.
const FUNCTION: &str = "execute_bash";

const TAGS: [Tag; 2] = [
    Tag::TOOL_CALL,
    Tag {
        name: "tool_response",
        open: "<tool_response>",
        close: "</tool_response>",
    },
];

/// The built-in stand-in, for trying ZINO without a key or a network.
#[derive(Debug, Clone, Copy, Default)]
pub struct StandIn;

impl Model for StandIn {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        Box::pin(Events {
            answer: Some(Box::pin(answer(request))),
            events: VecDeque::new(),
        })
    }
}

struct Events<'a> {
    /// Cleared once it is there.
    answer: Option<BoxFuture<'a, VecDeque<Result<ModelEvent, ModelError>>>>,
    events: VecDeque<Result<ModelEvent, ModelError>>,
}

impl Stream for Events<'_> {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(answer) = &mut self.answer {
            match answer.as_mut().poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(events) => {
                    self.events = events;
                    self.answer = None;
                }
            }
        }
        Poll::Ready(self.events.pop_front())
    }
}

async fn answer(request: ModelRequest<'_>) -> VecDeque<Result<ModelEvent, ModelError>> {
    let messages: Vec<Arc<Message>> = request
        .messages
        .iter()
        .flat_map(|message| with_calls(message))
        .map(Arc::new)
        .collect();
    let tools: Vec<Arc<ToolDefinition>> = match request.system.contains(FUNCTION) {
        true => bash().into_iter().map(Arc::new).collect(),
        false => Vec::new(),
    };
    let mut inner = OfflineModel.stream(ModelRequest {
        messages: &messages,
        tools: &tools,
        ..request
    });
    let mut events = VecDeque::new();
    let mut arguments = String::new();
    while let Some(event) = std::future::poll_fn(|context| inner.as_mut().poll_next(context)).await
    {
        match event {
            Ok(ModelEvent::ToolCallStart { .. }) => arguments.clear(),
            Ok(ModelEvent::ToolCallArguments { delta, .. }) => arguments.push_str(&delta),
            Ok(ModelEvent::ToolCallEnd { .. }) => {
                events.push_back(Ok(ModelEvent::TextDelta(call_block(&arguments))));
            }
            other => events.push_back(other),
        }
    }
    events
}

/// The tool that the stand-in knows how to use.
fn bash() -> Option<ToolDefinition> {
    let parameters = json!({
        "type": "object",
        "properties": { "command": { "type": "string" } },
        "required": ["command"],
    });
    Some(ToolDefinition {
        name: "bash".to_owned(),
        description: String::new(),
        parameters: RawValue::from_string(parameters.to_string()).ok()?,
        effect: ToolEffect::Changes,
    })
}

/// A call as ZINO writes it.
fn call_block(arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let code = &arguments["command"];
    format!(
        "\n\n<tool_call>\n{{\"name\": \"{FUNCTION}\", \"arguments\": {{\"code\": {code}}}}}\n</tool_call>"
    )
}

/// A message with its blocks turned into calls and results.
fn with_calls(message: &Message) -> Vec<Message> {
    let text = message.text();
    if message.role != Role::Assistant || !text.contains(TAGS[0].open) {
        return vec![message.clone()];
    }
    let mut said = Vec::new();
    let mut results = Vec::new();
    let mut parser = BlockParser::new(&TAGS);
    let mut commands = Vec::new();
    let mut take = |item: BlockItem<'_>| match item {
        BlockItem::Text(text) if !text.trim().is_empty() => {
            said.push(ContentBlock::Text(text.to_owned()));
        }
        BlockItem::BlockEnd { tag, body } if tag == TAGS[0].name => {
            let call: Value = serde_json::from_str(body.text.trim()).unwrap_or_default();
            let command = call["arguments"]["code"].as_str().unwrap_or("").to_owned();
            said.push(ContentBlock::ToolCall(ToolCall {
                id: call_id(commands.len()),
                name: "bash".to_owned(),
                arguments: Arguments::from_model_text(&json!({ "command": command }).to_string()),
            }));
            commands.push(command);
        }
        BlockItem::BlockEnd { body, .. } => {
            let command = commands.get(results.len()).map_or("", String::as_str);
            results.push(ContentBlock::ToolResult(ToolResult {
                call_id: call_id(results.len()),
                is_error: false,
                content: vec![ContentBlock::Text(as_bash_says(command, body.text))],
            }));
        }
        _ => {}
    };
    parser.feed(&text, &mut take);
    parser.finish(&mut take);
    let time = message.time;
    vec![
        Message {
            role: Role::Assistant,
            content: said,
            time,
        },
        Message {
            role: Role::Tool,
            content: results,
            time,
        },
    ]
}

fn call_id(index: usize) -> zot_conversation::ToolCallId {
    format!("call_{index}").as_str().into()
}

/// An execution's result in the words of zot's `bash` tool.
fn as_bash_says(command: &str, response: &str) -> String {
    let response = response.strip_prefix('\n').unwrap_or(response);
    let response = response.strip_suffix('\n').unwrap_or(response);
    let (output, exit) = match response.rsplit_once("[exit code: ") {
        Some((output, exit)) => (output, exit.trim_end_matches(']')),
        None => (response, "0"),
    };
    let output = match output {
        "(no output)" => "",
        output => output.trim_end(),
    };
    format!("$ {command}\n\n{output}\n\n[exit {exit}]  Took 0.0s")
}
