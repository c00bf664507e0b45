use std::path::Path;

use zot_conversation::ModelErrorKind;

use super::*;
use crate::call::replay::{check_every_byte, replay};

fn recording(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/anthropic");
    std::fs::read(directory.join(format!("{name}.sse"))).unwrap()
}

fn decoder() -> AnthropicDecoder {
    let endpoint = Endpoint {
        provider: "anthropic".to_owned(),
        base_url: String::new(),
        api_key: None,
    };
    AnthropicDecoder::new(Arc::new(endpoint), PrefixCell::default())
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.to_owned())
}

fn usage(input: u64, output: u64, cache_read: u64, cache_write: u64) -> ModelEvent {
    ModelEvent::Usage(Usage {
        input,
        output,
        cache_read,
        cache_write,
        cost_usd: 0.0,
    })
}

fn call(id: &str, name: &str, deltas: &[&str]) -> Vec<ModelEvent> {
    let id = ToolCallId::from(id);
    let mut events = vec![ModelEvent::ToolCallStart {
        id: id.clone(),
        name: name.to_owned(),
    }];
    events.extend(deltas.iter().map(|delta| ModelEvent::ToolCallArguments {
        id: id.clone(),
        delta: (*delta).to_owned(),
    }));
    events.push(ModelEvent::ToolCallEnd { id });
    events
}

fn events(body: &[u8]) -> Vec<ModelEvent> {
    let (events, error) = replay(decoder(), &[body], None);
    assert!(error.is_none(), "{error:?}");
    events
}

#[test]
fn streams_thinking_and_text() {
    let reasoning = Reasoning {
        provider: "anthropic".to_owned(),
        ..Reasoning::default()
    };
    assert_eq!(
        events(&recording("thinking")),
        [
            usage(7, 1, 3, 2),
            ModelEvent::ThinkingDelta("Let me ".to_owned()),
            ModelEvent::ThinkingDelta("see.".to_owned()),
            ModelEvent::Reasoning(Reasoning {
                text: "Let me see.".to_owned(),
                signature: Some("c2lnbmF0dXJl".to_owned()),
                ..reasoning.clone()
            }),
            ModelEvent::Reasoning(Reasoning {
                encrypted: Some("ZW5jcnlwdGVk".to_owned()),
                ..reasoning
            }),
            text("Hello"),
            usage(7, 15, 3, 2),
            ModelEvent::Stop(StopReason::End),
        ]
    );
}

#[test]
fn streams_parallel_tools() {
    let mut expected = vec![usage(80, 1, 20, 10)];
    expected.extend(call("toolu_1", "read", &["{\"path\":\"a.t", "xt\"}"]));
    let pieces = ["{\"command\":\"", "ls -l | head", "\"}"];
    expected.extend(call("toolu_2", "bash", &pieces));
    expected.extend([usage(80, 5, 20, 10), ModelEvent::Stop(StopReason::ToolUse)]);
    assert_eq!(events(&recording("tools")), expected);
}

#[test]
fn every_split_and_every_cut() {
    for name in ["text", "tools", "text_tool", "length", "thinking"] {
        let body = recording(name);
        let end = body.windows(2).rposition(|pair| pair == b"\"}").unwrap() + 2;
        check_every_byte(&body, end, decoder);
    }
}

#[test]
fn stop_reasons() {
    for (reason, expected) in [
        ("end_turn", StopReason::End),
        ("stop_sequence", StopReason::End),
        ("pause_turn", StopReason::End),
        ("tool_use", StopReason::ToolUse),
        ("max_tokens", StopReason::Length),
        ("refusal", StopReason::Refused),
        ("something_new", StopReason::End),
    ] {
        let body = format!(
            "data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\"}}}}\n\n\
             data: {{\"type\":\"message_stop\"}}\n\n"
        );
        assert_eq!(
            events(body.as_bytes()),
            [ModelEvent::Stop(expected)],
            "{reason}"
        );
    }
}

#[test]
fn malformed_and_unknown_events_are_skipped() {
    let texts: Vec<ModelEvent> = events(&recording("garbage"))
        .into_iter()
        .filter(|event| matches!(event, ModelEvent::TextDelta(_)))
        .collect();
    assert_eq!(
        texts,
        [text("alpha "), text("beta "), text("gamm "), text("delta ")]
    );
    let unknown = b"event: new\ndata: {\"type\":\"new\"}\n\ndata: {\"type\":\"message_stop\"}\n\n";
    assert_eq!(events(unknown), [ModelEvent::Stop(StopReason::End)]);
    let (_, error) = replay(decoder(), &[b"data: {no\n\n"], None);
    let error = error.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Stream);
    assert!(
        error.to_string().contains("1 malformed"),
        "{}",
        error.to_string()
    );
}

#[test]
fn error_events_end_the_stream() {
    let (events, error) = replay(decoder(), &[&recording("error")], None);
    assert_eq!(events[1..], [text("alpha "), text("beta ")]);
    let error = error.unwrap();
    assert_eq!(error.kind, ModelErrorKind::Unavailable);
    assert_eq!(
        error.to_string(),
        "anthropic: overloaded_error: scripted mid-stream error"
    );
}

#[test]
fn a_whole_input_without_deltas_is_taken() {
    let body = br#"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":{"a":1}}}

data: {"type":"message_stop"}

"#;
    let mut expected = call("t", "n", &["{\"a\":1}"]);
    expected.push(ModelEvent::Stop(StopReason::ToolUse));
    assert_eq!(events(body), expected);
}

/// The events of these events, and the error.
fn streamed(wire: &[&str]) -> (Vec<ModelEvent>, Option<ModelError>) {
    let body: String = wire
        .iter()
        .map(|event| format!("data: {event}\n\n"))
        .collect();
    replay(decoder(), &[body.as_bytes()], None)
}

const STOP: &str = r#"{"type":"message_stop"}"#;

#[test]
fn a_second_message_start_takes_nothing_back() {
    let (events, error) = streamed(&[
        r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":7,"cache_read_input_tokens":3,"cache_creation_input_tokens":2,"output_tokens":1}}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":0,"cache_read_input_tokens":0,"output_tokens":0}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}"#,
        r#"{"type":"message_start","message":{"id":"m","usage":null}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":15,"input_tokens":0}}"#,
        STOP,
    ]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(
        events,
        [
            usage(7, 1, 3, 2),
            usage(7, 1, 3, 2),
            text("Hello"),
            usage(7, 15, 3, 2),
            ModelEvent::Stop(StopReason::End),
        ]
    );
}

#[test]
fn a_call_that_is_sent_twice_runs_once() {
    let begin = r#"{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}"#;
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#;
    let end = r#"{"type":"content_block_stop","index":0}"#;
    let mut expected = call("t", "n", &["{}"]);
    expected.push(ModelEvent::Stop(StopReason::ToolUse));
    for wire in [
        &[begin, begin, delta, end, STOP][..],
        &[begin, delta, end, begin, delta, end, STOP],
    ] {
        let (events, error) = streamed(wire);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(events, expected);
    }
}

#[test]
fn what_only_the_provider_uses_is_passed_over() {
    let (events, error) = streamed(&[
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","text":7}]}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"","citations":[]}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"citations_delta","citation":{"text":"x"}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"new_delta","text":{"a":1}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"found"}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        STOP,
    ]);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(events, [text("found"), ModelEvent::Stop(StopReason::End)]);
}

#[test]
fn counts_beside_an_error_are_kept() {
    let (events, error) = streamed(&[
        r#"{"type":"message_start","message":{"usage":{"input_tokens":7,"output_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":4}}}}"#,
        r#"{"type":"error","error":{"type":"billing_error","message":"pay"},"usage":{"output_tokens":9}}"#,
    ]);
    assert_eq!(events, [usage(7, 1, 0, 7), usage(7, 9, 0, 7)]);
    assert_eq!(error.unwrap().kind, ModelErrorKind::InsufficientQuota);
    let (_, error) = streamed(&[r#"{"error":{"type":"overloaded_error","message":"busy"}}"#]);
    assert_eq!(error.unwrap().kind, ModelErrorKind::Unavailable);
}
