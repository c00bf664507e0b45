use std::sync::Arc;

use proptest::prelude::{Just, Strategy, prop, prop_oneof, proptest};
use zot_conversation::{
    Arguments, ContentBlock, Message, Role, Timestamp, ToolCall, ToolCallId, ToolResult,
};

use super::{Repair, repair};

fn message(role: Role, content: Vec<ContentBlock>) -> Arc<Message> {
    Arc::new(Message {
        role,
        content,
        time: Timestamp::UNIX_EPOCH,
    })
}

fn calls(ids: &[&str]) -> Arc<Message> {
    let block = |id: &&str| {
        ContentBlock::ToolCall(ToolCall {
            id: (*id).into(),
            name: "read".to_owned(),
            arguments: Arguments::empty(),
        })
    };
    message(Role::Assistant, ids.iter().map(block).collect())
}

fn results(ids: &[&str]) -> Arc<Message> {
    let block = |id: &&str| {
        ContentBlock::ToolResult(ToolResult {
            call_id: (*id).into(),
            is_error: false,
            content: vec![ContentBlock::Text("ok".to_owned())],
        })
    };
    message(Role::Tool, ids.iter().map(block).collect())
}

fn user() -> Arc<Message> {
    message(Role::User, vec![ContentBlock::Text("hi".to_owned())])
}

fn shape(messages: &[Arc<Message>]) -> Vec<String> {
    let ids = |message: &Message| -> String {
        message
            .content
            .iter()
            .map(|block| match block {
                ContentBlock::ToolCall(call) => format!("?{}", call.id),
                ContentBlock::ToolResult(result) if result.is_error => {
                    format!("!{}", result.call_id)
                }
                ContentBlock::ToolResult(result) => format!("={}", result.call_id),
                _ => ".".to_owned(),
            })
            .collect()
    };
    messages
        .iter()
        .map(|message| format!("{:?} {}", message.role, ids(message)))
        .collect()
}

#[test]
fn a_sound_transcript_is_left_alone() {
    assert_eq!(
        repair(&[user(), calls(&["a", "b"]), results(&["a", "b"]), user()]),
        None
    );
    assert_eq!(repair(&[]), None);
}

#[test]
fn missing_results_are_added_and_orphans_dropped() {
    let (repaired, report) = repair(&[
        results(&["z"]),
        user(),
        calls(&["a", "b"]),
        results(&["b", "b", "x"]),
        user(),
        calls(&["c"]),
    ])
    .unwrap();
    assert_eq!(
        shape(&repaired),
        [
            "User .",
            "Assistant ?a?b",
            "Tool !a=b",
            "User .",
            "Assistant ?c",
            "Tool !c"
        ]
    );
    assert_eq!(
        report,
        Repair {
            results_added: 2,
            results_dropped: 3,
            messages_dropped: 1
        }
    );
}

#[test]
fn results_in_several_messages_or_out_of_order_are_put_together() {
    let (repaired, _) = repair(&[calls(&["a", "b"]), results(&["b"]), results(&["a"])]).unwrap();
    assert_eq!(shape(&repaired), ["Assistant ?a?b", "Tool =a=b"]);
}

#[test]
fn empty_messages_are_dropped() {
    let (repaired, _) = repair(&[user(), message(Role::Assistant, vec![])]).unwrap();
    assert_eq!(shape(&repaired), ["User ."]);
}

fn any_message() -> impl Strategy<Value = Arc<Message>> {
    let ids = prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 0..4);
    prop_oneof![
        Just(user()),
        ids.clone().prop_map(|ids| calls(&ids)),
        ids.prop_map(|ids| results(&ids)),
    ]
}

/// What providers require: each batch of calls is followed by exactly one result for each call.
fn accepted(messages: &[Arc<Message>]) -> bool {
    let mut open: Vec<ToolCallId> = Vec::new();
    for message in messages {
        let responded: Vec<ToolCallId> =
            message.tool_results().map(|r| r.call_id.clone()).collect();
        if message.content.is_empty() || responded != open {
            return false;
        }
        open = message.tool_calls().map(|call| call.id.clone()).collect();
    }
    open.is_empty()
}

proptest! {
    #[test]
    fn every_history_becomes_acceptable_and_stays_so(
        messages in prop::collection::vec(any_message(), 0..12),
    ) {
        let repaired = repair(&messages).map_or_else(|| messages.clone(), |(fixed, _)| fixed);
        assert!(accepted(&repaired), "{:?}", shape(&repaired));
        assert!(repair(&repaired).is_none());
    }
}
