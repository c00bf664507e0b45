use std::sync::Arc;

use zot_conversation::{
    Arguments, ContentBlock, Message, ModelRequest, Role, Sampling, Timestamp, ToolCall,
    ToolDefinition, ToolEffect, ToolResult,
};

use super::Rewriting;
use crate::ids::CallIds;

fn message(role: Role, block: ContentBlock) -> Arc<Message> {
    Arc::new(Message {
        role,
        content: vec![block],
        time: Timestamp::UNIX_EPOCH,
    })
}

fn asked() -> Arc<Message> {
    message(Role::User, ContentBlock::Text("q".to_owned()))
}

fn called(id: &str) -> Arc<Message> {
    message(
        Role::Assistant,
        ContentBlock::ToolCall(ToolCall {
            id: id.into(),
            name: "read".to_owned(),
            arguments: Arguments::empty(),
        }),
    )
}

fn returned(id: &str) -> Arc<Message> {
    message(
        Role::Tool,
        ContentBlock::ToolResult(ToolResult {
            call_id: id.into(),
            is_error: false,
            content: vec![ContentBlock::Text("out".to_owned())],
        }),
    )
}

fn tool() -> Arc<ToolDefinition> {
    Arc::new(ToolDefinition {
        name: "read".to_owned(),
        description: String::new(),
        parameters: serde_json::value::RawValue::from_string("{}".to_owned()).unwrap(),
        effect: ToolEffect::ReadOnly,
    })
}

fn request<'a>(messages: &'a [Arc<Message>], tools: &'a [Arc<ToolDefinition>]) -> ModelRequest<'a> {
    ModelRequest {
        model: "m",
        system: "s",
        messages,
        tools,
        reasoning: None,
        max_output: 1,
        sampling: Sampling::default(),
    }
}

/// Rewrites `messages` one after the other, and checks that each becomes the object it became
/// before.
fn check(requests: &[&[Arc<Message>]]) {
    let ids = CallIds::default();
    let mut rewriting = Rewriting::default();
    let mut seen: Vec<(Arc<Message>, Arc<Message>)> = Vec::new();
    for messages in requests {
        let rewritten = rewriting.rewrite(&request(messages, &[]), &ids).messages;
        assert_eq!(rewritten.len(), messages.len());
        for (given, rewritten) in messages.iter().zip(rewritten.messages()) {
            assert_eq!(rewritten.tool_calls().count(), 0);
            assert_eq!(rewritten.tool_results().count(), 0);
            match seen.iter().find(|(known, _)| Arc::ptr_eq(known, given)) {
                Some((_, before)) => assert!(Arc::ptr_eq(before, rewritten)),
                None => seen.push((Arc::clone(given), Arc::clone(rewritten))),
            }
        }
    }
}

#[test]
fn a_message_becomes_the_same_object_every_time() {
    let m = [
        asked(),
        called("a"),
        returned("a"),
        called("b"),
        returned("b"),
        asked(),
    ];
    let summary = asked();
    let side = [asked()];
    let compacted = [vec![summary], m[3..].to_vec()].concat();
    check(&[&m[..1], &m[..3], &m[..5], &m]);
    check(&[&m, &m[..3], &m]);
    check(&[&m[..5], &side, &m]);
    check(&[&m, &side, &compacted, &compacted]);
    check(&[&[], &m[..1], &[], &m]);
}

#[test]
fn the_name_of_a_result_is_that_of_its_call() {
    let messages = [asked(), called("a"), returned("a")];
    let rewritten = Rewriting::default()
        .rewrite(&request(&messages, &[]), &CallIds::default())
        .messages;
    assert!(Arc::ptr_eq(&rewritten.messages()[0], &messages[0]));
    assert_eq!(
        rewritten.messages()[2].text(),
        "<tool_response>\n{\"name\": \"read\", \"content\": \"out\"}\n</tool_response>"
    );
}

#[test]
fn the_system_prompt_is_kept_while_the_tools_stay() {
    let ids = CallIds::default();
    let mut rewriting = Rewriting::default();
    let mut system =
        |tools: &[Arc<ToolDefinition>]| rewriting.rewrite(&request(&[], tools), &ids).system;
    let tools = [tool()];
    let first = system(&tools);
    assert_eq!(&*system(&[]), "s");
    assert!(Arc::ptr_eq(&first, &system(&tools)));
    let others = [tool(), tool()];
    assert!(system(&others).len() > first.len());
}

#[test]
fn ids_of_the_conversation_are_not_given_again() {
    let ids = CallIds::default();
    let mut rewriting = Rewriting::default();
    let messages = [
        called("hermes_7"),
        called("hermes_3"),
        called("hermes_99999999999"),
        called("call_12"),
    ];
    rewriting.rewrite(&request(&messages, &[]), &ids);
    assert_eq!(ids.next().as_str(), "hermes_8");
    rewriting.rewrite(&request(&messages[1..], &[]), &ids);
    assert_eq!(ids.next().as_str(), "hermes_9");
}
