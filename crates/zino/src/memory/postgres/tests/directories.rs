use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Setup, ask, config, database, start, user_message};
use crate::config::Config;
use crate::exchange::exchange;
use crate::memory::postgres::Present;
use crate::peer::Peer;
use zot_wire::zino::memory::Request;

fn files(directory: &Path) -> Peer<Request> {
    let mut config = Config::default();
    config.mem.data_dir = directory.to_owned();
    start(&config)
}

/// The content of all files but locks.
fn content(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for folder in ["", "channels"] {
        for entry in fs::read_dir(directory.join(folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if entry.file_type().unwrap().is_file() && name != ".lock" {
                found.insert(format!("{folder}/{name}"), fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

/// Fills a directory through the store of files, and with what only other programs write.
async fn fill(directory: &Path) {
    let mem = files(directory);
    let long = "long ".repeat(60);
    let ids = ["plain", "a/b", "a_b", "a b", "ä\0\u{1}", "😀", &long];
    for (number, channel) in ids.iter().enumerate() {
        let count = 1 + 150 * (number % 2);
        let messages: Vec<Value> = (0..count)
            .map(|index| json!({ "role": "user", "content": format!("{number} {index}"), "x": [] }))
            .collect();
        let append = json!({
            "type": "append_history", "channel_id": channel, "messages": messages,
        });
        assert_eq!(ask(&mem, append).await["type"], "ok");
    }
    let large = json!({
        "type": "append_history", "channel_id": "large",
        "messages": [user_message(&"x".repeat(10 << 20)), user_message("after it")],
    });
    assert_eq!(ask(&mem, large).await["type"], "ok");
    for number in 0..130 {
        let store = json!({
            "type": "store_hard", "messages": [user_message(&format!("memory {number}"))],
            "tag": number.to_string(),
        });
        assert_eq!(ask(&mem, store).await["id"], number);
    }
    for id in [0, 64, 129] {
        let delete = json!({ "type": "delete_hard", "id": id });
        assert_eq!(ask(&mem, delete).await["type"], "ok");
    }
    let python = "[\n  {\n    \"role\": \"user\",\n    \"content\": \"\\ud800 lone\",\n    \
                  \"score\": NaN\n  },\n  null,\n  \"text\"\n]";
    fs::write(directory.join("channels/python.json"), python).unwrap();
    fs::write(directory.join("channels/empty.json"), "[]").unwrap();
    fs::write(directory.join("soft_memory.txt"), b"soft \xff\0\r\n").unwrap();
}

#[tokio::test]
async fn a_directory_survives_the_way_through_a_database() {
    let setup = Setup::new().await;
    let directory = TempDir::new().unwrap();
    let (from, to) = (directory.path().join("from"), directory.path().join("to"));
    fill(&from).await;
    let before = content(&from);
    let config = config(&setup.database.url);
    let store = database(&config);
    let imported = store.import(&from, Present::Keep).await.unwrap();
    assert_eq!((imported.channels, imported.memories), (10, 130));
    assert!(imported.has_soft_memory);
    assert_eq!(store.export(&to).await.unwrap(), imported);
    let after = content(&to);
    let names = |content: &BTreeMap<String, Vec<u8>>| content.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&after), names(&before));
    for (name, bytes) in &before {
        assert!(after[name] == *bytes, "{name}");
    }
    assert!(content(&from) == before, "the import changed the directory");

    // Both services show the same, and continue in the same way.
    let (files, database) = (files(&to), start(&config));
    for request in [
        json!({ "type": "list_channels" }),
        json!({ "type": "export" }),
        json!({ "type": "search_hard", "query": "memory 77", "top_k": 9 }),
        json!({ "type": "append_history", "channel_id": "empty", "messages": [user_message("x")] }),
        json!({ "type": "append_history", "channel_id": "a/b", "messages": [user_message("x")] }),
        json!({ "type": "list_channels" }),
    ] {
        let expected = exchange(&files, &request).await;
        assert!(exchange(&database, &request).await == expected, "{request}");
    }
}

#[tokio::test]
async fn an_import_replaces_only_when_asked_and_all_or_nothing() {
    let setup = Setup::new().await;
    let directory = TempDir::new().unwrap();
    let from = directory.path().join("from");
    let config = config(&setup.database.url);
    let (store, mem) = (database(&config), start(&config));
    let absent = store.import(&from, Present::Keep).await.unwrap_err();
    assert!(
        absent.to_string().starts_with("nothing to import in"),
        "{absent}"
    );
    for text in ["one", "one two", "three", "four", "five"] {
        let memory = json!({
            "type": "store_hard", "messages": [user_message(text)], "tag": "old",
        });
        ask(&mem, memory).await;
    }
    let search = json!({ "type": "search_hard", "query": "one", "top_k": 9 });
    let found = ask(&mem, search.clone()).await;
    assert_eq!(found["results"].as_array().unwrap().len(), 2);

    fs::create_dir_all(from.join("channels")).unwrap();
    fs::write(
        from.join("channels/a.json"),
        "[{\"a\": 1}\n,\n{\"b\": 2} ]\n",
    )
    .unwrap();
    fs::write(from.join("channels/b.json"), "[\n  1,\n  {\"a").unwrap();
    let refused = store
        .import(&from, Present::Keep)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("is not empty: it has 0 channels, 5 memories"),
        "{refused}"
    );
    let torn = store
        .import(&from, Present::Replace)
        .await
        .unwrap_err()
        .to_string();
    assert!(torn.contains("b.json was cut off"), "{torn}");
    assert_eq!(ask(&mem, search.clone()).await, found);

    fs::remove_file(from.join("channels/b.json")).unwrap();
    let other = r#"[{"messages": [{"role": "user", "content": "one new"}]}, 1, 2, 3]"#;
    fs::write(from.join("hard_memories.json"), other).unwrap();
    store.import(&from, Present::Replace).await.unwrap();
    // A running service notices that everything was replaced.
    let found = ask(&mem, search).await;
    assert_eq!(found["results"][0]["messages"][0]["content"], "one new");
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    let to = directory.path().join("to");
    store.export(&to).await.unwrap();
    let history = fs::read_to_string(to.join("channels/a.json")).unwrap();
    assert_eq!(history, "[\n  {\"a\": 1},\n  {\"b\": 2}\n]");
    let again = store.export(&to).await.unwrap_err().to_string();
    assert!(
        again.ends_with("is not empty: name a new directory"),
        "{again}"
    );
}
