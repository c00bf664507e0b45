use std::path::Path;
use std::sync::Arc;

use zot_conversation::{
    Arguments, ContentBlock, Image, Message, Role, Timestamp, ToolCall, ToolResult, Usage,
};

use super::{View, read};
use crate::{Durability, Session, SessionLog, SessionMeta, TornTail};

/// As the original writes it.
const ORIGINALS: &str = r#"{"type":"meta","meta":{"id":"0f8a2c1e-5d1b-4a77-9a55-3b8f3c0d9e21","cwd":"/work","model":"gpt-4o","provider":"openai","started":"2026-05-11T09:12:33.123456789+02:00","version":"0.0.0"}}
{"type":"message","message":{"role":"user","content":[{"text":"say:2 \u003c\u0026\u003e"}],"time":"2026-05-11T09:12:34+02:00"}}
{"type":"message","message":{"role":"assistant","content":[{"reasoning_id":"rs_1","summary":"hm","encrypted_content":"xyz"},{"text":"alpha beta "},{"id":"call_1","name":"read","arguments":{"path":"a"}}],"time":"0001-01-01T00:00:00Z"}}
{"type":"message","message":{"role":"tool","content":[{"call_id":"call_1","content":[{"text":"one"}],"is_error":false}],"time":"2026-05-11T09:12:35Z"}}
{"type":"usage","usage":{"input_tokens":180,"output_tokens":2,"cache_read_tokens":20,"cache_write_tokens":0,"cost_usd":0.000495},"cumulative":{"input_tokens":180,"output_tokens":2,"cache_read_tokens":20,"cache_write_tokens":0,"cost_usd":0.000495}}
"#;

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

fn call(id: &str) -> ContentBlock {
    ContentBlock::ToolCall(ToolCall {
        id: id.into(),
        name: "bash".to_owned(),
        arguments: Arguments::from_model_text(r#"{"command": "echo \"ü\"\n"}"#),
    })
}

fn result(id: &str) -> ToolResult {
    ToolResult {
        call_id: id.into(),
        is_error: false,
        content: vec![text("ü\n")],
    }
}

/// A session with every kind of record, and its messages.
fn recorded(directory: &Path) -> (Vec<u8>, Vec<Arc<Message>>) {
    let meta = SessionMeta::new("/work".into(), "openai".into(), "gpt-4o".into());
    let path = directory.join("recorded.jsonl");
    let log = SessionLog::announce_at(path.clone(), meta, Durability::ProcessEnd).unwrap();
    let image = ContentBlock::Image(Image {
        mime_type: "image/png".to_owned(),
        data: b"\x89PNG\0\xff".as_slice().into(),
    });
    let messages = vec![
        message(Role::User, vec![text("look at “this”\n"), image]),
        message(
            Role::Assistant,
            vec![text("two calls"), call("1"), call("2")],
        ),
        message(
            Role::Tool,
            ["1", "2"]
                .map(|id| ContentBlock::ToolResult(result(id)))
                .into(),
        ),
        message(Role::Assistant, vec![text("done {\"type\":\"message\"}")]),
        message(Role::User, vec![text("thanks")]),
    ];
    let mut usage = Usage::default();
    for (index, message) in messages.iter().enumerate() {
        if index == 2 {
            log.append_result(&result("1")).unwrap();
        }
        log.append_message(message).unwrap();
        if message.role == Role::Assistant {
            usage.input += 10;
            log.append_usage(&usage, &usage).unwrap();
        }
    }
    drop(log);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    (bytes, messages)
}

fn write(directory: &Path, bytes: &[u8]) -> std::path::PathBuf {
    let path = directory.join("cut.jsonl");
    std::fs::write(&path, bytes).unwrap();
    path
}

fn open(directory: &Path, bytes: &[u8]) -> Session {
    read(&write(directory, bytes), View::Current).unwrap()
}

#[test]
fn the_originals_files_are_read() {
    let directory = tempfile::tempdir().unwrap();
    let session = open(directory.path(), ORIGINALS.as_bytes());
    assert!(session.report.is_clean(), "{:?}", session.report);
    assert_eq!(session.meta.id, "0f8a2c1e-5d1b-4a77-9a55-3b8f3c0d9e21");
    assert_eq!(session.meta.cwd, "/work");
    let kinds: Vec<usize> = session.messages.iter().map(|m| m.content.len()).collect();
    assert_eq!(kinds, [1, 3, 1]);
    assert_eq!(session.messages[0].text(), "say:2 <&>");
    let [
        ContentBlock::Reasoning(thought),
        _,
        ContentBlock::ToolCall(call),
    ] = session.messages[1].content.as_slice()
    else {
        panic!("{:?}", session.messages[1]);
    };
    assert_eq!(thought.id.as_deref(), Some("rs_1"));
    assert_eq!(thought.encrypted.as_deref(), Some("xyz"));
    assert_eq!(call.arguments.json_or_empty(), r#"{"path":"a"}"#);
    assert_eq!(session.usage.input, 180);
    assert_eq!(session.turns.len(), 1);
}

#[test]
fn a_log_cut_at_any_byte_has_all_its_complete_messages_and_can_be_gone_on_with() {
    let directory = tempfile::tempdir().unwrap();
    let (bytes, messages) = recorded(directory.path());
    // Where each message is complete, with or without its line feed.
    let mut complete_at = Vec::new();
    let mut position = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(br#"{"type":"message""#) {
            complete_at.push(position + line.len() - 1);
        }
        position += line.len();
    }
    assert_eq!(complete_at.len(), messages.len());
    let one_result_at = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .scan(0, |end, line| {
            *end += line.len();
            Some((*end, line))
        })
        .find(|(_, line)| line.starts_with(br#"{"type":"result""#))
        .map(|(end, _)| end - 1)
        .unwrap();
    let new = message(Role::User, vec![text("new")]);
    for cut in 0..=bytes.len() {
        let path = write(directory.path(), &bytes[..cut]);
        let session = read(&path, View::Current).unwrap();
        let complete = complete_at.iter().filter(|end| **end <= cut).count();
        // The result of the first call counts while the message of both is missing.
        let mut expected = messages[..complete].to_vec();
        if cut >= one_result_at && complete == 2 {
            let only = ContentBlock::ToolResult(result("1"));
            expected.push(message(Role::Tool, vec![only]));
        }
        assert_eq!(session.messages, expected, "cut at {cut}");
        let last_line = bytes[..cut].rsplit(|byte| *byte == b'\n').next().unwrap();
        let whole = serde_json::from_slice::<serde_json::Value>(last_line).is_ok();
        let torn = (!last_line.is_empty() && !whole).then_some(TornTail {
            offset: (cut - last_line.len()) as u64,
            bytes: last_line.len() as u64,
        });
        assert_eq!(session.report.torn_tail, torn, "cut at {cut}");

        let (mut log, _) = SessionLog::open(&path, Durability::ProcessEnd).unwrap();
        log.describe(SessionMeta::new("/w".into(), "p".into(), "m".into()))
            .unwrap();
        log.append_message(&new).unwrap();
        drop(log);
        let after = std::fs::read(&path).unwrap();
        assert_eq!(&after[..cut], &bytes[..cut], "cut at {cut}");
        let session = read(&path, View::Current).unwrap();
        expected.push(Arc::clone(&new));
        assert_eq!(session.messages, expected, "cut at {cut}");
        assert_eq!(session.report.torn_tail, None);
        assert_eq!(session.report.damaged_lines, usize::from(torn.is_some()));
        assert!(!session.report.meta_missing, "cut at {cut}");
    }
}

#[test]
fn garbage_is_reported_with_its_place_and_nothing_else_is_lost() {
    let directory = tempfile::tempdir().unwrap();
    let (bytes, messages) = recorded(directory.path());
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let garbage: [&[u8]; 5] = [
        b"\0\0\0\0\n",
        b"not json\n",
        b"\xff\xfe\n",
        b"{\"type\":\"message\"}\n",
        b"{\"type\":\"message\",\"message\":{\"role\":\"nobody\",\"content\":[]}}\n",
    ];
    for junk in garbage {
        for at in 1..=lines.len() {
            let mut damaged = lines[..at].concat();
            let offset = damaged.len() as u64;
            damaged.extend_from_slice(junk);
            damaged.extend(lines[at..].concat());
            let session = open(directory.path(), &damaged);
            assert_eq!(session.messages, messages);
            assert_eq!(session.report.damaged_lines, 1);
            assert_eq!(session.report.damaged[0].line, at + 1);
            assert_eq!(session.report.damaged[0].offset, offset);
            assert_eq!(session.report.findings().len(), 1);
        }
    }
}

#[test]
fn a_byte_that_changed_costs_no_more_than_its_line() {
    let directory = tempfile::tempdir().unwrap();
    let (bytes, messages) = recorded(directory.path());
    let mut start = 0;
    let mut places = Vec::new();
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(br#"{"type":"message""#) {
            // The line feed before it belongs to it, too: without it the line is part of another.
            places.push(start - 1..start + line.len());
        }
        start += line.len();
    }
    for (index, byte) in bytes.iter().enumerate() {
        for changed in [byte ^ 1, b'\n'] {
            let mut damaged = bytes.clone();
            damaged[index] = changed;
            let session = open(directory.path(), &damaged);
            let mut left = session.messages.iter();
            for (message, place) in messages.iter().zip(&places) {
                assert!(
                    place.contains(&index) || left.any(|kept| kept == message),
                    "byte {index} became {changed}: {message:?} is lost"
                );
            }
        }
    }
}

#[test]
fn a_file_of_a_newer_version_is_read_as_far_as_it_is_understood() {
    let directory = tempfile::tempdir().unwrap();
    let text = r#"{"type":"meta","meta":{"id":"x","cwd":"/w","model":"m","provider":"p","started":"2030-01-01T00:00:00Z","version":"99.1.0","mood":"good"}}
{"type":"mood","mood":{"level":3},"message":"a word"}
{"type":"message","message":{"role":"user","content":[{"text":"hi","language":"en"},{"sound":"…"}],"time":"2030-01-01T00:00:00Z","mood":1},"extra":true}
"#;
    let session = open(directory.path(), text.as_bytes());
    assert_eq!(session.messages.len(), 1);
    assert_eq!(session.messages[0].text(), "hi");
    let report = &session.report;
    assert_eq!(report.newer_version.as_deref(), Some("99.1.0"));
    assert_eq!((report.unknown_records, report.unknown_blocks), (1, 1));
    assert_eq!(report.damaged_lines, 0);
    assert_eq!(report.findings().len(), 3);
}

#[test]
fn a_session_without_its_first_line_is_one_nevertheless() {
    let directory = tempfile::tempdir().unwrap();
    let (bytes, messages) = recorded(directory.path());
    let start = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let session = open(directory.path(), &bytes[start..]);
    assert_eq!(session.messages, messages);
    assert!(session.report.meta_missing);
    assert_eq!(session.meta.id, "cut");
}

#[test]
fn a_replaced_transcript_is_what_the_model_sees_and_everything_is_still_there() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("compacted.jsonl");
    let meta = SessionMeta::new("/work".into(), "p".into(), "m".into());
    let log = SessionLog::announce_at(path.clone(), meta, Durability::ProcessEnd).unwrap();
    let old: Vec<_> = (0..6)
        .map(|number| message(Role::User, vec![text(&format!("m{number}"))]))
        .collect();
    for message in &old {
        log.append_message(message).unwrap();
    }
    let summary = message(Role::User, vec![text("summary")]);
    let kept = [&[Arc::clone(&summary)], &old[4..]].concat();
    log.append_replacement(&kept).unwrap();
    assert_eq!(read(&path, View::Current).unwrap().messages, kept);
    let everything = [old.as_slice(), &[summary]].concat();
    assert_eq!(read(&path, View::Everything).unwrap().messages, everything);
}

#[test]
fn when_a_conversation_began() {
    let began = |lines: &[&str]| {
        let directory = tempfile::tempdir().unwrap();
        let began = open(directory.path(), (lines.join("\n") + "\n").as_bytes()).began;
        began.map(|time| time.to_string())
    };
    let meta = r#"{"type":"meta","meta":{"id":"i","cwd":"/w","model":"m","provider":"p","started":"2026-03-01T10:00:00Z","version":"1"}}"#;
    let fork = r#"{"type":"meta","meta":{"id":"i","cwd":"/w","model":"m","provider":"p","started":"2026-03-09T10:00:00Z","version":"1","parent":"o"}}"#;
    let timeless = r#"{"type":"meta","meta":{"id":"i","cwd":"/w","model":"m","provider":"p","started":"0001-01-01T00:00:00Z","version":"1"}}"#;
    let hi = r#"{"type":"message","message":{"role":"user","content":[{"text":"hi"}],"time":"2026-03-02T00:00:00Z"}}"#;
    let later = r#"{"type":"message","message":{"role":"user","content":[{"text":"hi"}],"time":"2026-03-05T00:00:00Z"}}"#;
    let cleared = r#"{"type":"replaced","messages":[]}"#;
    let compacted = r#"{"type":"replaced","messages":[{"role":"user","content":[{"text":"S"}],"time":"2026-03-04T00:00:00Z"}]}"#;
    let is = |day: &str| Some(format!("{day}Z"));
    assert_eq!(began(&[meta, hi]), is("2026-03-01T10:00:00"));
    assert_eq!(
        began(&[meta, hi, compacted, later]),
        is("2026-03-01T10:00:00")
    );
    assert_eq!(
        began(&[meta, hi, cleared, later]),
        is("2026-03-05T00:00:00")
    );
    assert_eq!(began(&[meta, hi, cleared]), None);
    assert_eq!(began(&[fork, hi, later]), is("2026-03-02T00:00:00"));
    assert_eq!(began(&[timeless, hi]), None);
}
