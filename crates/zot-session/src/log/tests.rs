use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::{fs, io};

use zot_conversation::{
    Arguments, ContentBlock, Image, Message, Reasoning, Role, Timestamp, ToolCall, ToolResult,
    Usage,
};

use super::{Durability, OpenLog, SessionLog, SessionMeta, State};
use crate::id::{directory_name, random_id};
use crate::{Replica, SessionError, View, read};

fn meta() -> SessionMeta {
    SessionMeta {
        started: "2026-11-15T20:01:02Z".parse().unwrap(),
        ..SessionMeta::new("/work".into(), "openai".into(), "gpt-4o".into())
    }
}

fn announce(directory: &Path) -> SessionLog {
    SessionLog::announce(directory, meta(), Durability::ProcessEnd).unwrap()
}

fn said(text: &str) -> Arc<Message> {
    Arc::new(Message::user_text(text, Timestamp::UNIX_EPOCH))
}

#[test]
fn records_have_the_originals_shape() {
    let directory = tempfile::tempdir().unwrap();
    let log = announce(directory.path());
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
    assert_eq!(first["meta"].get("parent"), None);
    assert_eq!(
        lines.next().unwrap(),
        r#"{"type":"message","message":{"role":"assistant","content":[{"text":"hi"},{"mime_type":"image/png","data":"YWI="},{"reasoning_id":"","summary":"hm","signature":"sig","provider":"anthropic"},{"id":"call_1","name":"read","arguments":{"path": "a"}},{"call_id":"call_1","content":[{"text":"out"}],"is_error":false}],"time":"1970-01-01T00:00:00Z"}}"#
    );
    assert_eq!(
        lines.next().unwrap(),
        r#"{"type":"usage","usage":{"input_tokens":180,"output_tokens":2,"cache_read_tokens":20,"cache_write_tokens":0,"cost_usd":0.5},"cumulative":{"input_tokens":180,"output_tokens":2,"cache_read_tokens":20,"cache_write_tokens":0,"cost_usd":0.5}}"#
    );
    assert_eq!(lines.next(), None);

    let session = read(log.path(), View::Current).unwrap();
    assert!(session.report.is_clean(), "{:?}", session.report);
    assert_eq!(session.messages, [message]);
    assert_eq!(session.usage, usage);
    assert_eq!(&session.meta, log.meta());
}

#[test]
fn the_file_is_private_and_lies_where_the_original_puts_it() {
    let directory = tempfile::tempdir().unwrap();
    let log = announce(&directory.path().join("sessions"));
    assert!(!log.path().exists(), "no file without a message");
    log.append_message(&said("hi")).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(log.path()), 0o600);
    assert_eq!(mode(log.path().parent().unwrap()), 0o700);
    let name = log.path().file_name().unwrap().to_str().unwrap();
    assert!(
        name.starts_with("20261115-200102-") && name.ends_with(".jsonl"),
        "{name}"
    );
    // printf /work | sha256sum
    assert_eq!(directory_name("/work").len(), 16);
    assert_eq!(
        log.path().parent().unwrap().file_name().unwrap().to_str(),
        Some(directory_name("/work").as_str())
    );
}

#[test]
fn a_session_that_was_cleared_before_it_began_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let log = announce(directory.path());
    log.append_replacement(&[]).unwrap();
    assert!(!log.path().exists());
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
    let directory = tempfile::tempdir().unwrap();
    let log = announce(directory.path());
    log.append_message(&said("kept")).unwrap();
    let before = std::fs::read(log.path()).unwrap();
    // A descriptor that cannot be written to fails like a full disk does.
    let file = std::fs::File::open(log.path()).unwrap();
    *log.state.lock().unwrap() = State::Open(OpenLog {
        file,
        end: before.len() as u64,
        pending: Vec::new(),
        nameless: false,
        model: ("openai".to_owned(), "gpt-4o".to_owned()),
    });
    let error = log.append_message(&said("lost")).unwrap_err().to_string();
    assert!(error.starts_with("cannot write "), "{error}");
    assert!(log.append_model("openai", "other").is_err());
    assert_eq!(std::fs::read(log.path()).unwrap(), before);
}

#[test]
fn the_model_it_goes_on_with_is_the_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let log = announce(directory.path());
    log.append_model("openai", "o3").unwrap();
    assert!(!log.path().exists(), "no file without a message");
    log.append_message(&said("hi")).unwrap();
    let model = || {
        let session = read(log.path(), View::Current).unwrap();
        assert!(session.report.is_clean(), "{:?}", session.report);
        (session.meta.provider, session.meta.model)
    };
    let length = || log.path().metadata().unwrap().len();
    let is = |provider: &str, name: &str| (provider.to_owned(), name.to_owned());
    assert_eq!(model(), is("openai", "o3"));
    let before = length();
    log.append_model("openai", "o3").unwrap();
    assert_eq!(length(), before, "nothing new");
    log.append_model("openai", "gpt-4o").unwrap();
    assert_eq!(model(), is("openai", "gpt-4o"));
    log.set_next_model("anthropic", "claude-opus-4-1").unwrap();
    assert_eq!(model(), is("openai", "gpt-4o"), "nothing was said with it");
    log.append_message(&said("and now?")).unwrap();
    assert_eq!(model(), is("anthropic", "claude-opus-4-1"));
}

#[test]
fn a_second_writer_is_told_who_the_first_is() {
    let directory = tempfile::tempdir().unwrap();
    let log = announce(directory.path());
    log.append_message(&said("hi")).unwrap();
    let refused = SessionLog::open(log.path(), Durability::ProcessEnd).unwrap_err();
    let SessionError::InUse { holder, .. } = &refused else {
        panic!("{refused}");
    };
    if cfg!(target_os = "linux") {
        assert_eq!(holder.pid, Some(std::process::id()), "{refused}");
    }
    // Reading is free.
    assert_eq!(read(log.path(), View::Current).unwrap().messages.len(), 1);

    let path = log.path().to_owned();
    drop(log);
    let (again, session) = SessionLog::open(&path, Durability::PowerLoss).unwrap();
    again.append_message(&said("more")).unwrap();
    assert_eq!(session.messages.len(), 1);
    let texts: Vec<String> = read(&path, View::Current)
        .unwrap()
        .messages
        .iter()
        .map(|message| message.text())
        .collect();
    assert_eq!(texts, ["hi", "more"]);
}

#[test]
fn an_empty_file_becomes_the_session_it_is_described_as() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.jsonl");
    std::fs::write(&path, "").unwrap();
    let (mut log, session) = SessionLog::open(&path, Durability::ProcessEnd).unwrap();
    assert!(session.messages.is_empty() && session.report.is_clean());
    let meta = meta();
    log.describe(meta.clone()).unwrap();
    log.append_message(&said("hi")).unwrap();
    let session = read(&path, View::Current).unwrap();
    assert_eq!(session.meta, meta);
    assert_eq!(session.messages.len(), 1);
    assert!(session.report.is_clean(), "{:?}", session.report);
}

#[test]
fn a_file_that_is_no_session_is_not_written_to() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("notes.txt");
    for text in ["buy milk\nand bread\n", "buy milk", "{\"a\":1}\n"] {
        std::fs::write(&path, text).unwrap();
        let refused = SessionLog::open(&path, Durability::ProcessEnd).unwrap_err();
        assert!(
            matches!(refused, SessionError::NotASession { .. }),
            "{text:?}: {refused}"
        );
    }
}

/// Keeps what it is given, unless it is told to fail.
#[derive(Debug, Default)]
struct Kept {
    bytes: Mutex<Vec<u8>>,
    fails: AtomicBool,
}

impl Replica for Kept {
    fn append(&self, position: u64, bytes: &[u8]) -> io::Result<()> {
        if self.fails.load(Ordering::Relaxed) {
            return Err(io::Error::other("the store is away"));
        }
        let mut kept = self.bytes.lock().unwrap();
        assert_eq!(position, kept.len() as u64);
        kept.extend_from_slice(bytes);
        Ok(())
    }
}

#[test]
fn a_replica_gets_every_byte_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let replica = Arc::new(Kept::default());
    let mut log = announce(directory.path());
    log.replicate(Arc::clone(&replica) as _);
    log.append_message(&said("one")).unwrap();
    log.append_model("openai", "gpt-5").unwrap();
    let path = log.path().to_owned();
    drop(log);
    assert_eq!(*replica.bytes.lock().unwrap(), fs::read(&path).unwrap());

    let (mut log, _) = SessionLog::open(&path, Durability::ProcessEnd).unwrap();
    log.replicate(Arc::clone(&replica) as _);
    log.set_next_model("openai", "gpt-4o").unwrap();
    log.append_message(&said("two")).unwrap();
    assert_eq!(*replica.bytes.lock().unwrap(), fs::read(&path).unwrap());
}

#[test]
fn what_the_replica_refused_is_not_in_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let replica = Arc::new(Kept::default());
    let mut log = announce(directory.path());
    log.replicate(Arc::clone(&replica) as _);
    log.append_message(&said("one")).unwrap();
    replica.fails.store(true, Ordering::Relaxed);
    let error = log.append_message(&said("lost")).unwrap_err().to_string();
    assert!(
        error.starts_with("cannot store the session: the store is away"),
        "{error}"
    );
    // The reader does not know this machine.
    assert!(
        !error.contains(directory.path().to_str().unwrap()),
        "{error}"
    );
    replica.fails.store(false, Ordering::Relaxed);
    log.append_message(&said("two")).unwrap();
    let written = fs::read_to_string(log.path()).unwrap();
    assert_eq!(replica.bytes.lock().unwrap().as_slice(), written.as_bytes());
    assert!(!written.contains("lost"), "{written}");
}
