use std::path::Path;

use zot_conversation::{ModelErrorKind, Usage};

use super::*;
use crate::call::replay::{check_every_byte, replay};

fn recording(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/openai");
    std::fs::read(directory.join(format!("{name}.sse"))).unwrap()
}

fn decoder() -> OpenAiDecoder {
    OpenAiDecoder::new(Arc::new(Endpoint {
        provider: "openai".to_owned(),
        base_url: String::new(),
        api_key: None,
    }))
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.to_owned())
}

fn usage(input: u64, output: u64, cache_read: u64) -> ModelEvent {
    ModelEvent::Usage(Usage {
        input,
        output,
        cache_read,
        ..Usage::default()
    })
}

fn start(id: &str, name: &str) -> ModelEvent {
    ModelEvent::ToolCallStart {
        id: id.into(),
        name: name.to_owned(),
    }
}

fn arguments(id: &str, delta: &str) -> ModelEvent {
    ModelEvent::ToolCallArguments {
        id: id.into(),
        delta: delta.to_owned(),
    }
}

fn end(id: &str) -> ModelEvent {
    ModelEvent::ToolCallEnd { id: id.into() }
}

fn events(body: &[u8]) -> Vec<ModelEvent> {
    let (events, error) = replay(decoder(), &[body], None);
    assert!(error.is_none(), "{error:?}");
    events
}

/// The events of a response whose deltas hold these `tool_calls`.
fn call_events(tool_calls: &[&str]) -> Vec<ModelEvent> {
    let mut body = String::new();
    for calls in tool_calls {
        body += &format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":{calls}}}}}]}}\n\n");
    }
    body += "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n";
    let mut events = events(body.as_bytes());
    assert_eq!(events.pop(), Some(ModelEvent::Stop(StopReason::ToolUse)));
    events
}

#[test]
fn streams_text_and_counts() {
    let mut expected: Vec<ModelEvent> = ["héé ", "日本 ", "<b>&", "\u{2028}x", "🎉!", "\"q\"\\\n"]
        .map(text)
        .into();
    expected.extend([usage(80, 6, 20), ModelEvent::Stop(StopReason::End)]);
    assert_eq!(events(&recording("text")), expected);
}

#[test]
fn streams_parallel_tools_and_ends_them_together() {
    assert_eq!(
        events(&recording("tools")),
        [
            start("call_1", "read"),
            arguments("call_1", "{\"path\":\"a.t"),
            arguments("call_1", "xt\"}"),
            start("call_2", "bash"),
            arguments("call_2", "{\"command\":\""),
            arguments("call_2", "ls -l | head"),
            arguments("call_2", "\"}"),
            end("call_1"),
            end("call_2"),
            usage(80, 5, 20),
            ModelEvent::Stop(StopReason::ToolUse),
        ]
    );
}

#[test]
fn streams_reasoning() {
    assert_eq!(
        events(&recording("reasoning")),
        [
            ModelEvent::ThinkingDelta("Let me ".to_owned()),
            ModelEvent::ThinkingDelta("see.".to_owned()),
            ModelEvent::Reasoning(Reasoning {
                provider: "openai".to_owned(),
                text: "Let me see.".to_owned(),
                ..Reasoning::default()
            }),
            text("Hello"),
            usage(10, 5, 20),
            ModelEvent::Stop(StopReason::End),
        ]
    );
}

#[test]
fn every_split_and_every_cut() {
    for name in ["text", "tools", "text_tool", "length", "reasoning"] {
        let body = recording(name);
        let text = String::from_utf8(body.clone()).unwrap();
        // A finish_reason makes the response whole; the end of its line is at the next line feed.
        let reason = text.rfind("\"finish_reason\":\"").unwrap();
        let complete_from = reason + text[reason..].find('\n').unwrap();
        check_every_byte(&body, complete_from, decoder);
    }
}

#[test]
fn calls_of_servers_that_leave_things_out() {
    let function = |name: &str, text: &str| {
        format!("\"function\":{{\"name\":\"{name}\",\"arguments\":\"{text}\"}}")
    };
    // No index: a new id begins a new call, no id continues the last.
    let first = format!("[{{\"id\":\"a\",{}}}]", function("x", "1"));
    let more = "[{\"function\":{\"arguments\":\"2\"}}]";
    let second = format!("[{{\"id\":\"b\",{}}}]", function("y", "3"));
    assert_eq!(
        call_events(&[&first, more, &second]),
        [
            start("a", "x"),
            arguments("a", "1"),
            arguments("a", "2"),
            start("b", "y"),
            arguments("b", "3"),
            end("a"),
            end("b"),
        ]
    );
    // Every call numbered 0.
    let first = format!("[{{\"index\":0,\"id\":\"a\",{}}}]", function("x", "1"));
    let second = format!("[{{\"index\":0,\"id\":\"b\",{}}}]", function("y", "2"));
    assert_eq!(
        call_events(&[&first, &second]),
        [
            start("a", "x"),
            arguments("a", "1"),
            start("b", "y"),
            arguments("b", "2"),
            end("a"),
            end("b"),
        ]
    );
    // Arguments before the name, indices out of order.
    let late = "[{\"index\":1,\"id\":\"b\",\"function\":{\"arguments\":\"1\"}}]";
    let named = "[{\"index\":1,\"function\":{\"name\":\"y\",\"arguments\":null}}]";
    let first = format!("[{{\"index\":0,\"id\":\"a\",{}}}]", function("x", ""));
    assert_eq!(
        call_events(&[late, named, &first]),
        [
            start("b", "y"),
            arguments("b", "1"),
            start("a", "x"),
            end("a"),
            end("b"),
        ]
    );
}

#[test]
fn calls_without_ids_get_different_ones() {
    let call = "[{\"index\":0,\"function\":{\"name\":\"x\",\"arguments\":\"\"}}]";
    let other = "[{\"index\":1,\"function\":{\"name\":\"x\",\"arguments\":\"\"}}]";
    let events = call_events(&[call, other]);
    let ids: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::ToolCallStart { id, .. } => Some(id.clone()),
            _ => None,
        })
        .collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
}

#[test]
fn stop_reasons() {
    for (reason, expected) in [
        ("stop", StopReason::End),
        ("tool_calls", StopReason::End),
        ("length", StopReason::Length),
        ("content_filter", StopReason::Refused),
        ("eos", StopReason::End),
    ] {
        let body = format!("data:{{\"choices\":[{{\"finish_reason\":\"{reason}\"}}]}}\n\n");
        assert_eq!(
            events(body.as_bytes()),
            [ModelEvent::Stop(expected)],
            "{reason}"
        );
    }
}

#[test]
fn malformed_events_are_skipped_unless_nothing_follows() {
    let texts = events(&recording("garbage"));
    assert_eq!(texts[..4], ["alpha ", "beta ", "gamm ", "delta "].map(text));
    let finished = b"data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n";
    let (_, error) = replay(decoder(), &[finished, b"data: {no\n\n"], None);
    assert!(error.unwrap().to_string().contains("1 malformed"));
    let (_, error) = replay(decoder(), &[b"data: [DONE]\n\n"], None);
    assert_eq!(error.unwrap().kind, ModelErrorKind::Stream);
}

#[test]
fn error_events_end_the_stream() {
    let (events, error) = replay(decoder(), &[&recording("error")], None);
    assert_eq!(events, [text("alpha "), text("beta ")]);
    let error = error.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Unavailable);
    assert_eq!(
        error.to_string(),
        "openai: server_error: scripted mid-stream error"
    );
    let bare = b"data: {\"error\":\"out of memory\"}\n\n";
    let (_, error) = replay(decoder(), &[bare], None);
    assert_eq!(error.unwrap().to_string(), "openai: out of memory");
}

/// The events of chunks that say these, closed by the end marker alone.
fn streamed(chunks: &[&str]) -> (Vec<ModelEvent>, Option<ModelError>) {
    let mut body = String::new();
    for chunk in chunks {
        body += &format!("data: {chunk}\n\n");
    }
    body += "data: [DONE]\n\n";
    replay(decoder(), &[body.as_bytes()], None)
}

fn complete(chunks: &[&str]) -> Vec<ModelEvent> {
    let (events, error) = streamed(chunks);
    assert!(error.is_none(), "{error:?}");
    events
}

#[test]
fn an_end_marker_without_a_reason_ends_what_was_said() {
    let said = r#"{"choices":[{"delta":{"content":"hi"},"finish_reason":null}]}"#;
    let stop = ModelEvent::Stop(StopReason::End);
    assert_eq!(complete(&[said]), [text("hi"), stop]);
    let called = r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{}"}}]}}]}"#;
    assert_eq!(
        complete(&[called]),
        [
            start("a", "x"),
            arguments("a", "{}"),
            end("a"),
            ModelEvent::Stop(StopReason::ToolUse),
        ]
    );
    // Thinking alone is not a response.
    let thought = r#"{"choices":[{"delta":{"reasoning":"hm"}}]}"#;
    for chunks in [&[thought][..], &[], &[r#"{"choices":[]}"#]] {
        let error = streamed(chunks).1.unwrap();
        assert_eq!(error.kind, ModelErrorKind::Stream, "{chunks:?}");
    }
    // A response without the marker and without a reason may be cut anywhere.
    let cut = format!("data: {said}\n\n");
    assert!(replay(decoder(), &[cut.as_bytes()], None).1.is_some());
}

#[test]
fn counts_and_text_beside_an_error_are_kept() {
    let chunk = r#"{"error":{"code":502,"message":"upstream failed"},
        "choices":[{"index":0,"delta":{"content":"last words"},"finish_reason":"error","native_finish_reason":"error"}],
        "usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}}"#;
    let (events, error) = streamed(&[&chunk.replace('\n', "")]);
    let counted = ModelEvent::Usage(Usage {
        input: 10,
        output: 5,
        cache_read: 60,
        cache_write: 30,
        ..Usage::default()
    });
    assert_eq!(events, [text("last words"), counted]);
    let error = error.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Unavailable);
    assert_eq!(error.to_string(), "openai: 502: upstream failed");
}

#[test]
fn errors_in_every_place() {
    let quota = ModelErrorKind::InsufficientQuota;
    for (chunk, kind) in [
        (
            r#"{"choices":[{"delta":{},"error":{"code":429,"message":"slow"}}]}"#,
            ModelErrorKind::RateLimited,
        ),
        (
            r#"{"object":"error","message":"bad","type":"BadRequestError","code":400}"#,
            ModelErrorKind::Invalid,
        ),
        (
            r#"{"error":{"type":"tokens","code":"rate_limit_exceeded","message":"slow"}}"#,
            ModelErrorKind::RateLimited,
        ),
        (
            r#"{"error":{"type":"invalid_request_error","code":"insufficient_quota","message":"pay"}}"#,
            quota,
        ),
        (r#"{"error":{"code":402,"message":"no credits"}}"#, quota),
        (
            r#"{"choices":[{"delta":{},"finish_reason":"insufficient_system_resource"}]}"#,
            ModelErrorKind::Unavailable,
        ),
        (
            r#"{"choices":[{"delta":{},"finish_reason":"abort"}]}"#,
            ModelErrorKind::Unavailable,
        ),
    ] {
        let (_, error) = streamed(&[chunk]);
        assert_eq!(error.unwrap().kind, kind, "{chunk}");
    }
}

#[test]
fn reasons_of_compatible_servers() {
    for (reason, expected) in [
        ("MAX_TOKENS", StopReason::Length),
        ("model_context_window_exceeded", StopReason::Length),
        ("SAFETY", StopReason::Refused),
        ("sensitive", StopReason::Refused),
        ("stop_sequence", StopReason::End),
        ("function_call", StopReason::End),
    ] {
        let chunk =
            format!(r#"{{"choices":[{{"delta":{{"content":"x"}},"finish_reason":"{reason}"}}]}}"#);
        let stop = ModelEvent::Stop(expected);
        assert_eq!(complete(&[&chunk]), [text("x"), stop], "{reason}");
    }
}

#[test]
fn mistral_thinks_in_parts() {
    let events = complete(&[
        r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
        r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"let "}]}]}}]}"#,
        r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"me see"},{"type":"reference","reference_ids":[1]}],"closed":true}]}}]}"#,
        r#"{"choices":[{"delta":{"content":[{"type":"reference","reference_ids":[2]},{"type":"text","text":"Hello"},{"type":"image_url","image_url":"x"}]}}]}"#,
        r#"{"choices":[{"delta":{"content":" you"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":9}}"#,
    ]);
    assert_eq!(
        events,
        [
            ModelEvent::ThinkingDelta("let ".to_owned()),
            ModelEvent::ThinkingDelta("me see".to_owned()),
            ModelEvent::Reasoning(Reasoning {
                provider: "openai".to_owned(),
                text: "let me see".to_owned(),
                ..Reasoning::default()
            }),
            text("Hello"),
            text(" you"),
            usage(5, 9, 0),
            ModelEvent::Stop(StopReason::End),
        ]
    );
}

#[test]
fn values_of_unexpected_types_cost_nothing_else() {
    let events = complete(&[
        r#"{"id":null,"choices":[{"index":"0","delta":{"role":null,"content":"a","refusal":null,"tool_calls":null,"function_call":null,"reasoning":{"effort":"low"},"reasoning_content":7},"logprobs":null,"finish_reason":null}],"usage":null,"error":null,"x_groq":null}"#,
        r#"{"choices":[{"delta":{"content":"b","tool_calls":[]},"finish_reason":0}],"usage":"none","x_groq":{"id":"req"}}"#,
        r#"{"choices":null,"usage":{"prompt_tokens":"12","completion_tokens":2.0,"total_tokens":null}}"#,
        r#"{"choices":[{"delta":{"content":null},"finish_reason":"stop"}],"x_groq":{"usage":{"prompt_tokens":13,"completion_tokens":2}}}"#,
    ]);
    assert_eq!(
        events,
        [
            text("a"),
            text("b"),
            usage(12, 2, 0),
            usage(13, 2, 0),
            ModelEvent::Stop(StopReason::End),
        ]
    );
}

#[test]
fn the_older_form_of_a_call_and_names_that_are_repeated() {
    let legacy = complete(&[
        r#"{"choices":[{"delta":{"role":"assistant","content":null,"function_call":{"name":"x","arguments":""}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"arguments":"{\"a\":"}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"arguments":"1}"}}}]}"#,
        r#"{"choices":[{"delta":{},"finish_reason":"function_call"}]}"#,
    ]);
    let deltas: String = legacy
        .iter()
        .filter_map(|event| match event {
            ModelEvent::ToolCallArguments { delta, .. } => Some(delta.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(deltas, r#"{"a":1}"#);
    assert_eq!(legacy.last(), Some(&ModelEvent::Stop(StopReason::ToolUse)));

    // Without index and id, the name in every delta: a new call begins when the last is whole.
    let repeated = |arguments: &str| {
        format!(r#"[{{"id":null,"function":{{"name":"x","arguments":"{arguments}"}}}}]"#)
    };
    let events = call_events(&[
        &repeated(r#"{\"a\":"#),
        &repeated("1}"),
        &repeated(r#"{\"a\":2}"#),
    ]);
    let starts = events
        .iter()
        .filter(|event| matches!(event, ModelEvent::ToolCallStart { .. }));
    assert_eq!(starts.count(), 2, "{events:?}");
    // An object where the arguments should be text.
    let object = r#"[{"id":"a","function":{"name":"x","arguments":{"path": "a"}}}]"#;
    assert_eq!(
        call_events(&[object]),
        [
            start("a", "x"),
            arguments("a", r#"{"path": "a"}"#),
            end("a")
        ]
    );
}

#[test]
fn a_whole_message_counts_where_nothing_was_streamed() {
    let whole = r#"{"choices":[{"message":{"role":"assistant","content":"all at once"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":3}}"#;
    // The document itself, from a server that does not stream.
    let (events, error) = replay(decoder(), &[whole.as_bytes()], None);
    assert!(error.is_none(), "{error:?}");
    let expected = [
        text("all at once"),
        usage(1, 3, 0),
        ModelEvent::Stop(StopReason::End),
    ];
    assert_eq!(events, expected);
    let delta =
        r#"{"choices":[{"delta":{"content":"all at once"},"message":{"content":"all at once"}}]}"#;
    assert_eq!(complete(&[delta, whole]), expected);
}
