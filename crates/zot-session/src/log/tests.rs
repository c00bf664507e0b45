use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use zot_conversation::{
    Arguments, ContentBlock, Image, Message, Reasoning, Role, Timestamp, ToolCall, ToolResult,
    Usage,
};

use super::{SessionLog, SessionMeta, folder_name, random_id};

fn meta() -> SessionMeta {
    SessionMeta {
        cwd: "/work".to_owned(),
        model: "gpt-4o".to_owned(),
        provider: "openai".to_owned(),
        started: "2026-11-15T20:01:02Z".parse().unwrap(),
        version: "0.1.0".to_owned(),
    }
}

#[test]
fn records_have_the_originals_shape() {
    let folder = tempfile::tempdir().unwrap();
    let log = SessionLog::create(folder.path(), &meta()).unwrap();
    let message = Arc::new(Message {
        role: Role::Assistant,
        content: vec![
            ContentBlock::Text("hi".to_owned()),
            ContentBlock::Image(Image {
                mime_type: "image/png".to_owned(),
                data: b"ab".as_slice().into(),
            }),
            ContentBlock::Reasoning(Reasoning {
                provider: "anthropic".to_owned(),
                text: "hm".to_owned(),
                signature: Some("sig".to_owned()),
                ..Reasoning::default()
            }),
            ContentBlock::ToolCall(ToolCall {
                id: "call_1".into(),
                name: "read".to_owned(),
                arguments: Arguments::from_model_text("{\"path\": \"a\"}"),
            }),
            ContentBlock::ToolResult(ToolResult {
                call_id: "call_1".into(),
                is_error: false,
                content: vec![ContentBlock::Text("out".to_owned())],
            }),
        ],
        time: Timestamp::UNIX_EPOCH,
    });
    log.append_message(&message).unwrap();
    let usage = Usage {
        input: 180,
        output: 2,
        cache_read: 20,
        cache_write: 0,
        cost_usd: 0.5,
    };
    log.append_usage(&usage, &usage).unwrap();
    let text = std::fs::read_to_string(log.path()).unwrap();
    let mut lines = text.lines();
    let first: serde_json::Value = serde_json::from_str(lines.next().unwrap()).unwrap();
    assert_eq!(first["type"], "meta");
    assert_eq!(first["meta"]["cwd"], "/work");
    assert_eq!(first["meta"]["started"], "2026-11-15T20:01:02Z");
    assert_eq!(
        lines.next().unwrap(),
        r#"{"type":"message","message":{"role":"assistant","content":[{"text":"hi"},{"mime_type":"image/png","data":"YWI="},{"reasoning_id":"","summary":"hm","signature":"sig","provider":"anthropic"},{"id":"call_1","name":"read","arguments":{"path": "a"}},{"call_id":"call_1","content":[{"text":"out"}],"is_error":false}],"time":"1970-01-01T00:00:00Z"}}"#
    );
    assert_eq!(
        lines.next().unwrap(),
        r#"{"type":"usage","usage":{"input_tokens":180,"output_tokens":2,"cache_read_tokens":20,"cache_write_tokens":0,"cost_usd":0.5},"cumulative":{"input_tokens":180,"output_tokens":2,"cache_read_tokens":20,"cache_write_tokens":0,"cost_usd":0.5}}"#
    );
    assert_eq!(lines.next(), None);
}

#[test]
fn the_file_is_private_and_lies_where_the_original_puts_it() {
    let folder = tempfile::tempdir().unwrap();
    let log = SessionLog::create(&folder.path().join("sessions"), &meta()).unwrap();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(log.path()), 0o600);
    assert_eq!(mode(log.path().parent().unwrap()), 0o700);
    let name = log.path().file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("20261115-200102-") && name.ends_with(".jsonl"),
        "{name}"
    );
    // printf /work | sha256sum
    assert_eq!(folder_name("/work").len(), 16);
    assert_eq!(
        log.path().parent().unwrap().file_name().unwrap().to_str(),
        Some(folder_name("/work").as_str())
    );
}

#[test]
fn ids_are_version_four_uuids() {
    let id = random_id();
    let parts: Vec<usize> = id.split('-').map(str::len).collect();
    assert_eq!(parts, [8, 4, 4, 4, 12], "{id}");
    assert_eq!(id.as_bytes()[14], b'4');
    assert_ne!(random_id(), id);
}

#[test]
fn a_failed_write_is_reported_and_leaves_whole_records_only() {
    let folder = tempfile::tempdir().unwrap();
    let log = SessionLog::create(folder.path(), &meta()).unwrap();
    let before = std::fs::read(log.path()).unwrap();
    // A descriptor that cannot be written to fails like a full disk does.
    log.file.lock().unwrap().file = std::fs::File::open(log.path()).unwrap();
    let message = Arc::new(Message::user_text("lost", Timestamp::UNIX_EPOCH));
    let error = log.append_message(&message).unwrap_err().to_string();
    assert!(error.starts_with("cannot write "), "{error}");
    assert_eq!(std::fs::read(log.path()).unwrap(), before);
}
