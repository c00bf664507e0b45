use std::path::Path;

use zot_conversation::{ModelErrorKind, Usage};

use super::*;
use crate::call::replay::{check_every_byte, replay};

fn recording(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/responses");
    std::fs::read(directory.join(format!("{name}.sse"))).unwrap()
}

fn decoder() -> ResponsesDecoder {
    ResponsesDecoder::new(Arc::new(Endpoint {
        provider: "openai-responses".to_owned(),
        base_url: String::new(),
        api_key: Some("sk-0123456789".into()),
    }))
}

fn events(body: &[u8]) -> Vec<ModelEvent> {
    let (events, error) = replay(decoder(), &[body], None);
    assert!(error.is_none(), "{error:?}");
    events
}

fn failure(body: &str) -> ModelError {
    replay(decoder(), &[body.as_bytes()], None).1.unwrap()
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::TextDelta(text.to_owned())
}

fn thinking(text: &str) -> ModelEvent {
    ModelEvent::ThinkingDelta(text.to_owned())
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

const COMPLETED: &str = "data: {\"type\":\"response.completed\",\"response\":{}}\n\n";

#[test]
fn streams_reasoning_text_and_parallel_calls() {
    assert_eq!(
        events(&recording("tools")),
        [
            thinking("**Lööking**"),
            thinking("\n\n"),
            thinking("at both"),
            ModelEvent::Reasoning(Reasoning {
                provider: "openai-responses".to_owned(),
                text: "**Lööking**\n\nat both".to_owned(),
                encrypted: Some("gAAAA+/=".to_owned()),
                id: Some("rs_1".to_owned()),
                ..Reasoning::default()
            }),
            text("日本 \"q\"\n"),
            start("call_a", "read"),
            start("call_b", "bash"),
            arguments("call_b", "{\"command\":"),
            arguments("call_a", "{\"path\":\"a\"}"),
            arguments("call_b", "\"ls\"}"),
            end("call_a"),
            end("call_b"),
            ModelEvent::Usage(Usage {
                input: 20,
                output: 30,
                cache_read: 100,
                ..Usage::default()
            }),
            ModelEvent::Stop(StopReason::ToolUse),
        ]
    );
}

#[test]
fn every_split_and_every_cut() {
    let body = recording("tools");
    // Without the end marker there is no success: only the line ends of the last event may go.
    check_every_byte(&body, body.len() - 2, decoder);
}

#[test]
fn whole_items_count_where_no_delta_came() {
    let body = concat!(
        "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",",
        "\"id\":\"r\",\"summary\":[],\"content\":[{\"type\":\"reasoning_text\",\"text\":\"hm\"}]}}\n\n",
        "data: {\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":\"message\",",
        "\"content\":[{\"type\":\"output_text\",\"text\":\"hi\"},{\"type\":\"refusal\",\"refusal\":\"no\"}]}}\n\n",
        "data: {\"type\":\"response.output_item.done\",\"output_index\":2,\"item\":{\"type\":\"function_call\",",
        "\"call_id\":\"c\",\"name\":\"n\",\"arguments\":\"{}\"}}\n\n",
        "data: [DONE]\n\n",
    );
    let body = format!("{body}{COMPLETED}");
    assert_eq!(
        events(body.as_bytes()),
        [
            thinking("hm"),
            ModelEvent::Reasoning(Reasoning {
                provider: "openai-responses".to_owned(),
                text: "hm".to_owned(),
                id: Some("r".to_owned()),
                ..Reasoning::default()
            }),
            text("hi"),
            text("no"),
            start("c", "n"),
            arguments("c", "{}"),
            end("c"),
            ModelEvent::Stop(StopReason::ToolUse),
        ]
    );
}

#[test]
fn arguments_that_come_only_at_the_end_are_kept_once() {
    let body = format!(
        "{}{}{}{COMPLETED}",
        "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"n\"}}\n\n",
        "data: {\"type\":\"response.function_call_arguments.done\",\"arguments\":\"{\\\"a\\\":1}\"}\n\n",
        "data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"function_call\",\"arguments\":\"{\\\"a\\\":1}\"}}\n\n",
    );
    assert_eq!(
        events(body.as_bytes()),
        [
            start("c", "n"),
            arguments("c", "{\"a\":1}"),
            end("c"),
            ModelEvent::Stop(StopReason::ToolUse),
        ]
    );
}

#[test]
fn incomplete_responses_say_why() {
    for (reason, expected) in [
        ("max_output_tokens", StopReason::Length),
        ("content_filter", StopReason::Refused),
    ] {
        let body = format!(
            "data: {{\"type\":\"response.incomplete\",\"response\":{{\"incomplete_details\":\
             {{\"reason\":\"{reason}\"}}}}}}\n\n"
        );
        assert_eq!(events(body.as_bytes()), [ModelEvent::Stop(expected)]);
    }
}

#[test]
fn failures() {
    for (event, kind, message) in [
        (
            r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"slow down sk-0123456789"}}}"#,
            ModelErrorKind::RateLimited,
            "openai-responses: rate_limit_exceeded: slow down [redacted]",
        ),
        (
            r#"{"type":"error","code":"context_length_exceeded","message":"too long","param":null}"#,
            ModelErrorKind::ContextOverflow,
            "openai-responses: context_length_exceeded: too long",
        ),
        (
            r#"{"type":"error","error":{"type":"server_error","code":null,"message":"oops"}}"#,
            ModelErrorKind::Unavailable,
            "openai-responses: server_error: oops",
        ),
        (
            r#"{"type":"response.failed","response":{"error":null}}"#,
            ModelErrorKind::Unavailable,
            "openai-responses: response.failed: the provider gave no reason",
        ),
    ] {
        let error = failure(&format!("data: {event}\n\n"));
        assert_eq!((error.kind, error.to_string().as_str()), (kind, message));
    }
    let error = failure("data: {no\n\n");
    assert_eq!(error.kind, ModelErrorKind::Stream);
    assert!(
        error
            .message
            .ends_with("without response.completed (1 malformed events skipped)")
    );
}

#[test]
fn a_completed_response_may_be_incomplete() {
    for (response, expected) in [
        (
            r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}"#,
            StopReason::Length,
        ),
        (
            r#"{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}"#,
            StopReason::Refused,
        ),
        (
            r#"{"status":"incomplete","incomplete_details":null}"#,
            StopReason::Length,
        ),
        (
            r#"{"status":"completed","incomplete_details":null,"error":null}"#,
            StopReason::End,
        ),
    ] {
        let body = format!("data: {{\"type\":\"response.completed\",\"response\":{response}}}\n\n");
        assert_eq!(events(body.as_bytes()), [ModelEvent::Stop(expected)]);
    }
    let failed = r#"data: {"type":"response.completed","response":{"status":"failed","error":{"code":"server_error","message":"oops"}}}"#;
    let error = failure(&format!("{failed}\n\n"));
    assert_eq!(error.to_string(), "openai-responses: server_error: oops");
}

#[test]
fn a_call_cut_at_the_limit_says_so() {
    let body = concat!(
        "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"n\",\"arguments\":\"\"}}\n\n",
        "data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":0,\"delta\":\"{\\\"a\"}\n\n",
        "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"function_call\",\"status\":\"incomplete\",\"arguments\":\"{\\\"a\"}}\n\n",
        "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}}\n\n",
    );
    assert_eq!(
        events(body.as_bytes()),
        [
            start("c", "n"),
            arguments("c", "{\"a"),
            end("c"),
            ModelEvent::Stop(StopReason::Length),
        ]
    );
}

#[test]
fn cache_writes_are_counted_also_beside_a_failure() {
    let usage = r#"{"input_tokens":"100","input_tokens_details":{"cached_tokens":60,"cache_write_tokens":30},"output_tokens":7}"#;
    let counted = ModelEvent::Usage(Usage {
        input: 10,
        output: 7,
        cache_read: 60,
        cache_write: 30,
        ..Usage::default()
    });
    let body =
        format!("data: {{\"type\":\"response.completed\",\"response\":{{\"usage\":{usage}}}}}\n\n");
    assert_eq!(events(body.as_bytes())[0], counted);
    let body = format!(
        "data: {{\"type\":\"response.failed\",\"response\":{{\"error\":{{\"code\":\"insufficient_quota\",\"message\":\"pay\"}},\"usage\":{usage}}}}}\n\n"
    );
    let (events, error) = replay(decoder(), &[body.as_bytes()], None);
    assert_eq!(events, [counted]);
    assert_eq!(error.unwrap().kind, ModelErrorKind::InsufficientQuota);
}

#[test]
fn items_that_come_only_with_the_end_are_read() {
    let body = r#"data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]},{"type":"web_search_call"},{"type":"function_call","call_id":"c","name":"n","arguments":"{}"}]}}"#;
    assert_eq!(
        events(format!("{body}\n\n").as_bytes()),
        [
            text("hi"),
            start("c", "n"),
            arguments("c", "{}"),
            end("c"),
            ModelEvent::Stop(StopReason::ToolUse),
        ]
    );
    let streamed = "data: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\n\n";
    let both = format!("{streamed}{body}\n\n");
    assert_eq!(events(both.as_bytes())[0], text("hi"));
    assert_eq!(events(both.as_bytes()).len(), 2);
}

#[test]
fn messages_end_where_the_next_begins_and_keep_their_phase() {
    let message = |index: u64, phase: &str, said: &str| {
        let item = format!(r#""type":"message","id":"msg_{index}"{phase}"#);
        format!(
            "data: {{\"type\":\"response.output_item.added\",\"output_index\":{index},\"item\":{{{item}}}}}\n\n\
             data: {{\"type\":\"response.output_text.delta\",\"output_index\":{index},\"delta\":\"{said}\"}}\n\n\
             data: {{\"type\":\"response.output_item.done\",\"output_index\":{index},\"item\":{{{item}}}}}\n\n"
        )
    };
    let body = [
        message(0, r#","phase":"commentary""#, "look"),
        message(1, "", "one"),
        message(2, r#","phase":null"#, "two"),
        COMPLETED.to_owned(),
    ];
    let ended = |details: &str| {
        ModelEvent::Reasoning(Reasoning {
            provider: "openai-responses".to_owned(),
            details: Some(details.to_owned()),
            ..Reasoning::default()
        })
    };
    let expected = [
        text("look"),
        ended(r#"{"type":"message","phase":"commentary"}"#),
        text("one"),
        ended(r#"{"type":"message"}"#),
        text("two"),
        ModelEvent::Stop(StopReason::End),
    ];
    let seen = events(body.concat().as_bytes());
    let seen: Vec<ModelEvent> = seen
        .into_iter()
        .filter(|event| !matches!(event, ModelEvent::Usage(_)))
        .collect();
    assert_eq!(seen, expected);
}
