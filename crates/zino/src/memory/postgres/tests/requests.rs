use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Setup, append, ask, config, database, start, user_message};
use crate::config::Config;
use crate::exchange::exchange;
use crate::memory::postgres::Present;
use crate::peer::Peer;
use zot_wire::zino::memory::Request;

fn files(directory: &TempDir) -> Peer<Request> {
    let mut config = Config::default();
    config.mem.data_dir = directory.path().to_owned();
    start(&config)
}

/// The recorded requests.
fn recorded() -> Vec<Value> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/zino/mem.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let record = |line| serde_json::from_str::<Value>(line).unwrap();
    let requests = text.lines().map(|line| record(line)["req"].clone());
    requests.filter(|request| request.is_object()).collect()
}

fn ids() -> Vec<String> {
    let long = "long ".repeat(60);
    [
        "c",
        "a/b",
        "a_b",
        "ä ö",
        "../../x",
        "nul\0\u{1}0",
        "😀",
        &long,
    ]
    .map(str::to_owned)
    .into()
}

/// Requests of every type, with odd values.
fn requests() -> Vec<Value> {
    let mut requests = recorded();
    for (number, channel) in ids().iter().enumerate() {
        for count in [1, 2, 0, 3] {
            let messages: Vec<Value> = (0..count)
                .map(|index| {
                    json!({
                        "role": "user", "content": format!("{number} {index} \0 \u{7f} \"\\\n"),
                        "z": null, "a": [1.5, { "deep": [] }], "number": 1e300,
                    })
                })
                .collect();
            requests.push(json!({
                "type": "append_history", "channel_id": channel, "messages": messages,
            }));
        }
        for limit in [
            json!(null),
            json!(0),
            json!(-1),
            json!(1),
            json!(2),
            json!(4),
            json!(100),
        ] {
            requests.push(json!({
                "type": "get_history", "channel_id": channel, "limit": limit,
            }));
        }
        requests.push(json!({ "type": "list_channels" }));
    }
    requests.push(json!({ "type": "clear_history", "channel_id": "a/b" }));
    requests.push(json!({ "type": "clear_history", "channel_id": "never" }));
    requests.push(json!({ "type": "get_history", "channel_id": "a/b" }));
    requests.push(json!({ "type": "list_channels" }));
    for number in 0..30 {
        let text = format!(
            "memory {number} about {}",
            ["tea", "coffee", "tea coffee"][number % 3]
        );
        requests.push(json!({
            "type": "store_hard", "messages": [user_message(&text)], "tag": format!("t{}", number % 4),
        }));
        requests.push(json!({ "type": "search_hard", "query": "tea about", "top_k": 5 }));
    }
    for id in [3, 3, 7, 900] {
        requests.push(json!({ "type": "delete_hard", "id": id }));
        for top_k in [json!(null), json!(0), json!(10), json!(-3)] {
            requests.push(json!({
                "type": "search_hard", "query": "memory 3 coffee t3", "top_k": top_k,
            }));
        }
    }
    requests.push(json!({ "type": "set_soft", "content": "a\0b \u{e9}\r\n" }));
    requests.push(json!({ "type": "get_soft" }));
    requests.push(json!({ "type": "import", "items": [
        { "kind": "history", "channel_id": "c", "messages": [user_message("imported")] },
        { "kind": "hard", "messages": [user_message("imported memory")], "tag": "x" },
        { "kind": "hard", "messages": [], "tag": "y" },
        { "kind": "soft", "content": "imported soft" },
    ] }));
    let many: Vec<Value> = (0..250)
        .map(|index| user_message(&format!("m{index}")))
        .collect();
    requests.push(json!({ "type": "append_history", "channel_id": "c", "messages": many }));
    requests.push(json!({ "type": "import", "items": [{ "kind": "odd" }] }));
    requests.push(json!({ "type": "export" }));
    requests.push(json!({ "type": "get_soft" }));
    requests
}

#[tokio::test]
async fn every_request_gets_the_same_frames_as_from_files() {
    let setup = Setup::new().await;
    let directory = TempDir::new().unwrap();
    let (files, database) = (files(&directory), setup.start());
    for request in requests() {
        let expected = exchange(&files, &request).await;
        let frames = exchange(&database, &request).await;
        assert_eq!(frames, expected, "{request}");
    }
}

#[tokio::test]
async fn writes_of_one_service_are_seen_by_the_next_search_of_another() {
    let setup = Setup::new().await;
    let directory = TempDir::new().unwrap();
    let files = files(&directory);
    let services = [setup.start(), setup.start()];
    for number in 0..40 {
        let text = format!(
            "note {number} on {}",
            ["rust", "go", "rust go", "c"][number % 4]
        );
        let store = json!({
            "type": "store_hard", "messages": [user_message(&text)], "tag": "",
        });
        let delete = json!({ "type": "delete_hard", "id": number / 2 });
        let search = json!({ "type": "search_hard", "query": "note rust 7", "top_k": 8 });
        for request in [store, delete] {
            if request["type"] == "delete_hard" && number % 5 != 0 {
                continue;
            }
            let expected = ask(&files, request.clone()).await;
            assert_eq!(ask(&services[number % 2], request).await, expected);
            let expected = ask(&files, search.clone()).await;
            for service in &services {
                assert_eq!(ask(service, search.clone()).await, expected);
            }
        }
    }
}

#[tokio::test]
async fn an_index_that_is_built_late_gives_the_same_scores() {
    const MEMORIES: usize = 2300;
    let setup = Setup::new().await;
    let directory = TempDir::new().unwrap();
    let memory = |number: usize| {
        let text = format!("w{} w{} all", number % 7, number % 411);
        json!({ "messages": [user_message(&text)], "tag": "" })
    };
    let memories: Vec<Value> = (0..MEMORIES).map(memory).collect();
    let text = serde_json::to_string_pretty(&memories).unwrap();
    std::fs::write(directory.path().join("hard_memories.json"), text).unwrap();
    let store = database(&config(&setup.database.url));
    store.import(directory.path(), Present::Keep).await.unwrap();
    let (files, early, late) = (files(&directory), setup.start(), setup.start());
    let search = json!({ "type": "search_hard", "query": "w3 w400 w12 all", "top_k": 40 });
    let first = ask(&early, search.clone()).await;
    assert_eq!(first, ask(&files, search.clone()).await);
    for id in (0..MEMORIES).step_by(97) {
        let delete = json!({ "type": "delete_hard", "id": id });
        for mem in [&files, &early] {
            assert_eq!(ask(mem, delete.clone()).await["type"], "ok");
        }
    }
    let expected = ask(&files, search.clone()).await;
    assert_ne!(expected, first);
    let searches = [&early, &late, &late].map(|mem| ask(mem, search.clone()));
    for found in join_all(searches.into_iter()).await {
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn rows_that_were_removed_by_hand_do_not_shift_the_others() {
    let setup = Setup::new().await;
    let mem = setup.start();
    for text in ["red", "green", "blue", "yellow", "white"] {
        let store = json!({
            "type": "store_hard", "messages": [user_message(text)], "tag": "",
        });
        ask(&mem, store).await;
    }
    setup.sql("delete from zino_memory where id = 1");
    let search = json!({ "type": "search_hard", "query": "yellow" });
    let found = ask(&mem, search).await;
    assert_eq!(found["results"][0]["messages"][0]["content"], "yellow");
}

#[tokio::test]
async fn a_repeated_append_is_stored_once() {
    let setup = Setup::new().await;
    let services = [setup.start(), setup.start()];
    let mut expected = Vec::new();
    for number in 1..=60 {
        let request = append("c", &format!("call {number}"), &number.to_string());
        let copies = (0..=number % 3).map(|copy| ask(&services[copy % 2], request.clone()));
        let mut set = Vec::new();
        for answer in join_all(copies).await {
            set.push(answer["sequence"].clone());
        }
        assert!(
            set.iter().all(|sequence| *sequence == json!(number)),
            "{set:?}"
        );
        expected.push(user_message(&number.to_string()));
    }
    let history = ask(
        &services[0],
        json!({ "type": "get_history", "channel_id": "c" }),
    )
    .await;
    assert_eq!(history["messages"], json!(expected));
    let nothing = json!({
        "type": "append_history", "channel_id": "c", "call": "empty", "messages": [],
    });
    assert_eq!(ask(&services[0], nothing).await, json!({ "type": "ok" }));
    let listed = ask(&services[0], json!({ "type": "list_channels" })).await;
    assert_eq!(listed["channels"][0]["channel_id"], "c");
    let store = json!({
        "type": "store_hard", "messages": [user_message("once")], "tag": "", "call": "m",
    });
    for service in &services {
        assert_eq!(
            ask(service, store.clone()).await,
            json!({ "id": 0, "type": "ok" })
        );
    }
}

async fn join_all<T>(futures: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut pending: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        for (future, done) in &mut pending {
            if done.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(context)
            {
                *done = Some(value);
            }
        }
        match pending.iter().all(|(_, done)| done.is_some()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    pending.into_iter().filter_map(|(_, done)| done).collect()
}
