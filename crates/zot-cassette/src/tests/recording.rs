use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;
use zot_conversation::{
    Arguments, ContentBlock, Image, Message, Model as _, ModelError, ModelErrorKind, ModelEvent,
    Role, Timestamp, ToolCall, ToolCallId, ToolImages, ToolResult,
};

use super::support::{
    Cassette, Scripted, Step, Talk, answer, drain, event, recorded_model, take, text,
};
use crate::{CassetteError, Header, Recorder, Redactor};

#[tokio::test]
async fn a_growing_transcript_is_written_once() {
    let cassette = Cassette::new();
    let model = cassette.record(Scripted::new((0..20).map(|_| answer(&["ok"]))));
    let mut talk = Talk::new();
    let mut sizes = Vec::new();
    for turn in 0..20 {
        talk.say(&format!("prompt {turn:02} {}", "x".repeat(500)));
        drain(&model, &talk).await;
        talk.say("the answer");
        sizes.push(cassette.text().len());
    }
    let growth: Vec<usize> = sizes.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(growth.iter().all(|bytes| *bytes < 1200), "{growth:?}");
    let exchanges = cassette.exchanges();
    assert_eq!(exchanges[0]["request"]["continues"], json!(null));
    assert_eq!(
        exchanges[0]["request"]["messages"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert!(exchanges[0]["request"]["system"].is_string());
    assert_eq!(
        exchanges[19]["request"]["continues"],
        json!({"exchange": 19, "messages": 37})
    );
    assert_eq!(
        exchanges[19]["request"]["messages"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert!(exchanges[19]["request"].get("system").is_none());
}

#[tokio::test]
async fn a_side_question_does_not_break_the_thread() {
    let cassette = Cassette::new();
    let model = cassette.record(Scripted::new((0..3).map(|_| answer(&["ok"]))));
    let mut talk = Talk::new();
    talk.say("one");
    drain(&model, &talk).await;
    let mut aside = Talk::new();
    aside.system = "Summarise.".to_owned();
    aside.tools.clear();
    aside.say("everything so far");
    drain(&model, &aside).await;
    talk.say("two");
    drain(&model, &talk).await;
    let exchanges = cassette.exchanges();
    assert_eq!(exchanges[1]["request"]["system"], "Summarise.");
    assert_eq!(
        exchanges[2]["request"]["continues"],
        json!({"exchange": 1, "messages": 1})
    );
    assert!(exchanges[2]["request"].get("tools").is_none());
}

#[tokio::test]
async fn every_kind_of_content_is_written_in_one_line() {
    let cassette = Cassette::new();
    let model = cassette.record(Scripted::new([answer(&["ok"])]));
    let mut talk = Talk::new();
    let image = Image {
        mime_type: "image/png".to_owned(),
        data: Bytes::from_static(b"abc"),
    };
    talk.push(Message {
        role: Role::User,
        content: vec![
            ContentBlock::Text("two\nlines\u{2028}".to_owned()),
            ContentBlock::Image(image),
        ],
        time: Timestamp::now(),
    });
    let call = |id: &str, arguments| {
        ContentBlock::ToolCall(ToolCall {
            id: ToolCallId::from(id),
            name: "read".to_owned(),
            arguments: Arguments::from_model_text(arguments),
        })
    };
    talk.push(Message {
        role: Role::Assistant,
        content: vec![call("1", "{\n \"b\": 1.0,\r\n \"a\": 2}"), call("2", "{oh")],
        time: Timestamp::now(),
    });
    talk.push(Message {
        role: Role::Tool,
        content: vec![ContentBlock::ToolResult(ToolResult {
            call_id: ToolCallId::from("1"),
            is_error: true,
            content: vec![ContentBlock::Text("no".to_owned())],
        })],
        time: Timestamp::now(),
    });
    drain(&model, &talk).await;
    assert_eq!(cassette.text().lines().count(), 2);
    let messages = &cassette.exchanges()[0]["request"]["messages"];
    let expected = json!([
        {"role": "user", "content": [
            {"type": "text", "text": "two\nlines\u{2028}"},
            {"type": "image", "mime_type": "image/png", "bytes": 3,
             "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        ]},
        {"role": "assistant", "content": [
            {"type": "tool_call", "id": "1", "name": "read", "arguments": {"a": 2, "b": 1.0}},
            {"type": "tool_call", "id": "2", "name": "read", "malformed_arguments": "{oh"},
        ]},
        {"role": "tool", "content": [
            {"type": "tool_result", "call_id": "1", "is_error": true,
             "content": [{"type": "text", "text": "no"}]},
        ]},
    ]);
    assert_eq!(messages, &expected);
    assert!(
        cassette.text().contains("\"b\": 1.0,"),
        "numbers stay as written"
    );
}

#[tokio::test]
async fn errors_and_aborts_are_recorded() {
    let cassette = Cassette::new();
    let failure = ModelError::new(ModelErrorKind::RateLimited, "slow down")
        .with_retry_after(Some(std::time::Duration::from_millis(1500)));
    let start = || event(ModelEvent::Start);
    let model = cassette.record(Scripted::new([
        vec![start(), text("a"), Step::Fail(failure)],
        vec![start(), text("b"), text("c"), Step::Hang],
        answer(&["never asked for"]),
    ]));
    let mut talk = Talk::new();
    talk.say("one");
    drain(&model, &talk).await;
    take(&model, &talk, 2).await;
    drop(model.stream(talk.request()));
    let exchanges = cassette.exchanges();
    assert_eq!(exchanges.len(), 2, "a stream nobody polled sent nothing");
    assert_eq!(exchanges[0]["outcome"], "error");
    assert_eq!(
        exchanges[0]["error"],
        json!({"kind": "rate_limited", "message": "slow down", "retry_after_ms": 1500})
    );
    assert_eq!(exchanges[1]["outcome"], "aborted");
    assert_eq!(exchanges[1]["events"].as_array().unwrap().len(), 2);
    assert_eq!(exchanges[1]["events"][1]["deltas"], json!(["b"]));
}

#[tokio::test]
async fn secrets_stay_out_wherever_they_are() {
    let cassette = Cassette::new();
    let environment = [("CANARY_TOKEN".to_owned(), "canary-in-env".to_owned())];
    let redactor = Redactor::new(Some("canary-credential"), environment);
    let mut steps = answer(&[
        "my key is canary-",
        "in-",
        "env and ",
        "sk-",
        "canary0123456789ab",
    ]);
    steps.pop();
    steps.push(event(ModelEvent::ToolCallStart {
        id: ToolCallId::from("1"),
        name: "canary-credential".to_owned(),
    }));
    for piece in ["{\"a\":\"canary-cre", "dential\"}"] {
        steps.push(event(ModelEvent::ToolCallArguments {
            id: ToolCallId::from("1"),
            delta: piece.to_owned(),
        }));
    }
    let failure = ModelError::new(ModelErrorKind::Invalid, "bad key canary-credential");
    steps.push(Step::Fail(failure));
    let model = cassette.record_with(Scripted::new([steps]), redactor);
    let mut talk = Talk::new();
    talk.system = "Use canary-credential.".to_owned();
    talk.say("the prompt says Bearer canary-bearer-0123456789");
    let result = ToolResult {
        call_id: ToolCallId::from("x"),
        is_error: false,
        content: vec![ContentBlock::Text("output: canary-in-env".to_owned())],
    };
    talk.push(Message {
        role: Role::Tool,
        content: vec![ContentBlock::ToolResult(result)],
        time: Timestamp::now(),
    });
    drain(&model, &talk).await;
    let text = cassette.text();
    assert!(!text.contains("canary"), "{text}");
    assert!(text.matches("[redacted]").count() >= 7, "{text}");
}

#[test]
fn a_cassette_is_private_and_never_overwritten() {
    let cassette = Cassette::new();
    drop(cassette.record(Scripted::new([])));
    let mode = std::fs::metadata(&cassette.path)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let header = Header::new(&recorded_model(ToolImages::Seen));
    let create = || Recorder::create(&cassette.path, &header, Redactor::new(None, []));
    assert!(matches!(create(), Err(CassetteError::NotEmpty { .. })));
    std::fs::write(&cassette.path, "").unwrap();
    create().expect("an empty file may be used");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_cassette_that_cannot_be_written_fails_the_call() {
    let header = Header::new(&recorded_model(ToolImages::Seen));
    let full = std::path::Path::new("/dev/full");
    let created = Recorder::create(full, &header, Redactor::new(None, []));
    assert!(matches!(created, Err(CassetteError::Create { .. })));

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cassette");
    let recorder = Recorder::create(&path, &header, Redactor::new(None, [])).unwrap();
    recorder.make_unwritable();
    let scripted = Scripted::new([answer(&["ok"]), answer(&["ok"])]);
    let model = crate::RecordingModel::new(scripted as Arc<_>, Arc::new(recorder));
    let mut talk = Talk::new();
    talk.say("one");
    for _ in 0..2 {
        let (_, error) = drain(&model, &talk).await;
        let message = error.expect("the call fails").message;
        assert!(message.contains("cannot continue recording"), "{message}");
    }
}
