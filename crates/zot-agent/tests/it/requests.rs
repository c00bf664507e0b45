//! What the model is given.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use zot_conversation::ToolEffect::Changes;
use zot_conversation::{
    Arguments, ContentBlock, Message, Role, StopReason, ToolCall, ToolOutput, ToolResult,
};

use crate::support::gate::Gate;
use crate::support::model::{accepted, answer, calls};
use crate::support::tools::{echo, gated, tool};
use crate::support::{Setup, check, message, said};

fn called(ids: &[&str]) -> Arc<Message> {
    let block = |id: &&str| {
        ContentBlock::ToolCall(ToolCall {
            id: (*id).into(),
            name: "echo".to_owned(),
            arguments: Arguments::empty(),
        })
    };
    message(Role::Assistant, ids.iter().map(block).collect())
}

fn returned(ids: &[&str]) -> Arc<Message> {
    let block = |id: &&str| {
        ContentBlock::ToolResult(ToolResult {
            call_id: (*id).into(),
            is_error: false,
            content: vec![ContentBlock::Text("out".to_owned())],
        })
    };
    message(Role::Tool, ids.iter().map(block).collect())
}

/// Whether `later` begins with the very messages of `earlier`.
fn continues(earlier: &[Arc<Message>], later: &[Arc<Message>]) -> bool {
    earlier.len() <= later.len() && earlier.iter().zip(later).all(|(a, b)| Arc::ptr_eq(a, b))
}

#[tokio::test(start_paused = true)]
async fn a_request_carries_the_settings() {
    let scene = Setup {
        scripts: vec![answer("ok")],
        tools: vec![
            tool("zebra", Changes, |_| {
                Box::pin(async { ToolOutput::text("") })
            }),
            echo(),
        ],
        ..Setup::default()
    }
    .build();
    scene.prompt("hi").await;
    let sent = scene.model.sent();
    assert_eq!(sent[0].model, "scripted");
    assert_eq!(sent[0].system, "be brief");
    assert_eq!(sent[0].tools, ["zebra", "echo"]);
    assert_eq!(sent[0].max_output, 1_000);
}

#[tokio::test(start_paused = true)]
async fn settings_changed_between_prompts_count_from_the_next_one() {
    let scene = Setup {
        scripts: vec![answer("ok"), answer("ok")],
        ..Setup::default()
    }
    .build();
    scene.prompt("one").await;
    let mut settings = scene.agent.settings().as_ref().clone();
    settings.model.id = "other".to_owned();
    scene.agent.set_settings(settings);
    scene.prompt("two").await;
    let models: Vec<String> = scene.model.sent().iter().map(|r| r.model.clone()).collect();
    assert_eq!(models, ["scripted", "other"]);
}

#[tokio::test(start_paused = true)]
async fn a_broken_transcript_is_repaired_before_it_is_sent() {
    let scene = Setup {
        scripts: vec![answer("ok")],
        transcript: vec![
            returned(&["x"]),
            said(Role::User, "one"),
            called(&["a", "b"]),
            returned(&["b"]),
            message(Role::Assistant, vec![]),
            said(Role::User, "two"),
            called(&["c"]),
        ],
        ..Setup::default()
    }
    .build();
    scene.prompt("three").await;
    let expected = r#"
        user "one"
        assistant echo?a{} echo?b{}
        tool a error "no result: the call was interrupted" b ok "out"
        user "two"
        assistant echo?c{}
        tool c error "no result: the call was interrupted"
        user "three"
    "#;
    check(&scene.model.sent()[0].rendered(), expected);
    check(
        &scene.transcript(),
        &format!("{expected}\nassistant \"ok\""),
    );
}

#[tokio::test(start_paused = true)]
async fn messages_are_the_same_objects_from_call_to_call() {
    let scene = Setup {
        scripts: vec![
            calls(&[("c1", "echo", "{}"), ("c2", "echo", "{}")]),
            calls(&[("c3", "echo", "{}")]),
            answer("ok"),
            answer("ok"),
        ],
        tools: vec![echo()],
        // The repair adds a message, which must not be created again for every call.
        transcript: vec![said(Role::User, "zero"), called(&["lost"])],
        ..Setup::default()
    }
    .build();
    scene.prompt("one").await;
    scene.prompt("two").await;
    let sent = scene.model.sent();
    assert_eq!(sent.len(), 4);
    for pair in sent.windows(2) {
        assert!(continues(&pair[0].messages, &pair[1].messages));
    }
    assert!(continues(
        &sent[3].messages,
        scene.agent.transcript().messages()
    ));
}

#[tokio::test(start_paused = true)]
async fn messages_stay_the_same_objects_after_an_abort() {
    let gate = Gate::default();
    let mut scene = Setup {
        scripts: vec![
            accepted()
                .text("look")
                .call("c1", "slow", "{}")
                .stop(StopReason::ToolUse),
            answer("ok"),
        ],
        tools: vec![gated("slow", Changes, &gate)],
        ..Setup::default()
    }
    .build();
    scene.prompt_and_abort("one", gate.reached()).await;
    let before = scene.agent.transcript();
    scene.cancel = CancellationToken::new();
    scene.prompt("two").await;
    assert!(continues(
        before.messages(),
        &scene.model.sent()[1].messages
    ));
}
