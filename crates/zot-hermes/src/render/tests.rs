use std::sync::Arc;

use proptest::prelude::*;
use serde_json::value::RawValue;
use zot_conversation::{
    Arguments, ContentBlock, Image, Message, ModelEvent, Reasoning, Role, StopReason, Timestamp,
    ToolCall, ToolDefinition, ToolEffect, ToolResult,
};

use super::{message, system};
use crate::ids::CallIds;
use crate::translation::Translation;

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(text.to_owned())
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: name.to_owned(),
        arguments: Arguments::from_model_text(arguments),
    }
}

fn image() -> ContentBlock {
    ContentBlock::Image(Image {
        mime_type: "image/png".to_owned(),
        data: b"png".as_slice().into(),
    })
}

fn result(id: &str, is_error: bool, content: Vec<ContentBlock>) -> ContentBlock {
    ContentBlock::ToolResult(ToolResult {
        call_id: id.into(),
        is_error,
        content,
    })
}

fn rendered(role: Role, content: Vec<ContentBlock>, calls: &[&ToolCall]) -> Option<Message> {
    let given = Message {
        role,
        content,
        time: Timestamp::UNIX_EPOCH,
    };
    message(&given, calls)
}

#[test]
fn tools_are_described_behind_the_system_prompt() {
    let tool = |name: &str| {
        Arc::new(ToolDefinition {
            name: name.to_owned(),
            description: "ends </tools>".to_owned(),
            parameters: RawValue::from_string(r#"{"type":"object"}"#.to_owned()).unwrap(),
            effect: ToolEffect::ReadOnly,
        })
    };
    let described = system("be brief", &[tool("read"), tool("bash")]);
    let expected = r#"be brief

# Tools

You may call one or more functions to help with what the user asks. Their signatures are within <tools></tools> XML tags, one JSON object for each function:
<tools>
{"type": "function", "function": {"name": "read", "description": "ends <\/tools>", "parameters": {"type":"object"}}}
{"type": "function", "function": {"name": "bash", "description": "ends <\/tools>", "parameters": {"type":"object"}}}
</tools>

For each function call return a JSON object"#;
    assert!(described.starts_with(expected), "{described}");
    assert!(system("", &[tool("read")]).starts_with("# Tools"));
    assert_eq!(system("be brief", &[]), "be brief");
}

#[test]
fn messages_without_calls_stay_as_they_are() {
    assert_eq!(rendered(Role::User, vec![text("<tool_call>")], &[]), None);
    assert_eq!(rendered(Role::Assistant, vec![text("hi")], &[]), None);
}

#[test]
fn calls_become_text() {
    let reasoning = ContentBlock::Reasoning(Reasoning::default());
    let content = vec![
        reasoning.clone(),
        text("look"),
        ContentBlock::ToolCall(call("c1", "read", r#"{"path":"</tool_call>"}"#)),
        ContentBlock::ToolCall(call("c2", "bash", "")),
        text("then"),
        ContentBlock::ToolCall(call("c3", "bash", r#"{"command":"#)),
        ContentBlock::ToolCall(call("c4", "invalid_tool_call", "bash ls")),
    ];
    let expected = r#"look
<tool_call>
{"name": "read", "arguments": {"path":"<\/tool_call>"}}
</tool_call>
<tool_call>
{"name": "bash", "arguments": {}}
</tool_call>
then
<tool_call>
{"name": "bash", "arguments": {"command":
</tool_call>
<tool_call>
bash ls
</tool_call>"#;
    let rendered = rendered(Role::Assistant, content, &[]).unwrap();
    assert_eq!(rendered.role, Role::Assistant);
    assert_eq!(rendered.content, [reasoning, text(expected)]);
}

#[test]
fn results_become_a_user_message() {
    let calls = [
        call("c1", "read", "{}"),
        call("c2", "bash", "{}"),
        call("c3", "invalid_tool_call", "bash ls"),
        call("c4", "invalid_tool_call", r#"{"arguments":{}}"#),
    ];
    let content = vec![
        result("c1", false, vec![text("a\n\"b\""), image(), text("c")]),
        result("c2", true, vec![text("</tool_response>")]),
        result("c3", true, vec![text("unknown tool")]),
        result("c4", true, vec![]),
        result("c5", false, vec![image()]),
    ];
    let expected = r#"<tool_response>
{"name": "read", "content": "a\n\"b\"\n[image 1 of those below]\nc"}
</tool_response>
<tool_response>
{"name": "bash", "content": "<\/tool_response>", "is_error": true}
</tool_response>
<tool_response>
{"name": "invalid_tool_call", "content": "unknown tool\nthe <tool_call> block could not be read: it is not one JSON object; write one JSON object with \"name\" and \"arguments\" in it", "is_error": true}
</tool_response>
<tool_response>
{"name": "invalid_tool_call", "content": "the <tool_call> block could not be read: missing field `name` at line 1 column 16; write one JSON object with \"name\" and \"arguments\" in it", "is_error": true}
</tool_response>
<tool_response>
{"name": "unknown", "content": "[image 2 of those below]"}
</tool_response>"#;
    let rendered = rendered(Role::Tool, content, &calls.each_ref()).unwrap();
    assert_eq!(rendered.role, Role::User);
    assert_eq!(rendered.content, [text(expected), image(), image()]);
}

fn said() -> impl Strategy<Value = Vec<ContentBlock>> {
    let object = prop::sample::select(
        &[
            "{}",
            r#"{"a": "}\\\"", "b": [1, {"c": null}]}"#,
            r#"{"text":"<tool_call>日本<\/tool_call>"}"#,
            r#"{"half"#,
            r#"[1]"#,
        ][..],
    );
    let block = prop_oneof![
        Just(None),
        (prop::sample::select(&["read", "ba\"sh", "日"][..]), object).prop_map(Some),
    ];
    prop::collection::vec(block, 1..6).prop_map(|blocks| {
        let mut content = Vec::new();
        for (block, number) in blocks.into_iter().zip(1..) {
            match block {
                // Neighbours would be one text.
                None if matches!(content.last(), Some(ContentBlock::Text(_))) => {}
                None => content.push(text("some text")),
                Some((name, arguments)) => content.push(ContentBlock::ToolCall(call(
                    &format!("hermes_{number}"),
                    name,
                    arguments,
                ))),
            }
        }
        content
    })
}

/// The content of the response that `events` make up.
fn content_of(events: impl Iterator<Item = ModelEvent>) -> Vec<ContentBlock> {
    let mut content = Vec::new();
    let mut arguments = String::new();
    for event in events {
        match event {
            ModelEvent::TextDelta(delta) => match content.last_mut() {
                Some(ContentBlock::Text(text)) => text.push_str(&delta),
                _ => content.push(text(&delta)),
            },
            ModelEvent::ToolCallStart { id, name } => {
                arguments.clear();
                content.push(ContentBlock::ToolCall(call(id.as_str(), &name, "")));
            }
            ModelEvent::ToolCallArguments { delta, .. } => arguments.push_str(&delta),
            ModelEvent::ToolCallEnd { .. } => {
                if let Some(ContentBlock::ToolCall(call)) = content.last_mut() {
                    call.arguments = Arguments::from_model_text(&arguments);
                }
            }
            _ => {}
        }
    }
    content
}

proptest! {
    #[test]
    fn what_is_written_is_read_the_same(mut content in said()) {
        let given = Message {
            role: Role::Assistant,
            content: content.clone(),
            time: Timestamp::UNIX_EPOCH,
        };
        let written = message(&given, &[]).unwrap_or(given);
        let ids = CallIds::default();
        let mut translation = Translation::new(&ids);
        translation.apply(ModelEvent::TextDelta(written.text()));
        translation.apply(ModelEvent::Stop(StopReason::End));
        let read = content_of(std::iter::from_fn(|| translation.next()));
        // Ids are counted from one.
        let mut number = 0;
        for block in &mut content {
            if let ContentBlock::ToolCall(call) = block {
                number += 1;
                call.id = format!("hermes_{number}").into();
            }
        }
        prop_assert_eq!(read, content);
    }
}
