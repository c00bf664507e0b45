//! A model that writes its tool calls as text, seen from outside: as one that makes them.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use zot_conversation::ToolEffect::{Changes, ReadOnly};
use zot_conversation::{
    ContentBlock, Image, Message, ModelErrorKind, StopReason, Tool, ToolOutput,
};
use zot_hermes::HermesModel;

use crate::support::gate::Gate;
use crate::support::model::{Script, accepted, answer};
use crate::support::tools::{echo, gated, tool};
use crate::support::{Scene, Setup, check};

/// An agent whose model uses the dialect.
fn hermes(
    scripts: impl Into<Vec<Script>>,
    tools: impl IntoIterator<Item = Arc<dyn Tool>>,
) -> Scene {
    let scene = native(scripts, tools);
    let mut settings = scene.agent.settings().as_ref().clone();
    settings.model.client = Arc::new(HermesModel::new(Arc::clone(&scene.model) as Arc<_>));
    scene.agent.set_settings(settings);
    scene
}

/// The same agent with a model that makes its calls itself.
fn native(
    scripts: impl Into<Vec<Script>>,
    tools: impl IntoIterator<Item = Arc<dyn Tool>>,
) -> Scene {
    Setup {
        scripts: scripts.into(),
        tools: tools.into_iter().collect(),
        ..Setup::default()
    }
    .build()
}

fn written(name: &str, arguments: &str) -> String {
    format!("<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>")
}

fn texts(messages: &[Arc<Message>]) -> Vec<String> {
    messages.iter().map(|message| message.text()).collect()
}

#[tokio::test(start_paused = true)]
async fn the_events_are_those_of_native_calls() {
    let first = written("echo", r#"{"x": 1}"#);
    let second = written("look", "{}");
    let tools = || {
        [
            echo(),
            tool("look", ReadOnly, |_| {
                Box::pin(async { ToolOutput::text("seen") })
            }),
        ]
    };
    let hermes = hermes(
        [
            accepted()
                .thinking("hm")
                .reasoning("hm")
                .text("let me")
                .text(&format!(" look\n{first}\n{second}\n"))
                .usage(3, 2)
                .stop(StopReason::End),
            accepted()
                .text(&format!("again {}", written("echo", "{}")))
                .usage(3, 2)
                .stop(StopReason::End),
            answer("done"),
        ],
        tools(),
    );
    let native = native(
        [
            accepted()
                .thinking("hm")
                .reasoning("hm")
                .text("let me")
                .text(" look")
                .call("hermes_1", "echo", r#"{"x": 1}"#)
                .call("hermes_2", "look", "{}")
                .usage(3, 2)
                .stop(StopReason::ToolUse),
            accepted()
                .text("again")
                .call("hermes_3", "echo", "{}")
                .usage(3, 2)
                .stop(StopReason::ToolUse),
            answer("done"),
        ],
        tools(),
    );
    let events = hermes.prompt("hi").await;
    assert_eq!(events, native.prompt("hi").await);
    assert_eq!(hermes.transcript(), native.transcript());
    assert!(events.contains(&r#"tool_result hermes_1 ok "{\"x\": 1}""#.to_owned()));
}

#[tokio::test(start_paused = true)]
async fn the_model_inside_sees_text_only_and_the_same_messages_every_time() {
    let call = written("echo", r#"{"x":1}"#);
    let scene = hermes(
        [
            accepted().text("I ").text(&call).stop(StopReason::End),
            accepted().text(&call).stop(StopReason::End),
            answer("done"),
            answer("done"),
        ],
        [echo()],
    );
    scene.prompt("one").await;
    scene.prompt("two").await;
    let sent = scene.model.sent();
    assert_eq!(sent.len(), 4);
    for request in sent.iter() {
        assert!(request.tools.is_empty());
        assert_eq!(request.system, sent[0].system);
        assert_eq!(request.max_output, 1_000);
    }
    assert!(sent[0].system.starts_with("be brief\n\n# Tools"));
    assert!(
        sent[0]
            .system
            .contains(r#""name": "echo", "description": "the echo tool""#)
    );
    let response = |content: &str| {
        format!("<tool_response>\n{{\"name\": \"echo\", \"content\": {content}}}\n</tool_response>")
    };
    assert_eq!(
        texts(&sent[3].messages),
        [
            "one".to_owned(),
            format!("I\n{call}"),
            response(r#""{\"x\":1}""#),
            call,
            response(r#""{\"x\":1}""#),
            "done".to_owned(),
            "two".to_owned(),
        ]
    );
    for pair in sent.windows(2) {
        let same = pair[0].messages.iter().zip(&pair[1].messages);
        assert!(same.clone().count() < pair[1].messages.len());
        assert!(same.into_iter().all(|(one, other)| Arc::ptr_eq(one, other)));
    }
}

#[tokio::test(start_paused = true)]
async fn malformed_blocks_and_unknown_tools_are_answered_to_the_model() {
    let scene = hermes(
        [
            accepted()
                .text("<tool_call>{\"name\": \"echo\", \"arguments\": {\"x\":</tool_call>")
                .text("<tool_call>echo(1)</tool_call>")
                .text(&written("ehco", "{}"))
                .stop(StopReason::End),
            answer("sorry"),
        ],
        [echo()],
    );
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        tool_use_start hermes_1 echo
        tool_use_args hermes_1 {"x":
        tool_use_end hermes_1
        tool_use_start hermes_2 invalid_tool_call
        tool_use_args hermes_2 echo(1)
        tool_use_end hermes_2
        tool_use_start hermes_3 ehco
        tool_use_args hermes_3 {}
        tool_use_end hermes_3
        usage 0/0 (0/0)
        assistant_message echo?hermes_1!{"x": invalid_tool_call?hermes_2!echo(1) ehco?hermes_3{}
        tool_call hermes_1 echo {}
        tool_call hermes_2 invalid_tool_call {}
        tool_call hermes_3 ehco {}
        turn_end tool_use
        tool_result hermes_1 error "invalid args: EOF while parsing a value at line 1 column 5; the arguments must be one JSON object"
        tool_result hermes_2 error "unknown tool \"invalid_tool_call\""
        tool_result hermes_3 error "unknown tool \"ehco\""
        turn_start 2
        assistant_start
        text "sorry"
        usage 3/2 (3/2)
        assistant_message "sorry"
        turn_end end
        done
        "#,
    );
    let sent = scene.model.sent();
    let answer = sent[1].messages[2].text();
    assert!(
        answer.contains("could not be read: it is not one JSON object"),
        "{answer}"
    );
}

#[tokio::test(start_paused = true)]
async fn images_of_results_follow_in_the_same_message() {
    let image = || {
        ContentBlock::Image(Image {
            mime_type: "image/png".to_owned(),
            data: b"png".as_slice().into(),
        })
    };
    let camera = tool("camera", ReadOnly, move |_| {
        Box::pin(async move {
            ToolOutput {
                is_error: false,
                content: vec![image()],
                contacts: Vec::new(),
            }
        })
    });
    let scene = hermes(
        [
            accepted()
                .text(&written("camera", "{}"))
                .stop(StopReason::End),
            answer("nice"),
        ],
        [camera],
    );
    scene.prompt("hi").await;
    let sent = scene.model.sent();
    assert_eq!(sent[1].messages.len(), 3);
    assert_eq!(sent[1].messages[2].content[1..], [image()]);
    assert_eq!(scene.transcript().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn an_abort_within_a_block_closes_the_connection_and_keeps_the_text() {
    let gate = Gate::default();
    let mut scene = hermes(
        [
            accepted()
                .text("look ")
                .text("<tool_call>{\"name\":\"echo\",\"arg")
                .wait(&gate),
            answer("ok"),
        ],
        [echo()],
    );
    check(
        &scene.prompt_and_abort("hi", gate.reached()).await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "look"
        tool_use_start hermes_1 echo
        usage 0/0 (0/0)
        assistant_message "look"
        turn_end aborted "context canceled"
        done
        "#,
    );
    assert_eq!(scene.model.open_streams(), 0);
    scene.cancel = CancellationToken::new();
    check(
        &scene.prompt("go on").await,
        r#"
        user_message "go on"
        turn_start 1
        assistant_start
        text "ok"
        usage 3/2 (3/2)
        assistant_message "ok"
        turn_end end
        done
        "#,
    );
}

#[tokio::test(start_paused = true)]
async fn errors_pass_and_so_does_an_end_without_its_marker() {
    let scene = hermes(
        [
            accepted()
                .text("so far <tool_c")
                .usage(3, 2)
                .fail(ModelErrorKind::Stream, "cut"),
            accepted().text("so far <tool_call>{"),
        ],
        [echo()],
    );
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "so far"
        text " <tool_c"
        usage 3/2 (3/2)
        assistant_message "so far <tool_c"
        turn_end error "cut"
        error Stream "cut"
        done
        "#,
    );
    check(
        &scene.prompt("hi").await,
        r#"
        user_message "hi"
        turn_start 1
        assistant_start
        text "so far"
        text " "
        usage 0/0 (3/2)
        assistant_message "so far "
        turn_end error "the model's answer ended without its end marker"
        error Stream "the model's answer ended without its end marker"
        done
        "#,
    );
    assert_eq!(scene.model.open_streams(), 0);
}

#[tokio::test(start_paused = true)]
async fn without_tools_nothing_is_read_as_a_call() {
    let text = written("echo", "{}");
    let scene = hermes([answer(&text)], []);
    let events = scene.prompt("hi").await;
    assert!(events.contains(&format!("text {text:?}")), "{events:?}");
    assert_eq!(scene.model.sent()[0].system, "be brief");
}

#[tokio::test(start_paused = true)]
async fn a_tool_runs_only_after_the_whole_response() {
    let (gate, slow) = (Gate::default(), Gate::default());
    let scene = hermes(
        [
            accepted()
                .text(&written("slow", "{}"))
                .wait(&gate)
                .text(" and more")
                .stop(StopReason::End),
            answer("ok"),
        ],
        [gated("slow", Changes, &slow)],
    );
    let events = scene
        .prompt_while("hi", async {
            gate.reached().await;
            gate.open();
            slow.reached().await;
            slow.open();
        })
        .await;
    let at = |line: &str| events.iter().position(|event| event == line).unwrap();
    assert!(at("tool_use_end hermes_1") < at(r#"text "and more""#));
    assert!(at(r#"text "and more""#) < at(r#"tool_result hermes_1 ok "finished""#));
}
