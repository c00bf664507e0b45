use std::sync::Arc;

use zot_conversation::{Message, Timestamp, Usage};

use super::{export, import};
use crate::{Durability, SessionLog, SessionMeta, View, read};

#[test]
fn a_session_travels_without_the_place_it_was_held_in() {
    let directory = tempfile::tempdir().unwrap();
    let meta = SessionMeta::new("/secret/project".into(), "p".into(), "m".into());
    let log = SessionLog::announce(directory.path(), meta, Durability::ProcessEnd).unwrap();
    for text in ["hello", "see /secret/project/a.txt", "and /home/me/b"] {
        log.append_message(&Arc::new(Message::user_text(text, Timestamp::UNIX_EPOCH)))
            .unwrap();
    }
    let usage = Usage {
        output: 7,
        ..Usage::default()
    };
    log.append_usage(&usage, &usage).unwrap();
    let session = read(log.path(), View::Current).unwrap();
    // What a compaction took out travels, too.
    let summary = Arc::new(Message::user_text("summary", Timestamp::UNIX_EPOCH));
    log.append_replacement(&[summary]).unwrap();
    let exported = export(log.path(), Some("/home/me")).unwrap();
    assert_eq!(exported.messages_with_paths, 2);
    let first = exported.bytes.split(|byte| *byte == b'\n').next().unwrap();
    assert!(!String::from_utf8_lossy(first).contains("cwd"));

    let file = directory.path().join("talk.zotsession");
    std::fs::write(&file, exported.bytes).unwrap();
    let (imported, report) = import(directory.path(), &file, "/here".into()).unwrap();
    assert!(report.is_clean(), "{report:?}");
    let arrived = read(imported.path(), View::Current).unwrap();
    assert_eq!(arrived.messages.len(), 1);
    let everything = read(imported.path(), View::Everything).unwrap().messages;
    assert_eq!(everything[..3], session.messages);
    assert_eq!(arrived.usage, usage);
    assert_eq!(arrived.meta.cwd, "/here");
    assert_ne!(arrived.meta.id, session.meta.id);
}
