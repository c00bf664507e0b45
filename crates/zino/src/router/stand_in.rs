//! The offline stand-in as a model that writes tool calls into its text.
//!
//! The stand-in calls tools natively. Here its calls become `<tool_call>` blocks, and the blocks and
//! responses of a conversation become the calls and results it knows.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use zot_conversation::{
    Arguments, ContentBlock, Message, ModelEvent, Role, ToolCall, ToolCallId, ToolDefinition,
    ToolEffect, ToolResult,
};
use zot_hermes::{BlockItem, BlockParser, Tag};

/// The function that runs shell code. Without it in the system prompt there are no tools.
const SHELL: &str = "execute_bash";

/// The tools of the stand-in that shell code can replace.
const TOOLS: [&str; 3] = ["bash", "read", "write"];

const TAGS: &[Tag] = &[
    Tag::TOOL_CALL,
    Tag {
        name: "tool_response",
        open: "<tool_response>",
        close: "</tool_response>",
    },
];

/// The tools for the stand-in, given the system prompt.
pub(super) fn tools(system: &str) -> Vec<Arc<ToolDefinition>> {
    if !system.contains(SHELL) {
        return Vec::new();
    }
    let definition = |name: &str| {
        Some(Arc::new(ToolDefinition {
            name: name.to_owned(),
            description: String::new(),
            parameters: to_raw_value(&json!({ "type": "object" })).ok()?,
            effect: ToolEffect::Changes,
        }))
    };
    TOOLS.into_iter().filter_map(definition).collect()
}

/// Translates a conversation for the stand-in.
pub(super) fn conversation(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut translated = Vec::with_capacity(messages.len());
    let mut calls = 0;
    for message in messages {
        match message.role {
            Role::Assistant => translated.extend(translate(message, &mut calls)),
            Role::User | Role::Tool => translated.push(Arc::clone(message)),
        }
    }
    translated
}

/// Translates a message of the model; tool results become a second message.
fn translate(message: &Message, calls: &mut usize) -> Vec<Arc<Message>> {
    let mut content = Vec::new();
    let mut results = Vec::new();
    let mut open: Option<ToolCallId> = None;
    let mut parser = BlockParser::new(TAGS);
    let mut take = |item: BlockItem<'_>| match item {
        BlockItem::Text(text) => content.push(ContentBlock::Text(text.to_owned())),
        BlockItem::BlockEnd { tag, body } if tag == Tag::TOOL_CALL.name => {
            *calls += 1;
            let id = ToolCallId::from(format!("offline_{calls}"));
            open = Some(id.clone());
            content.push(ContentBlock::ToolCall(ToolCall {
                id,
                name: TOOLS[0].to_owned(),
                arguments: Arguments::from_model_text(body.text),
            }));
        }
        BlockItem::BlockEnd { body, .. } => {
            if let Some(call_id) = open.take() {
                results.push(ContentBlock::ToolResult(result(call_id, body.text)));
            }
        }
        BlockItem::BlockStart { .. }
        | BlockItem::BlockDelta { .. }
        | BlockItem::BlockUnclosed { .. } => {}
    };
    parser.feed(&message.text(), &mut take);
    parser.finish(&mut take);
    let assistant = Message {
        role: Role::Assistant,
        content,
        time: message.time,
    };
    let tool = Message {
        role: Role::Tool,
        content: results,
        time: message.time,
    };
    let tool = (!tool.content.is_empty()).then(|| Arc::new(tool));
    std::iter::once(Arc::new(assistant)).chain(tool).collect()
}

/// Translates the report of `agr` about an execution into a tool result of `zot`.
fn result(call_id: ToolCallId, body: &str) -> ToolResult {
    let body = body.strip_prefix('\n').unwrap_or(body);
    let body = body.strip_suffix('\n').unwrap_or(body);
    let exit = body
        .strip_suffix(']')
        .and_then(|body| body.rsplit_once("[exit code: "));
    let text = match exit {
        Some((before, code)) => format!("{before}[exit {code}]"),
        None if body == "(no output)" => String::new(),
        None => body.to_owned(),
    };
    ToolResult {
        call_id,
        is_error: exit.is_some() || body.starts_with("Error: "),
        content: vec![ContentBlock::Text(text)],
    }
}

/// Writes tool calls as text. The events of two calls never interleave.
#[derive(Default)]
pub(super) struct CallWriter {
    name: String,
    arguments: String,
}

impl CallWriter {
    /// Returns the block of the call that `event` completes.
    pub(super) fn take(&mut self, event: ModelEvent) -> Option<String> {
        match event {
            ModelEvent::ToolCallStart { name, .. } => {
                self.name = name;
                self.arguments.clear();
                None
            }
            ModelEvent::ToolCallArguments { delta, .. } => {
                self.arguments.push_str(&delta);
                None
            }
            ModelEvent::ToolCallEnd { .. } => {
                let code = shell_code(&self.name, &self.arguments)?;
                let call = json!({ "name": SHELL, "arguments": { "code": code } });
                Some(format!("\n<tool_call>\n{call}\n</tool_call>"))
            }
            _ => None,
        }
    }
}

/// Returns shell code that does what a tool of `zot` would.
fn shell_code(tool: &str, arguments: &str) -> Option<String> {
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    match tool {
        "read" => Some(format!("cat -- {}", quoted(text("path")?))),
        "write" => {
            let (path, content) = (quoted(text("path")?), quoted(text("content")?));
            Some(format!("printf %s {content} > {path}"))
        }
        _ => text("command").map(ToOwned::to_owned),
    }
}

/// Quotes `word` for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}
