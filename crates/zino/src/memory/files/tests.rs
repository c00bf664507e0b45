mod crash;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{FileStore, TornFiles};
use crate::config::Config;
use crate::exchange::exchange;
use crate::logging::{Level, Log};
use crate::memory::index::Wanted;
use crate::memory::stored::NewMemory;
use crate::memory::{MemoryService, prepare_files};
use crate::peer::Peer;
use zot_wire::zino::Message;
use zot_wire::zino::memory::Request;

pub(super) fn open(directory: &Path) -> FileStore {
    FileStore::new(directory)
}

fn repair(store: &FileStore) -> TornFiles {
    store.repair_while(&|| true)
}

async fn frames(peer: &Peer<Request>, request: Value) -> Vec<Value> {
    exchange(peer, &request).await
}

async fn ask(peer: &Peer<Request>, request: Value) -> Value {
    let mut frames = frames(peer, request).await;
    assert_eq!(frames.len(), 1, "{frames:?}");
    frames.remove(0)
}

fn start(directory: &Path) -> Peer<Request> {
    let mut config = Config::default();
    config.mem.data_dir = directory.to_owned();
    let service = MemoryService::new(&config).unwrap();
    Peer::local(Arc::new(service), Log::new("mem", Level::Error))
}

fn user_message(text: &str) -> Value {
    json!({ "role": "user", "content": text })
}

#[tokio::test]
async fn responds_like_the_original() {
    let directory = TempDir::new().unwrap();
    let peer = start(directory.path());
    for line in include_str!("tests/captured.jsonl").lines() {
        let captured: Value = serde_json::from_str(line).unwrap();
        // `ping` never reaches a service.
        if captured["name"] == "ping" {
            continue;
        }
        if captured["name"] == "search_files" {
            // The capture stored two more here, which this implementation rejects.
            let path = directory.path().join("hard_memories.json");
            let text = fs::read_to_string(&path).unwrap();
            let text = text.strip_suffix("\n]").unwrap();
            let more = r#"{"messages": [], "tag": ""}, {"messages": [{"role": "user"}], "tag": "odd tag"}"#;
            fs::write(&path, format!("{text},\n{more}]\n")).unwrap();
        }
        let response = frames(&peer, captured["req"].clone()).await;
        assert_eq!(
            Value::Array(response),
            captured["resp"],
            "{}",
            captured["name"]
        );
    }
    let text = fs::read_to_string(directory.path().join("channels/c1.json")).unwrap();
    let expected = "[\n  {\n    \"role\": \"user\",\n    \"content\": \"one\"\n  },\n  {\n    \"role\": \"assistant\",\n    \"content\": \"zwei é\"\n  },\n";
    assert_eq!(text.get(..expected.len()), Some(expected));
    assert!(text.ends_with("\"four\"\n  }\n]"));
    let hard = fs::read_to_string(directory.path().join("hard_memories.json")).unwrap();
    let expected = "[\n  {\n    \"messages\": [\n      {\n        \"role\": \"user\",\n        \"content\": \"how do I list hidden files\"\n      },\n";
    assert_eq!(hard.get(..expected.len()), Some(expected));
    assert!(
        hard.contains("\n    ],\n    \"tag\": \"shell\"\n  },\n"),
        "{hard}"
    );
    for file in ["channels/c1.json", "hard_memories.json", "soft_memory.txt"] {
        let mode = fs::metadata(directory.path().join(file))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[tokio::test]
async fn invalid_requests_name_the_field() {
    let directory = TempDir::new().unwrap();
    let peer = start(directory.path());
    let check = async |request: Value, message: &str| {
        let response = ask(&peer, request).await;
        assert_eq!(response, json!({ "type": "error", "message": message }));
    };
    check(
        json!({ "type": "get_history", "channel_id": "" }),
        "channel_id required",
    )
    .await;
    check(json!({ "type": "clear_history" }), "channel_id required").await;
    check(
        json!({ "type": "get_history", "channel_id": 3 }),
        "channel_id must be a string",
    )
    .await;
    check(
        json!({ "type": "get_history", "channel_id": "a", "limit": "x" }),
        "limit must be a whole number",
    )
    .await;
    check(
        json!({ "type": "append_history", "channel_id": "a", "messages": {} }),
        "messages must be a list",
    )
    .await;
    check(
        json!({ "type": "append_history", "channel_id": "a", "messages": ["x"] }),
        "messages[0] must be an object with role and content",
    )
    .await;
    check(json!({ "type": "append_history", "channel_id": "a", "messages": [user_message("x"), { "role": "user", "content": 5 }] }), "messages[1]: content must be a string").await;
    check(
        json!({ "type": "store_hard", "messages": [{ "content": "x" }] }),
        "messages[0]: role must be a string",
    )
    .await;
    check(
        json!({ "type": "store_hard", "messages": [], "tag": ["x"] }),
        "tag must be a string",
    )
    .await;
    check(
        json!({ "type": "search_hard", "query": [] }),
        "query must be a string",
    )
    .await;
    check(
        json!({ "type": "delete_hard", "id": 0 }),
        "no memory with the id 0",
    )
    .await;
    check(
        json!({ "type": "delete_hard" }),
        "id must be a whole number",
    )
    .await;
    check(
        json!({ "type": "set_soft", "content": 1 }),
        "content must be a string",
    )
    .await;
    check(json!({}), "Unknown message type: None").await;
    assert!(!directory.path().join("channels/a.json").exists());
}

#[tokio::test]
async fn unusual_entries_on_disk_are_served_and_searched() {
    let directory = TempDir::new().unwrap();
    fs::create_dir(directory.path().join("channels")).unwrap();
    fs::write(
        directory.path().join("channels/c5.json"),
        "[\n  1,\n  {\n    \"x\": null\n  }\n]",
    )
    .unwrap();
    fs::write(
        directory.path().join("hard_memories.json"),
        r#"[{"messages":[{"role":"user","content":"apples and pears"}],"tag":""}, 7,
            {"messages":[{"role":"user","content":5}],"tag":"odd tag"}, {"messages":"x","tag":["y"]},
            {"tag":"lonely"}, {"messages":[3,null,{"content":"apples"}]}, NaN]
"#,
    )
    .unwrap();
    let peer = start(directory.path());
    let history = ask(&peer, json!({ "type": "get_history", "channel_id": "c5" })).await;
    assert_eq!(history["messages"], json!([1, { "x": null }]));
    let last = ask(
        &peer,
        json!({ "type": "get_history", "channel_id": "c5", "limit": 1 }),
    )
    .await;
    assert_eq!(last["messages"], json!([{ "x": null }]));
    let found = ask(&peer, json!({ "type": "search_hard", "query": "Apples" })).await;
    assert_eq!(found["results"].as_array().unwrap().len(), 2, "{found}");
    assert_eq!(
        found["results"][0]["messages"],
        json!([3, null, { "content": "apples" }])
    );
    let found = ask(
        &peer,
        json!({ "type": "search_hard", "query": "lonely odd", "top_k": -1 }),
    )
    .await;
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
    // Nothing is lost when a memory is added.
    let stored = ask(
        &peer,
        json!({ "type": "store_hard", "messages": [user_message("new")] }),
    )
    .await;
    assert_eq!(stored, json!({ "type": "ok", "id": 7 }));
    let text = fs::read_to_string(directory.path().join("hard_memories.json")).unwrap();
    assert!(text.starts_with("[\n  {\"messages\":[{\"role\":\"user\",\"content\":\"apples and pears\"}],\"tag\":\"\"},\n  7,\n"), "{text}");
    assert!(text.contains("\n  NaN,\n"), "{text}");
}

#[tokio::test]
async fn deleting_a_memory_keeps_the_numbers_of_the_others() {
    let directory = TempDir::new().unwrap();
    let peer = start(directory.path());
    for text in ["red apple", "green pear", "blue plum", "black grape"] {
        ask(
            &peer,
            json!({ "type": "store_hard", "messages": [user_message(text)], "tag": "fruit" }),
        )
        .await;
    }
    assert_eq!(
        ask(&peer, json!({ "type": "delete_hard", "id": 1 })).await,
        json!({ "type": "ok" })
    );
    let stored = ask(
        &peer,
        json!({ "type": "store_hard", "messages": [user_message("white melon")] }),
    )
    .await;
    assert_eq!(stored["id"], 4);
    // Both from the index in memory and from the file.
    for peer in [&peer, &start(directory.path())] {
        let found = ask(
            peer,
            json!({ "type": "search_hard", "query": "green pear" }),
        )
        .await;
        assert_eq!(found["results"], json!([]));
        for text in ["red apple", "blue plum", "black grape", "white melon"] {
            let found = ask(peer, json!({ "type": "search_hard", "query": text })).await;
            assert_eq!(found["results"][0]["messages"], json!([user_message(text)]));
        }
    }
    let text = fs::read(directory.path().join("hard_memories.json")).unwrap();
    let entries: Vec<Value> = serde_json::from_slice(&text).unwrap();
    assert_eq!(entries[1], json!({ "messages": [], "tag": "" }));
    assert_eq!(entries.len(), 5);
}

#[tokio::test]
async fn each_of_two_services_sees_what_the_other_stores() {
    let directory = TempDir::new().unwrap();
    let peers = [start(directory.path()), start(directory.path())];
    for number in 0..40_usize {
        let peer = &peers[number % 2];
        let text = format!("word{number} common");
        let stored = ask(
            peer,
            json!({ "type": "store_hard", "messages": [user_message(&text)] }),
        )
        .await;
        assert_eq!(stored["id"], number);
        if number == 20 {
            ask(peer, json!({ "type": "delete_hard", "id": 3 })).await;
        }
    }
    for peer in &peers {
        let found = ask(peer, json!({ "type": "search_hard", "query": "word31" })).await;
        assert_eq!(
            found["results"][0]["messages"],
            json!([user_message("word31 common")])
        );
        let found = ask(peer, json!({ "type": "search_hard", "query": "word3" })).await;
        assert_eq!(found["results"], json!([]));
    }
}

#[tokio::test]
async fn an_export_can_be_imported() {
    let (first, second) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let peer = start(first.path());
    let messages: Vec<_> = (0..250)
        .map(|number| user_message(&format!("m{number}")))
        .collect();
    for channel in ["plain", "a/b", "a_b"] {
        ask(
            &peer,
            json!({ "type": "append_history", "channel_id": channel, "messages": messages }),
        )
        .await;
    }
    for number in 0..120 {
        let text = format!("memory {number}");
        ask(
            &peer,
            json!({ "type": "store_hard", "messages": [user_message(&text)], "tag": "t" }),
        )
        .await;
    }
    ask(&peer, json!({ "type": "delete_hard", "id": 5 })).await;
    ask(&peer, json!({ "type": "set_soft", "content": "soft" })).await;
    let mut exported = frames(&peer, json!({ "type": "export" })).await;
    assert_eq!(
        exported.pop(),
        Some(json!({ "type": "done", "items": 9 + 120 + 1 }))
    );
    let other = start(second.path());
    let responses = frames(&other, json!({ "type": "import", "items": exported })).await;
    let (last, progress) = responses.split_last().unwrap();
    assert_eq!(*last, json!({ "type": "ok", "items": 130 }));
    assert_eq!(
        progress.last(),
        Some(&json!({ "type": "progress", "done": 130, "total": 130 }))
    );
    assert!(progress.len() > 2);
    let mut again = frames(&other, json!({ "type": "export" })).await;
    again.pop();
    assert_eq!(again, exported);
    let listed = ask(&other, json!({ "type": "list_channels" })).await;
    let ids: Vec<_> = listed["channels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|channel| &channel["channel_id"])
        .collect();
    assert_eq!(ids, ["a/b", "a_b", "plain"]);
    // One invalid item, and nothing is imported.
    let mut items = exported;
    items.push(json!({ "kind": "history", "channel_id": "x", "messages": [{ "role": 1 }] }));
    let rejected = ask(&other, json!({ "type": "import", "items": items })).await;
    assert_eq!(
        rejected["message"],
        "items[130]: messages[0]: role must be a string"
    );
    let listed = ask(&other, json!({ "type": "list_channels" })).await;
    assert_eq!(listed["channels"].as_array().unwrap().len(), 3);
}

#[test]
fn torn_files_are_found_and_repaired() {
    let directory = TempDir::new().unwrap();
    let channels = directory.path().join("channels");
    assert_eq!(repair(&open(directory.path())), TornFiles::default());
    fs::create_dir(&channels).unwrap();
    fs::write(channels.join("torn.json"), "[\n  1,\n  {\"a").unwrap();
    fs::write(channels.join("odd.json"), "[1 ]\n").unwrap();
    fs::write(channels.join("whole.json"), "[\n  1\n]").unwrap();
    fs::write(channels.join("other.json"), "{}").unwrap();
    fs::write(directory.path().join("hard_memories.json"), "").unwrap();
    let store = open(directory.path());
    let torn = TornFiles {
        files: vec![
            channels.join("torn.json"),
            directory.path().join("hard_memories.json"),
        ],
        errors: Vec::new(),
    };
    assert_eq!(store.find_torn(), torn);
    assert_eq!(repair(&store), torn);
    assert_eq!(repair(&store), TornFiles::default());
    assert_eq!(store.find_torn(), TornFiles::default());
    let text = |name: &str| fs::read_to_string(channels.join(name)).unwrap();
    assert_eq!(text("torn.json"), "[\n  1\n]");
    assert_eq!(text("odd.json"), "[1 ]\n");
    assert_eq!(text("other.json"), "{}");
    assert_eq!(
        fs::read_to_string(directory.path().join("hard_memories.json")).unwrap(),
        "[]"
    );
}

fn many_memories(directory: &Path, count: usize) {
    let entries: Vec<Value> = (0..count)
        .map(|number| json!({ "messages": [user_message(&format!("word{number} filler"))], "tag": "" }))
        .collect();
    let text = serde_json::to_string_pretty(&entries).unwrap();
    fs::write(directory.join("hard_memories.json"), text).unwrap();
}

#[test]
fn the_index_of_many_memories_is_built_at_the_start() {
    let directory = TempDir::new().unwrap();
    let log = Log::new("mem", Level::Error);
    let stop = CancellationToken::new();
    many_memories(directory.path(), 100);
    let few = open(directory.path());
    prepare_files(&few, log, &stop);
    assert!(!few.hard.has_index());

    many_memories(directory.path(), 10_000);
    let many = open(directory.path());
    // Concurrent searches and stores see everything.
    let store = &many;
    std::thread::scope(|scope| {
        scope.spawn(|| prepare_files(&many, log, &stop));
        for writer in 0..4 {
            scope.spawn(move || {
                let memory = NewMemory {
                    messages: vec![Message::new("user", format!("new{writer}"))],
                    tag: String::new(),
                };
                store.hard.store(&[memory]).unwrap();
                let found = store.hard.search("word9999", Wanted::Best(1)).unwrap();
                assert_eq!(found.len(), 1);
            });
        }
    });
    assert_eq!(store.hard.count().unwrap(), 10_004);
    for writer in 0..4 {
        let found = store.hard.search(&format!("new{writer}"), Wanted::Best(2));
        assert_eq!(found.unwrap().len(), 1);
    }

    let ahead = open(directory.path());
    prepare_files(&ahead, log, &stop);
    assert!(ahead.hard.has_index());
    let ended = open(directory.path());
    stop.cancel();
    prepare_files(&ended, log, &stop);
    assert!(!ended.hard.has_index());
}

/// Requests wait for a file that another program has locked; the service does not.
#[tokio::test]
async fn a_locked_file_delays_only_its_own_requests() {
    let directory = TempDir::new().unwrap();
    let peer = start(directory.path());
    let append =
        json!({ "type": "append_history", "channel_id": "c", "messages": [user_message("x")] });
    for _ in 0..2 {
        ask(&peer, append.clone()).await;
    }
    let held = fs::File::open(directory.path().join("channels/c.json")).unwrap();
    held.lock().unwrap();
    let history = json!({ "type": "get_history", "channel_id": "c", "limit": 5 });
    let both = async { tokio::join!(ask(&peer, append), ask(&peer, history)) };
    let mut both = std::pin::pin!(both);
    let others = tokio::time::sleep(std::time::Duration::from_millis(100));
    tokio::select! {
        done = &mut both => panic!("{done:?}"),
        () = others => {}
    }
    held.unlock().unwrap();
    let (stored, history) = both.await;
    assert_eq!(stored, json!({ "type": "ok" }));
    assert!(history["messages"].as_array().unwrap().len() >= 2);
}
