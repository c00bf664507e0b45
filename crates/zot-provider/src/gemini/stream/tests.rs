use std::path::Path;

use zot_conversation::ModelErrorKind;

use super::*;
use crate::call::replay::{check_every_byte, replay};

fn recording(name: &str) -> Vec<u8> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/gemini");
    std::fs::read(directory.join(format!("{name}.sse"))).unwrap()
}

fn decoder() -> GeminiDecoder {
    GeminiDecoder::new(Arc::new(Endpoint {
        provider: "gemini".to_owned(),
        base_url: String::new(),
        api_key: None,
    }))
}

fn events(body: &[u8]) -> Vec<ModelEvent> {
    let (events, error) = replay(decoder(), &[body], None);
    assert!(error.is_none(), "{error:?}");
    events
}

fn reasoning() -> Reasoning {
    Reasoning {
        provider: "gemini".to_owned(),
        ..Reasoning::default()
    }
}

fn call(id: &str, name: &str, arguments: &str) -> [ModelEvent; 3] {
    let id = ToolCallId::from(id);
    [
        ModelEvent::ToolCallStart {
            id: id.clone(),
            name: name.to_owned(),
        },
        ModelEvent::ToolCallArguments {
            id: id.clone(),
            delta: arguments.to_owned(),
        },
        ModelEvent::ToolCallEnd { id },
    ]
}

fn usage(input: u64, output: u64, cache_read: u64) -> ModelEvent {
    ModelEvent::Usage(Usage {
        input,
        output,
        cache_read,
        ..Usage::default()
    })
}

#[test]
fn streams_thoughts_text_and_parallel_calls() {
    let mut expected = vec![
        ModelEvent::ThinkingDelta("**Lööking**\n".to_owned()),
        usage(20, 20, 100),
        ModelEvent::ThinkingDelta("at both".to_owned()),
        ModelEvent::Reasoning(Reasoning {
            text: "**Lööking**\nat both".to_owned(),
            ..reasoning()
        }),
        ModelEvent::TextDelta("日本 \"q\"\n".to_owned()),
        ModelEvent::Reasoning(Reasoning {
            id: Some("gemini_x7".to_owned()),
            encrypted: Some("EoQB+/=".to_owned()),
            ..reasoning()
        }),
    ];
    expected.extend(call("gemini_x7", "read", r#"{"path": "a", "n": 1.0}"#));
    expected.extend(call("gemini_x8", "bash", r#"{"command": "ls"}"#));
    expected.extend([usage(20, 30, 100), ModelEvent::Stop(StopReason::ToolUse)]);
    assert_eq!(events(&recording("tools")), expected);
}

#[test]
fn the_signature_of_a_text_follows_it() {
    assert_eq!(
        events(&recording("text")),
        [
            ModelEvent::TextDelta("Hé".to_owned()),
            ModelEvent::TextDelta("llo 🎉".to_owned()),
            ModelEvent::Reasoning(Reasoning {
                encrypted: Some("c2ln".to_owned()),
                ..reasoning()
            }),
            usage(5, 3, 0),
            ModelEvent::Stop(StopReason::Length),
        ]
    );
}

#[test]
fn every_split_and_every_cut() {
    for name in ["tools", "text"] {
        let body = recording(name);
        check_every_byte(&body, body.len() - 2, decoder);
    }
}

#[test]
fn calls_without_ids_get_different_ones() {
    let call = r#"{"functionCall":{"name":"x"}}"#;
    let body = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{call},{call}]}},\"finishReason\":\"STOP\"}}]}}\n\n"
    );
    let events = events(body.as_bytes());
    let ids: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            ModelEvent::ToolCallStart { id, .. } => Some(id.as_str()),
            _ => None,
        })
        .collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{ids:?}");
    assert!(ids.iter().all(|id| !id.starts_with(SERVER_ID_MARK)));
}

#[test]
fn finish_reasons() {
    for (reason, expected) in [
        ("STOP", StopReason::End),
        ("MAX_TOKENS", StopReason::Length),
        ("SAFETY", StopReason::Refused),
        ("PROHIBITED_CONTENT", StopReason::Refused),
        ("NEW_REASON", StopReason::End),
    ] {
        let body = format!("data:{{\"candidates\":[{{\"finishReason\":\"{reason}\"}}]}}\n\n");
        assert_eq!(events(body.as_bytes()), [ModelEvent::Stop(expected)]);
    }
    let blocked = b"data: {\"promptFeedback\":{\"blockReason\":\"SAFETY\"}}\n\n";
    assert_eq!(events(blocked), [ModelEvent::Stop(StopReason::Refused)]);
}

#[test]
fn failures() {
    for (chunk, kind, message) in [
        (
            r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"bad call"}]}"#,
            ModelErrorKind::Stream,
            "gemini: the response ended with MALFORMED_FUNCTION_CALL: bad call",
        ),
        (
            r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}"#,
            ModelErrorKind::RateLimited,
            "gemini: RESOURCE_EXHAUSTED: quota",
        ),
        (
            r#"{"error":{"code":503,"message":"overloaded"}}"#,
            ModelErrorKind::Unavailable,
            "gemini: 503: overloaded",
        ),
        (
            r#"{"candidates":[]}"#,
            ModelErrorKind::Stream,
            "gemini: stream broke off: the response ended without a finishReason",
        ),
    ] {
        let body = format!("data: {chunk}\n\n");
        let error = replay(decoder(), &[body.as_bytes()], None).1.unwrap();
        assert_eq!((error.kind, error.to_string().as_str()), (kind, message));
    }
}

#[test]
fn counts_beside_an_error_are_kept() {
    let body = r#"data: {"candidates":[{"content":{"parts":[{"text":"last"}]}}],"usageMetadata":{"promptTokenCount":"10","toolUsePromptTokenCount":5,"candidatesTokenCount":2.0,"thoughtsTokenCount":null},"error":{"code":"503","message":"busy","status":"UNAVAILABLE"}}"#;
    let (events, error) = replay(decoder(), &[format!("{body}\n\n").as_bytes()], None);
    assert_eq!(
        events,
        [ModelEvent::TextDelta("last".to_owned()), usage(15, 2, 0)]
    );
    assert_eq!(error.unwrap().kind, ModelErrorKind::Unavailable);
}

#[test]
fn values_of_unexpected_types_cost_nothing_else() {
    let body = concat!(
        r#"data: {"candidates":[{"content":{"parts":null},"finishReason":null}],"promptFeedback":null,"usageMetadata":null}"#,
        "\n\n",
        r#"data: {"candidates":[{"content":{"role":"model","parts":[{"executableCode":{"code":"1"}},{"thought":null,"text":"a"},{"inlineData":{}}]},"groundingMetadata":{},"finishReason":"STOP"}]}"#,
        "\n\n",
    );
    assert_eq!(
        events(body.as_bytes()),
        [
            ModelEvent::TextDelta("a".to_owned()),
            ModelEvent::Stop(StopReason::End),
        ]
    );
}

#[test]
fn a_quota_for_the_day_is_distinguished_from_one_for_the_minute() {
    for (quota, kind) in [
        (
            "quotaId: GenerateRequestsPerDayPerProject",
            ModelErrorKind::InsufficientQuota,
        ),
        ("limit: 0, model: gemini", ModelErrorKind::InsufficientQuota),
        (
            "quotaId: GenerateRequestsPerMinutePerProject",
            ModelErrorKind::RateLimited,
        ),
        ("Please retry in 20s.", ModelErrorKind::RateLimited),
    ] {
        let body = format!(
            "data: {{\"error\":{{\"code\":429,\"status\":\"RESOURCE_EXHAUSTED\",\"message\":\
             \"You exceeded your current quota, {quota}\"}}}}\n\n"
        );
        let error = replay(decoder(), &[body.as_bytes()], None).1.unwrap();
        assert_eq!(error.kind, kind, "{quota}");
    }
}
