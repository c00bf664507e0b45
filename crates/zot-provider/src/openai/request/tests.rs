use bytes::Bytes;
use proptest::prelude::*;
use zot_conversation::{
    Arguments, Reasoning, ReasoningEffort, Sampling, Timestamp, ToolCall, ToolEffect,
};

use super::*;

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

fn thought(provider: &str) -> ContentBlock {
    ContentBlock::Reasoning(Reasoning {
        provider: provider.to_owned(),
        text: "hm".to_owned(),
        ..Reasoning::default()
    })
}

fn call(id: &str) -> ContentBlock {
    ContentBlock::ToolCall(ToolCall {
        id: id.into(),
        name: "read".to_owned(),
        arguments: Arguments::from_model_text(r#"{"path": "a"}"#),
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
        model: "gpt",
        system: "be good",
        messages,
        tools,
        reasoning: None,
        max_output: 100,
        sampling: Sampling::default(),
    }
}

fn body(cache: &mut RequestCache, quirks: OpenAiQuirks, request: &ModelRequest<'_>) -> String {
    String::from_utf8(
        cache
            .write(
                "openai",
                quirks,
                Delivery::Streamed,
                request,
                request.reasoning,
            )
            .to_vec(),
    )
    .unwrap()
}

fn fresh(quirks: OpenAiQuirks, request: &ModelRequest<'_>) -> String {
    body(&mut RequestCache::default(), quirks, request)
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
            vec![thought("openai"), call("a"), call("b")],
        ),
        message(
            Role::Tool,
            vec![
                result("a", false, vec![text("seen"), image()]),
                result("b", true, vec![text("gone")]),
            ],
        ),
        message(Role::Assistant, vec![text("done")]),
        message(Role::User, vec![text("one"), text("two")]),
    ];
    let mut asked = request(&messages, &tools);
    asked.reasoning = Some(ReasoningEffort::High);
    let expected = concat!(
        r#"{"model":"gpt","stream":true,"stream_options":{"include_usage":true},"#,
        r#""max_tokens":100,"reasoning_effort":"high","#,
        r#""tools":[{"type":"function","function":{"name":"read","description":"reads","#,
        r#""parameters":{"type":"object","properties":{}}}}],"#,
        r#""messages":[{"role":"system","content":"be good"},"#,
        r#"{"role":"user","content":[{"type":"text","text":"look"},"#,
        r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw=="}}]},"#,
        r#"{"role":"assistant","content":null,"tool_calls":["#,
        r#"{"id":"a","type":"function","function":{"name":"read","arguments":"{\"path\": \"a\"}"}},"#,
        r#"{"id":"b","type":"function","function":{"name":"read","arguments":"{\"path\": \"a\"}"}}]},"#,
        r#"{"role":"tool","tool_call_id":"a","content":"seen"},"#,
        r#"{"role":"tool","tool_call_id":"b","content":"gone [error]"},"#,
        r#"{"role":"assistant","content":"done"},"#,
        r#"{"role":"user","content":"one\ntwo"}]}"#,
    );
    assert_eq!(fresh(OpenAiQuirks::COMPATIBLE, &asked), expected);
}

#[test]
fn an_empty_result_is_said_to_be_empty() {
    let messages = [message(Role::Tool, vec![result("a", false, vec![])])];
    let sent = fresh(OpenAiQuirks::COMPATIBLE, &request(&messages, &[]));
    assert!(sent.ends_with(r#"{"role":"tool","tool_call_id":"a","content":"(no output)"}]}"#));
}

#[test]
fn quirks() {
    let messages = [
        message(Role::Assistant, vec![thought("openai"), text("plain")]),
        message(
            Role::Assistant,
            vec![thought("openai"), thought("other"), call("a")],
        ),
    ];
    let mut asked = request(&messages, &[]);
    asked.reasoning = Some(ReasoningEffort::Low);
    let quirks = OpenAiQuirks {
        output_limit: OutputLimitField::MaxCompletionTokens,
        effort: EffortField::Absent,
        reasoning_replay: ReasoningReplay::WithToolCalls,
        usage_report: UsageReport::Always,
        ..OpenAiQuirks::COMPATIBLE
    };
    let sent = fresh(quirks, &asked);
    assert!(
        sent.starts_with(r#"{"model":"gpt","stream":true,"max_completion_tokens":100,"messages""#)
    );
    assert!(sent.contains(r#"{"role":"assistant","content":"plain"}"#));
    assert!(sent.contains(r#""content":null,"reasoning_content":"hm","tool_calls""#));
    let quirks = OpenAiQuirks {
        reasoning_replay: ReasoningReplay::Always,
        ..quirks
    };
    assert_eq!(
        fresh(quirks, &asked).matches("reasoning_content").count(),
        2
    );
}

proptest! {
    #[test]
    fn the_cache_never_changes_a_body(
        system in prop::sample::select(vec!["", "system"]),
        steps in prop::collection::vec((0u8..7, 0usize..12), 1..30),
    ) {
        let mut cache = RequestCache::default();
        let mut messages: Vec<Arc<Message>> = Vec::new();
        for (kind, number) in steps {
            let label = number.to_string();
            match kind {
                0 => messages.push(message(Role::User, vec![text(&label)])),
                1 => messages.push(message(Role::Assistant, vec![call(&label)])),
                2 => messages.push(message(Role::Tool, vec![result(&label, false, vec![image()])])),
                3 => messages.push(message(Role::Assistant, vec![thought("other")])),
                4 => messages.truncate(number),
                5 => if let Some(slot) = messages.get_mut(number) {
                    *slot = message(Role::User, vec![text("replaced")]);
                },
                _ => {}
            }
            let mut asked = request(&messages, &[]);
            asked.system = system;
            let cached = body(&mut cache, OpenAiQuirks::COMPATIBLE, &asked);
            prop_assert_eq!(&cached, &fresh(OpenAiQuirks::COMPATIBLE, &asked));
            prop_assert!(serde_json::from_str::<serde_json::Value>(&cached).is_ok());
        }
    }
}

#[test]
fn sampling_is_written_unless_the_model_reasons() {
    let mut asked = request(&[], &[]);
    asked.sampling = Sampling {
        temperature: Some(0.5),
        top_p: Some(0.9),
    };
    let quirks = OpenAiQuirks {
        output_limit: OutputLimitField::Absent,
        ..OpenAiQuirks::COMPATIBLE
    };
    let sent = fresh(quirks, &asked);
    let options =
        r#""stream_options":{"include_usage":true},"temperature":0.5,"top_p":0.9,"messages""#;
    assert!(sent.contains(options), "{sent}");
    asked.reasoning = Some(ReasoningEffort::Low);
    assert!(!fresh(quirks, &asked).contains("temperature"));
    asked.reasoning = None;
    asked.model = "gpt-5";
    assert!(!fresh(quirks, &asked).contains("top_p"));
}

#[test]
fn reasoning_goes_back_in_parts_where_it_came_in_parts() {
    let quirks = OpenAiQuirks {
        reasoning_replay: ReasoningReplay::AsParts,
        ..OpenAiQuirks::COMPATIBLE
    };
    let messages = [
        message(Role::User, vec![text("look")]),
        message(Role::Assistant, vec![thought("openai"), text("hi")]),
        message(Role::Assistant, vec![thought("openai"), call("a")]),
        message(Role::Assistant, vec![thought("other"), text("plain")]),
    ];
    let sent = fresh(quirks, &request(&messages, &[]));
    let sent: serde_json::Value = serde_json::from_str(&sent).unwrap();
    let thinking =
        serde_json::json!({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]});
    assert_eq!(
        sent["messages"][2]["content"],
        serde_json::json!([thinking, {"type": "text", "text": "hi"}])
    );
    assert_eq!(
        sent["messages"][3]["content"],
        serde_json::json!([thinking])
    );
    assert_eq!(sent["messages"][4]["content"], "plain");
}
