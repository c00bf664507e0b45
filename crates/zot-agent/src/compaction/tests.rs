use std::sync::Arc;

use zot_conversation::{ContentBlock, Message, Role, Timestamp, ToolResult};

use super::{MAX_SUMMARISED_BLOCK_BYTES, clipped, render, tail_start};

fn message(role: Role) -> Arc<Message> {
    let content = match role {
        Role::Tool => ContentBlock::ToolResult(ToolResult {
            call_id: "a".into(),
            is_error: false,
            content: vec![ContentBlock::Text("out".to_owned())],
        }),
        _ => ContentBlock::Text("text".to_owned()),
    };
    Arc::new(Message {
        role,
        content: vec![content],
        time: Timestamp::UNIX_EPOCH,
    })
}

#[test]
fn the_tail_is_four_messages_and_never_begins_with_results() {
    use Role::{Assistant, Tool, User};
    for (roles, expected) in [
        (vec![User, Assistant], None),
        (vec![User, Assistant, User, Assistant], None),
        (vec![User, Assistant, User, Assistant, User], Some(1)),
        (
            vec![User, Assistant, Tool, Assistant, User, Assistant],
            Some(1),
        ),
        (vec![Assistant, Tool, Assistant, User, Assistant], None),
    ] {
        let messages: Vec<_> = roles.iter().map(|role| message(*role)).collect();
        assert_eq!(tail_start(&messages), expected, "{roles:?}");
    }
}

#[test]
fn a_conversation_that_is_too_long_loses_its_beginning() {
    let messages = [
        message(Role::User),
        message(Role::Tool),
        message(Role::User),
    ];
    assert_eq!(
        render(&messages, usize::MAX),
        "[user]\ntext\n\n[tool]\n(result)\nout\n\n[user]\ntext\n\n"
    );
    assert_eq!(
        render(&messages, 20),
        "[2 earlier messages left out]\n\n[user]\ntext\n\n"
    );
}

#[test]
fn long_blocks_are_clipped_between_characters() {
    let text = "é".repeat(MAX_SUMMARISED_BLOCK_BYTES);
    let clipped = clipped(&text);
    assert!(clipped.len() < MAX_SUMMARISED_BLOCK_BYTES + 100);
    assert!(clipped.contains("bytes left out"));
}
