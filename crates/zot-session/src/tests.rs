//! What the original writes into its sessions in addition to messages and usage.

use std::fs;
use std::path::{Path, PathBuf};

use zot_conversation::Timestamp;

use crate::{
    Durability, Library, Scope, Session, View, export, fork, html, import, last_prompts, markdown,
    read, search,
};

/// A session with an image's mirror, a switch of models and two titles.
const SESSION: &str = r#"{"type":"meta","meta":{"id":"0f8a2c1e-5d1b-4a77-9a55-3b8f3c0d9e21","cwd":"/work","model":"gpt-4o","provider":"openai","started":"2026-05-11T09:12:33.123456789+02:00","version":"0.2.0"}}
{"type":"message","message":{"role":"user","content":[{"text":"draw a cat"}],"time":"2026-05-11T09:12:34Z"}}
{"type":"message","message":{"role":"assistant","content":[{"id":"call_1","name":"read","arguments":{"path":"cat.png"}}],"time":"2026-05-11T09:12:35Z"}}
{"type":"message","message":{"role":"tool","content":[{"call_id":"call_1","content":[{"mime_type":"image/png","data":"iVBORw0KGgo="}],"is_error":false}],"time":"2026-05-11T09:12:36Z"}}
{"type":"message","message":{"role":"user","content":[{"text":"Tool output included the following image content:"},{"mime_type":"image/png","data":"iVBORw0KGgo="}],"time":"2026-05-11T09:12:36Z"}}
{"type":"message","message":{"role":"assistant","content":[{"text":"a cat"}],"time":"2026-05-11T09:12:37Z"}}
{"type":"rename","title":"first name"}
{"type":"rename","title":"Cats and dogs"}
{"type":"rename","title":""}
{"type":"meta","meta":{"id":"0f8a2c1e-5d1b-4a77-9a55-3b8f3c0d9e21","cwd":"/work","model":"claude-sonnet-4-5","provider":"anthropic","started":"2026-05-11T09:12:33.123456789+02:00","version":"0.2.0","title":"stale"}}
{"type":"message","message":{"role":"user","content":[{"text":"now a dog"}],"time":"2026-05-11T09:13:00Z"}}
{"type":"message","message":{"role":"tool","content":[{"call_id":"call_2","content":[{"text":"woof"}],"is_error":false}],"time":"2026-05-11T09:13:01Z"}}
{"type":"message","message":{"role":"user","content":[{"text":"Tool output included the following image content:\nwoof"}],"time":"2026-05-11T09:13:01Z"}}
{"type":"message","message":{"role":"assistant","content":[{"text":"a dog"}],"time":"2026-05-11T09:13:02Z"}}
"#;

fn write(directory: &Path, text: &str) -> PathBuf {
    let path = directory.join("cwd/20260511-071233-0f8a2c1e.jsonl");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn check(session: &Session) {
    assert_eq!(session.meta.provider, "anthropic");
    assert_eq!(session.meta.model, "claude-sonnet-4-5");
    assert_eq!(session.meta.title.as_deref(), Some("Cats and dogs"));
    assert!(session.report.is_clean(), "{:?}", session.report);
}

#[test]
fn a_later_meta_and_a_title_count() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), SESSION);
    let session = read(&path, View::Current).unwrap();
    check(&session);
    assert_eq!(session.meta.id, "0f8a2c1e-5d1b-4a77-9a55-3b8f3c0d9e21");
    let list = Library::new(directory.path()).list(Scope::All).unwrap();
    let [summary] = &list[..] else {
        panic!("{list:?}");
    };
    assert_eq!(
        (summary.title.as_str(), summary.model.as_str()),
        ("Cats and dogs", "claude-sonnet-4-5")
    );
    assert_eq!((summary.prompts, summary.messages), (2, 9));
    // The last one to speak about the model counts, whichever of the two programs it is.
    let switched = format!(
        "{SESSION}{}\n",
        r#"{"type":"model","provider":"kimi","model":"k"}"#
    );
    let path = write(directory.path(), &switched);
    assert_eq!(read(&path, View::Current).unwrap().meta.model, "k");
    let first = SESSION.lines().next().unwrap();
    let path = write(directory.path(), &format!("{switched}{first}\n"));
    assert_eq!(read(&path, View::Current).unwrap().meta.model, "gpt-4o");
}

#[test]
fn a_record_of_another_session_changes_neither_model_nor_title() {
    let directory = tempfile::tempdir().unwrap();
    let other = r#"{"type":"meta","meta":{"id":"another","model":"m","provider":"p","title":"t"}}"#;
    let path = write(directory.path(), &format!("{SESSION}{other}\n"));
    check(&read(&path, View::Current).unwrap());
}

#[test]
fn copies_keep_the_model_and_the_title() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), SESSION);
    let session = read(&path, View::Current).unwrap();
    let forked = fork(
        directory.path(),
        &session,
        Some(2),
        "/work".into(),
        Durability::ProcessEnd,
    )
    .unwrap();
    forked.keep().unwrap();
    let fork = read(forked.path(), View::Current).unwrap();
    check(&fork);
    // The mirror is not a prompt, so the second one is the dog.
    assert_eq!(fork.messages.len(), 5);

    let exported = export(&path, None).unwrap();
    let text = String::from_utf8(exported.bytes).unwrap();
    assert!(!text.contains("/work"), "{text}");
    let file = directory.path().join("a.zotsession");
    fs::write(&file, &text).unwrap();
    check(&read(&file, View::Current).unwrap());
    let (imported, _) = import(directory.path(), &file, "/here".into()).unwrap();
    let imported = read(imported.path(), View::Current).unwrap();
    check(&imported);
    assert_eq!(imported.messages, session.messages);
}

#[test]
fn a_mirror_of_tool_results_is_no_prompt() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), SESSION);
    let prompts = last_prompts(&path, 1 << 20, 10).unwrap();
    assert_eq!(prompts, ["draw a cat", "now a dog"]);
    let hits = search(std::slice::from_ref(&path), "woof");
    assert_eq!(hits.len(), 1, "{hits:?}");
    assert_eq!(
        search(std::slice::from_ref(&path), "included following"),
        []
    );
    let session = read(&path, View::Current).unwrap();
    assert_eq!(markdown(&session).matches("## User").count(), 2);
    assert!(html(&session).contains("<h1>Cats and dogs</h1>"));
    assert_eq!(html(&session).matches("<h2>User").count(), 2);
    // Even when it comes first.
    let mut lines: Vec<&str> = SESSION.lines().collect();
    lines.remove(1);
    lines.retain(|line| !line.contains("rename") && !line.contains("stale"));
    write(directory.path(), &(lines.join("\n") + "\n"));
    let list = Library::new(directory.path()).list(Scope::All).unwrap();
    let summary = list.iter().find(|one| one.path == path).unwrap();
    assert_eq!(summary.title, "now a dog");
}

#[test]
fn a_compaction_of_the_original_replaces_what_was_said() {
    let directory = tempfile::tempdir().unwrap();
    let compaction = r###"{"type":"compaction","messages":[{"role":"user","content":[{"text":"## Context Summary (compacted)\n\ncats"}],"time":"2026-05-11T10:00:00Z"}]}"###;
    let path = write(directory.path(), &format!("{SESSION}{compaction}\n"));
    let session = read(&path, View::Current).unwrap();
    check(&session);
    assert_eq!(session.messages.len(), 1);
    assert_ne!(session.messages[0].time, Timestamp::default());
}
