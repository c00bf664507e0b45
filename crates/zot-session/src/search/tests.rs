use std::path::{Path, PathBuf};
use std::sync::Arc;

use zot_conversation::{ContentBlock, Message, Role, Timestamp, ToolResult};

use super::search;
use crate::{Durability, SessionLog, SessionMeta};

fn session(directory: &Path, name: &str, texts: &[&str]) -> PathBuf {
    let path = directory.join(name);
    let meta = SessionMeta::new("/work".into(), "p".into(), "m".into());
    let log = SessionLog::announce_at(path.clone(), meta, Durability::ProcessEnd).unwrap();
    for text in texts {
        log.append_message(&Arc::new(Message::user_text(*text, Timestamp::UNIX_EPOCH)))
            .unwrap();
    }
    path
}

#[test]
fn all_words_must_be_in_one_message_in_any_case() {
    let directory = tempfile::tempdir().unwrap();
    let files = [
        session(
            directory.path(),
            "a",
            &["Fix the Parser", "then \"run\" tests"],
        ),
        session(
            directory.path(),
            "b",
            &["the tests of the parser", "ÜBER\nalles"],
        ),
    ];
    let found = |query: &str| {
        let hits = search(&files, query);
        hits.into_iter()
            .map(|hit| {
                let name = hit.path.file_name().unwrap().to_str().unwrap().to_owned();
                format!("{name}{} {}", hit.message, hit.excerpt)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        found("parser"),
        ["a1 Fix the Parser", "b1 the tests of the parser"]
    );
    assert_eq!(found("PARSER tests"), ["b1 the tests of the parser"]);
    assert_eq!(found("\"run\""), ["a2 then \"run\" tests"]);
    assert_eq!(found("über"), ["b2 ÜBER alles"]);
    assert_eq!(
        found("message type"),
        Vec::<String>::new(),
        "not the format's own words"
    );
    assert_eq!(found("   "), Vec::<String>::new());
}

#[test]
fn what_tools_said_is_found_and_shown_in_its_surroundings() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a");
    let meta = SessionMeta::new("/work".into(), "p".into(), "m".into());
    let log = SessionLog::announce_at(path.clone(), meta, Durability::ProcessEnd).unwrap();
    let output = format!("{} needle {}", "x ".repeat(200), "y ".repeat(200));
    log.append_message(&Arc::new(Message {
        role: Role::Tool,
        content: vec![ContentBlock::ToolResult(ToolResult {
            call_id: "1".into(),
            is_error: false,
            content: vec![ContentBlock::Text(output)],
        })],
        time: Timestamp::UNIX_EPOCH,
    }))
    .unwrap();
    let hits = search(&[path], "needle");
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0].role, Role::Tool);
    let excerpt = &hits[0].excerpt;
    assert!(
        excerpt.starts_with("…x x") && excerpt.contains("needle y y"),
        "{excerpt}"
    );
    assert!(excerpt.chars().count() < 160);
}
