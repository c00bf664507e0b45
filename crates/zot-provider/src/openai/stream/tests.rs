use std::path::Path;

use zot_conversation::{ModelErrorKind, Usage};

use super::*;
use crate::call::replay::{check_every_byte, replay};

fn recording(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/openai");
    std::fs::read(folder.join(format!("{name}.sse"))).unwrap()
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

/// The events of an answer whose deltas hold these `tool_calls`.
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
        // A finish_reason makes the answer whole; the end of its line is at the next line feed.
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
    assert!(error.unwrap().message.contains("1 malformed"));
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
        error.message,
        "openai: server_error: scripted mid-stream error"
    );
    let bare = b"data: {\"error\":\"out of memory\"}\n\n";
    let (_, error) = replay(decoder(), &[bare], None);
    assert_eq!(error.unwrap().message, "openai: out of memory");
}
