use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use zot_conversation::{Arguments, ReasoningEffort, Sampling, Timestamp, ToolCall, ToolEffect};

use super::*;
use crate::catalog::AcceptedThinking;

fn message(role: Role, content: Vec<ContentBlock>) -> Arc<Message> {
    Arc::new(Message {
        role,
        content,
        time: Timestamp::UNIX_EPOCH,
    })
}

fn text(text: &str) -> ContentBlock {
    ContentBlock::Text(text.to_owned())
}

fn image() -> ContentBlock {
    ContentBlock::Image(Image {
        mime_type: "image/png".to_owned(),
        data: Bytes::from_static(b"\x89PNG"),
    })
}

fn reasoning(provider: &str, signature: Option<&str>, encrypted: Option<&str>) -> ContentBlock {
    ContentBlock::Reasoning(Reasoning {
        provider: provider.to_owned(),
        text: "hm".to_owned(),
        signature: signature.map(str::to_owned),
        encrypted: encrypted.map(str::to_owned),
        ..Reasoning::default()
    })
}

fn call(id: &str, arguments: &str) -> ContentBlock {
    ContentBlock::ToolCall(ToolCall {
        id: id.into(),
        name: "read".to_owned(),
        arguments: Arguments::from_model_text(arguments),
    })
}

fn result(id: &str, is_error: bool, content: Vec<ContentBlock>) -> ContentBlock {
    ContentBlock::ToolResult(ToolResult {
        call_id: id.into(),
        is_error,
        content,
    })
}

fn request<'a>(messages: &'a [Arc<Message>], tools: &'a [Arc<ToolDefinition>]) -> ModelRequest<'a> {
    ModelRequest {
        model: "claude-sonnet-4-5",
        system: "be good",
        messages,
        tools,
        reasoning: None,
        max_output: 8192,
        sampling: Sampling::default(),
    }
}

fn body(cache: &mut RequestCache, request: &ModelRequest<'_>) -> String {
    let accepted = AcceptedThinking::default().of(request.model);
    let thinking_form = ThinkingForm::new(accepted.thinking, accepted.efforts, None);
    let prepared = cache.body("anthropic", Delivery::Streamed, request, thinking_form);
    String::from_utf8(prepared.body.to_vec()).unwrap()
}

fn fresh(request: &ModelRequest<'_>) -> String {
    body(&mut RequestCache::default(), request)
}

#[test]
fn whole_request() {
    let tools = [Arc::new(ToolDefinition {
        name: "read".to_owned(),
        description: "reads".to_owned(),
        parameters: serde_json::from_str(r#"{"type":"object"}"#).unwrap(),
        effect: ToolEffect::ReadOnly,
    })];
    let messages = [
        message(Role::User, vec![text("look"), image()]),
        message(
            Role::Assistant,
            vec![
                reasoning("anthropic", Some("sig"), None),
                reasoning("anthropic", None, Some("enc")),
                reasoning("openai", Some("foreign"), None),
                text(" "),
                call("toolu_1", r#"{"path": "a"}"#),
                call("fn.read:1", "{broken"),
            ],
        ),
        message(
            Role::Tool,
            vec![
                result("toolu_1", false, vec![text("seen"), image()]),
                result("fn.read:1", true, vec![]),
            ],
        ),
    ];
    let mut asked = request(&messages, &tools);
    asked.reasoning = Some(ReasoningEffort::Low);
    let expected = concat!(
        r#"{"model":"claude-sonnet-4-5","max_tokens":8192,"stream":true,"#,
        r#""thinking":{"type":"enabled","budget_tokens":4096},"#,
        r#""tools":[{"name":"read","description":"reads","input_schema":{"type":"object"}}],"#,
        r#""system":[{"type":"text","text":"be good","cache_control":{"type":"ephemeral"}}],"#,
        r#""messages":[{"role":"user","content":[{"type":"text","text":"look"},"#,
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw=="},"#,
        r#""cache_control":{"type":"ephemeral"}}]},"#,
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"sig"},"#,
        r#"{"type":"redacted_thinking","data":"enc"},"#,
        r#"{"type":"tool_use","id":"toolu_1","name":"read","input":{"path": "a"}},"#,
        r#"{"type":"tool_use","id":"call_Qq4DUENJvH2xQB9m1wsOWpZu","name":"read","input":{}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":["#,
        r#"{"type":"text","text":"seen"},"#,
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw=="}}]},"#,
        r#"{"type":"tool_result","tool_use_id":"call_Qq4DUENJvH2xQB9m1wsOWpZu","#,
        r#""content":[{"type":"text","text":"(no output)"}],"is_error":true,"#,
        r#""cache_control":{"type":"ephemeral"}}]}]}"#,
    );
    assert_eq!(fresh(&asked), expected);
}

#[test]
fn each_request_reads_what_the_last_one_wrote() {
    let mut messages = vec![message(Role::User, vec![text("0")])];
    for turn in 1..4 {
        let written = fresh(&request(&messages, &[]));
        let marks = written.matches("cache_control").count();
        assert!((2..=3).contains(&marks), "{written}");
        // Everything up to the last mark must come again, marks aside, with a mark in that place.
        let (prefix, _) = written.rsplit_once(",\"cache_control\"").unwrap();
        let prefix = prefix.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "");
        messages.push(message(Role::Assistant, vec![text("answer")]));
        messages.push(message(Role::User, vec![text(&turn.to_string())]));
        let read = fresh(&request(&messages, &[]));
        let (before, _) = read.rsplit_once(",\"cache_control\"").unwrap();
        let (before, _) = before.rsplit_once(",\"cache_control\"").unwrap();
        let before = before.replace(",\"cache_control\":{\"type\":\"ephemeral\"}", "");
        assert_eq!(before, prefix);
    }
}

#[test]
fn thinking_is_not_switched_on_within_a_turn() {
    let turn = |opening: ContentBlock| {
        [
            message(Role::User, vec![text("go")]),
            message(Role::Assistant, vec![opening, call("a", "{}")]),
            message(Role::Tool, vec![result("a", false, vec![text("ok")])]),
        ]
    };
    let accepts = |messages: &[Arc<Message>], replay: Replay| {
        accepts_budget("anthropic", messages, |_| replay)
    };
    assert!(!accepts(&turn(text("no thought")), Replay::Kept));
    let foreign = turn(reasoning("openai", Some("s"), None));
    assert!(!accepts(&foreign, Replay::Kept));
    let own = turn(reasoning("anthropic", Some("s"), None));
    assert!(accepts(&own, Replay::Kept));
    // Thinking that is left out is as if it had not been.
    assert!(!accepts(&own, Replay::Dropped));
    assert!(accepts(&turn(text(""))[..1], Replay::Dropped));
}

proptest! {
    #[test]
    fn the_cache_never_changes_a_body(steps in prop::collection::vec((0u8..7, 0usize..12), 1..30)) {
        let mut cache = RequestCache::default();
        let mut messages: Vec<Arc<Message>> = Vec::new();
        for (kind, number) in steps {
            let label = number.to_string();
            match kind {
                0 => messages.push(message(Role::User, vec![text(&label)])),
                1 => messages.push(message(Role::Assistant, vec![call(&label, "{}")])),
                2 => messages.push(message(Role::Tool, vec![result(&label, false, vec![])])),
                3 => messages.push(message(Role::Assistant, vec![reasoning("other", None, None)])),
                4 => messages.truncate(number),
                5 => if let Some(slot) = messages.get_mut(number) {
                    *slot = message(Role::User, vec![text("replaced")]);
                },
                _ => {}
            }
            let asked = request(&messages, &[]);
            let cached = body(&mut cache, &asked);
            prop_assert_eq!(&cached, &fresh(&asked));
            prop_assert!(serde_json::from_str::<serde_json::Value>(&cached).is_ok());
            prop_assert!(cached.matches("cache_control").count() <= 4);
        }
    }
}

#[test]
fn images_of_error_results_stand_behind_all_results() {
    let messages = [
        message(Role::User, vec![text("look")]),
        message(Role::Assistant, vec![call("a", "{}"), call("b", "{}")]),
        message(
            Role::Tool,
            vec![
                result("a", true, vec![text("failed"), image()]),
                result("b", false, vec![image()]),
            ],
        ),
        message(Role::Assistant, vec![call("c", "{}")]),
        message(Role::Tool, vec![result("c", true, vec![image()])]),
    ];
    let sent = fresh(&request(&messages, &[]));
    let sent: serde_json::Value = serde_json::from_str(&sent).unwrap();
    let content = &sent["messages"][2]["content"];
    let kinds = |content: &serde_json::Value| -> Vec<String> {
        let blocks = content.as_array().unwrap().iter();
        let kinds = blocks.map(|block| block["type"].as_str().unwrap_or_default().to_owned());
        kinds.collect()
    };
    assert_eq!(kinds(content), ["tool_result", "tool_result", "image"]);
    assert_eq!(kinds(&content[0]["content"]), ["text"]);
    assert_eq!(kinds(&content[1]["content"]), ["image"]);
    let last = &sent["messages"][4]["content"];
    assert_eq!(kinds(last), ["tool_result", "image"]);
    assert_eq!(kinds(&last[0]["content"]), ["text"]);
}
