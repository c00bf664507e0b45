//! The recorded requests to the original, sent to our processes.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{ModelServer, Wire};
use zino::kind::ServiceKind::{
    self, AgentLoop, Context, Daemon, Executor, Memory, Router, SystemPrompt,
};

use crate::installation::{Installation, Process};
use crate::transcript::{self, Record};

fn check(installation: &Installation, kind: ServiceKind, record: &Record) {
    let kind = if record.note.as_deref() == Some("sent to mem") {
        Memory
    } else {
        kind
    };
    let request = record.req.as_ref().unwrap();
    let frames = installation.ask(kind, request);
    assert_eq!(frames, record.resp, "{}", record.name);
}

fn replay(installation: &Installation, kind: ServiceKind) {
    for record in &transcript::records(kind) {
        check(installation, kind, record);
    }
}

/// Replays the captures of `sys`, between which a tool was added and removed.
fn replay_system_prompt(installation: &Installation) {
    let tool = installation.path("tools/sh.json");
    for record in &transcript::records(SystemPrompt) {
        match record.name.as_str() {
            "reload_new_tool" => fs::write(&tool, r#"{"meta": {"executor": "sh"}}"#).unwrap(),
            "reload_back" => fs::remove_file(&tool).unwrap(),
            _ => {}
        }
        check(installation, SystemPrompt, record);
    }
}

/// Replays the captures of `mem`. Two more memories without text existed when the searches after the
/// fourth memory were recorded; the requests that stored them are not among the records.
fn replay_memory(installation: &Installation) {
    for record in &transcript::records(Memory) {
        check(installation, Memory, record);
        if record.name == "store_4" {
            check_layout(installation);
            for tag in ["", "odd tag"] {
                let request = json!({ "type": "store_hard", "messages": [], "tag": tag });
                assert_eq!(installation.ask_one(Memory, &request)["type"], "ok");
            }
        }
    }
}

/// Replays all captures in their original order and checks the files they leave.
fn replay_all(installation: &Installation) {
    replay_memory(installation);
    replay_system_prompt(installation);
    // The original found no memories here: a broken one it had stored made every search fail.
    fs::remove_file(installation.path("data/mem/hard_memories.json")).unwrap();
    replay(installation, Context);
    replay(installation, Daemon);
    for channel in ["hist-collect_", "hist-stream_"] {
        check_file(installation, &format!("data/mem/channels/{channel}.json"));
    }
}

/// The files the original left behind.
fn layout() -> Vec<(String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/zino/layout.txt");
    let text = fs::read_to_string(path).unwrap();
    let files = text.split("=== ").filter(|file| !file.is_empty());
    files
        .map(|file| {
            let (heading, content) = file.split_once('\n').unwrap();
            let (name, details) = heading.split_once(" (").unwrap();
            let size = details.split(' ').nth(2).unwrap();
            let content = &content[..size.parse().unwrap()];
            (name.to_owned(), content.to_owned())
        })
        .collect()
}

fn check_file(installation: &Installation, name: &str) {
    let (_, expected) = layout().into_iter().find(|file| file.0 == name).unwrap();
    let found = fs::read_to_string(installation.path(name)).unwrap();
    assert_eq!(found, expected, "{name}");
}

/// Checks that our files equal those of the original byte for byte, where both store the same.
fn check_layout(installation: &Installation) {
    check_file(installation, "data/mem/channels/c1.json");
    let hard = "data/mem/hard_memories.json";
    let (_, original) = layout().into_iter().find(|file| file.0 == hard).unwrap();
    // The entries after the fourth came from requests that ours rejects.
    let (kept, _) = original
        .split_once(",\n  {\n    \"messages\": [],")
        .unwrap();
    let found = fs::read_to_string(installation.path(hard)).unwrap();
    assert_eq!(found, format!("{kept}\n]"));
    let soft = fs::read_to_string(installation.path("data/mem/soft_memory.txt")).unwrap();
    assert_eq!(soft, "soft é\n2");
    let evil = json!({
        "type": "append_history", "channel_id": "../e/vil/..1",
        "messages": [{ "role": "user", "content": "x" }],
    });
    assert_eq!(installation.ask_one(Memory, &evil), json!({ "type": "ok" }));
    check_file(installation, "data/mem/channels/___e_vil___1.json");
}

#[test]
fn captured_with_a_process_for_each_service() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _processes = installation.start_all_but(&[]);
    replay_all(&installation);
}

#[test]
fn captured_with_all_services_in_one_process() {
    let model = ModelServer::start();
    let installation = Installation::new(&model.url(Wire::OpenAi), "");
    let _process = installation.up();
    replay_all(&installation);
}

/// Ours reads all files of the original, including unusual entries.
#[test]
fn files_of_the_original_are_read() {
    let installation = Installation::new("http://127.0.0.1:1/v1", "");
    for (name, content) in layout() {
        let path = installation.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let _process = installation.start(Memory);
    let history = |channel: &str| {
        let request = json!({ "type": "get_history", "channel_id": channel });
        installation.ask_one(Memory, &request)["messages"].clone()
    };
    for (name, content) in layout() {
        if let Some(name) = name.strip_prefix("data/mem/channels/") {
            let expected: Value = serde_json::from_str(&content).unwrap();
            assert_eq!(history(name.strip_suffix(".json").unwrap()), expected);
        }
    }
    let soft = installation.ask_one(Memory, &json!({ "type": "get_soft" }));
    assert_eq!(soft["content"], "kept note");
    let search = json!({ "type": "search_hard", "query": "list hidden files please" });
    let found = installation.ask_one(Memory, &search);
    let first = &found["results"][0]["messages"][0]["content"];
    assert_eq!(first, "how do I list hidden files");
    let search = json!({ "type": "search_hard", "query": "odd" });
    let found = installation.ask_one(Memory, &search);
    assert_eq!(found["results"][0]["messages"], json!([{ "role": "user" }]));
}

/// One service at a time is missing, as in the captures.
#[test]
fn captured_with_one_service_missing() {
    let model = ModelServer::start();
    let records = transcript::read_records("daemon_degraded");
    let cases: [(&str, ServiceKind); 6] = [
        ("agr_", AgentLoop),
        ("mem_", Memory),
        ("sys_", SystemPrompt),
        ("ctx_", Context),
        ("exc_", Executor),
        ("rtr_", Router),
    ];
    let mut checked = 0;
    for (prefix, missing) in cases {
        let installation = Installation::new(&model.url(Wire::OpenAi), "");
        let _processes: Vec<Process> = installation.start_all_but(&[missing]);
        let records = records.iter();
        for record in records.filter(|record| record.name.starts_with(prefix)) {
            check(&installation, Daemon, record);
            checked += 1;
        }
    }
    assert_eq!(checked, records.len());
}
