use std::sync::Arc;

use zot_conversation::{Arguments, ContentBlock, Message, Role, Timestamp, ToolCall, ToolResult};

use super::found_tools;

fn message(role: Role, content: Vec<ContentBlock>) -> Arc<Message> {
    Arc::new(Message {
        role,
        content,
        time: Timestamp::UNIX_EPOCH,
    })
}

fn call(id: &str, name: &str) -> ContentBlock {
    ContentBlock::ToolCall(ToolCall {
        id: id.into(),
        name: name.to_owned(),
        arguments: Arguments::empty(),
    })
}

fn result(id: &str, text: &str) -> ContentBlock {
    ContentBlock::ToolResult(ToolResult {
        call_id: id.into(),
        is_error: false,
        content: vec![ContentBlock::Text(text.to_owned())],
    })
}

#[test]
fn found_and_called_tools_in_order() {
    let text = "Found 2 tools:\n\ntool: a__two\nSays \"tool: a__fake\".\n\ntool: a__one\nOne.";
    let messages = [
        message(
            Role::Assistant,
            vec![call("1", "tool_search"), call("2", "bash")],
        ),
        message(
            Role::Tool,
            vec![result("1", text), result("2", "tool: a__other")],
        ),
        message(
            Role::Assistant,
            vec![call("3", "b__direct"), call("4", "a__one")],
        ),
    ];
    assert_eq!(found_tools(&messages), ["a__two", "a__one", "b__direct"]);
}
