//! Writes tools, calls and results as text, the same text for the same input every time.
//!
//! Calls are formatted as models trained on this dialect write them, so that a server can reuse its
//! prompt cache. In JSON, `</tool` is written as `<\/tool`: the same string in JSON, but not a tag in
//! text.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use zot_conversation::{ContentBlock, Message, Role, ToolCall, ToolDefinition, ToolResult};

use super::call::{CallError, INVALID_CALL, read_call};

const BEFORE_TOOLS: &str = "# Tools

You may call one or more functions to help with what the user asks. Their signatures are within \
<tools></tools> XML tags, one JSON object for each function:
<tools>
";

const BEHIND_TOOLS: &str = r#"</tools>

For each function call return a JSON object with the function's name and its arguments within <tool_call></tool_call> XML tags, the name first:
<tool_call>
{"name": <function-name>, "arguments": <arguments-object>}
</tool_call>

To make several calls at once, write one such block for each. Then end your message: the results come in the next one, within <tool_response></tool_response> XML tags, in the order of the calls. Inside of JSON strings write <\/tool_call> for the closing tag."#;

/// Returns the system prompt with a description of the tools.
pub(crate) fn system(system: &str, tools: &[Arc<ToolDefinition>]) -> String {
    let mut text = system.to_owned();
    if tools.is_empty() {
        return text;
    }
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(BEFORE_TOOLS);
    for tool in tools {
        let signature = format!(
            r#"{{"type": "function", "function": {{"name": {}, "description": {}, "parameters": {}}}}}"#,
            json_string(&tool.name),
            json_string(&tool.description),
            tool.parameters.get(),
        );
        text.push_str(&without_tags(&signature));
        text.push('\n');
    }
    text.push_str(BEHIND_TOOLS);
    text
}

/// Returns a message in the form for a model without tools, or `None` when it needs no change.
///
/// `calls` are those that the results in `message` answer.
pub(crate) fn message(message: &Message, calls: &[&ToolCall]) -> Option<Message> {
    let content = match message.role {
        Role::Assistant if message.tool_calls().next().is_some() => with_calls(&message.content),
        Role::Tool => results(&message.content, calls),
        Role::Assistant | Role::User => return None,
    };
    let role = match message.role {
        Role::Assistant => Role::Assistant,
        Role::Tool | Role::User => Role::User,
    };
    Some(Message {
        role,
        content,
        time: message.time,
    })
}

fn with_calls(blocks: &[ContentBlock]) -> Vec<ContentBlock> {
    let mut content = Vec::new();
    for block in blocks {
        match block {
            ContentBlock::Text(text) => add_text(&mut content, text),
            ContentBlock::ToolCall(call) => add_text(&mut content, &call_block(call)),
            other => content.push(other.clone()),
        }
    }
    content
}

/// Adds text on a line of its own.
fn add_text(content: &mut Vec<ContentBlock>, text: &str) {
    match content.last_mut() {
        Some(ContentBlock::Text(before)) => {
            if !before.ends_with('\n') {
                before.push('\n');
            }
            before.push_str(text);
        }
        _ => content.push(ContentBlock::Text(text.to_owned())),
    }
}

fn call_block(call: &ToolCall) -> String {
    let name = json_string(&call.name);
    let written = match call.arguments.json() {
        _ if call.name == INVALID_CALL => argument_text(call).to_owned(),
        Ok(arguments) => format!(r#"{{"name": {name}, "arguments": {}}}"#, arguments.get()),
        // As far as it got, so that the model sees what was wrong.
        Err(malformed) => format!(r#"{{"name": {name}, "arguments": {}"#, malformed.text),
    };
    format!("<tool_call>\n{}\n</tool_call>", without_tags(&written))
}

/// Returns all results as one text, followed by their images.
fn results(blocks: &[ContentBlock], calls: &[&ToolCall]) -> Vec<ContentBlock> {
    let mut content = Vec::new();
    let mut images = Vec::new();
    for block in blocks {
        match block {
            ContentBlock::ToolResult(result) => {
                let call = calls.iter().find(|call| call.id == result.call_id);
                let response = response_block(result, call.copied(), &mut images);
                add_text(&mut content, &response);
            }
            ContentBlock::Text(text) => add_text(&mut content, text),
            other => images.push(other.clone()),
        }
    }
    content.extend(images);
    content
}

fn response_block(
    result: &ToolResult,
    call: Option<&ToolCall>,
    images: &mut Vec<ContentBlock>,
) -> String {
    let mut lines: Vec<Cow<'_, str>> = Vec::new();
    for block in &result.content {
        match block {
            ContentBlock::Text(text) => lines.push(text.into()),
            ContentBlock::Image(_) => {
                images.push(block.clone());
                lines.push(format!("[image {} of those below]", images.len()).into());
            }
            _ => {}
        }
    }
    if let Some(call) = call.filter(|call| call.name == INVALID_CALL) {
        lines.push(what_was_wrong(call).into());
    }
    let name = call.map_or("unknown", |call| &call.name);
    let response = format!(
        r#"{{"name": {}, "content": {}{}}}"#,
        json_string(name),
        json_string(&lines.join("\n")),
        if result.is_error {
            r#", "is_error": true"#
        } else {
            ""
        },
    );
    format!(
        "<tool_response>\n{}\n</tool_response>",
        without_tags(&response)
    )
}

/// Returns the error text for a block in which not even a name was found.
fn what_was_wrong(call: &ToolCall) -> String {
    let reason = match read_call(argument_text(call)) {
        // The model did not write `{}`: it stands for a missing body.
        Err(_) if argument_text(call) == "{}" => CallError::Empty.to_string(),
        Err(error) => error.to_string(),
        Ok(_) => "it is too long".to_owned(),
    };
    format!(
        "the <tool_call> block could not be read: {reason}; write one JSON object with \"name\" \
         and \"arguments\" in it"
    )
}

fn argument_text(call: &ToolCall) -> &str {
    match call.arguments.json() {
        Ok(arguments) => arguments.get(),
        Err(malformed) => &malformed.text,
    }
}

fn json_string(text: &str) -> String {
    // A string always has a JSON form.
    serde_json::to_string(text).unwrap_or_default()
}

/// Returns the same JSON without anything that closes a tag of this dialect.
fn without_tags(json: &str) -> Cow<'_, str> {
    match json.contains("</tool") {
        true => json.replace("</tool", r"<\/tool").into(),
        false => json.into(),
    }
}
