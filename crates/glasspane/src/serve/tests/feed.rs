use serde_json::Value;

use super::client::{Message, start};
use crate::{Detached, Event, Kind, Usage};

fn texts(message: &Message) -> Vec<&str> {
    records(message)
        .iter()
        .filter_map(|record| record["event"]["text"].as_str())
        .collect()
}

fn records(message: &Message) -> &Vec<Value> {
    message.data["records"].as_array().unwrap()
}

#[tokio::test]
async fn a_watcher_gets_a_snapshot_and_then_new_records() {
    let server = start().await;
    let agent = server.agent("builder");
    agent.event(Event::turn_start(1));
    agent.event(Event::piece("assistant", "Hello"));
    let mut watch = server.watch(None).await;
    let snapshot = watch.next().await.unwrap();
    assert_eq!(snapshot.event, "snapshot");
    assert_eq!(snapshot.data["seq"], 3);
    assert_eq!(snapshot.data["agents"][0]["label"], "builder");
    assert_eq!(snapshot.data["agents"][0]["status"], "writing");
    assert_eq!(snapshot.data["agents"][0]["last_text"], "Hello");
    // Deltas are not part of the history.
    let history = snapshot.data["history"][agent.id()].as_array().unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(history[1]["event"]["type"], "turn_start");

    agent.event(Event::piece("assistant", ", "));
    agent.event(Event::piece("assistant", "world"));
    agent.usage(Usage {
        output_tokens: 7,
        ..Usage::default()
    });
    let batch = watch.next().await.unwrap();
    assert_eq!(batch.event, "batch");
    assert_eq!(texts(&batch), [", world"]);
    assert_eq!(records(&batch).len(), 2);
    assert_eq!(batch.data["agents"][0]["usage"]["output_tokens"], 7);
    assert_eq!(batch.data["agents"][0]["last_text"], "");
    assert!(batch.id.ends_with(":6"), "{}", batch.id);

    agent.detach(Detached::default());
    let batch = watch.next().await.unwrap();
    assert_eq!(batch.data["agents"][0]["status"], "interrupted");
    server.stop().await;
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn a_later_watcher_gets_running_tools_and_earlier_calls() {
    let server = start().await;
    let agent = server.agent("builder");
    let arguments = r#"{"command":"cargo test"}"#;
    agent.event(Event::tool_start("c1", "bash"));
    agent.event(Event::tool_arguments("c1", arguments));
    let mut watch = server.watch(None).await;
    let snapshot = watch.next().await.unwrap();
    let running = &snapshot.data["agents"][0]["running"][0];
    assert_eq!(running["summary"], "cargo test");
    assert_eq!(running["arguments"], arguments);
    let history = snapshot.data["history"][agent.id()].as_array().unwrap();
    assert_eq!(history[2]["event"]["text"], arguments);

    // After that, arguments are sent once, in their record.
    agent.event(Event::tool_start("c2", "read"));
    agent.event(Event::tool_arguments("c2", r#"{"path":"notes.txt"}"#));
    let batch = watch.next().await.unwrap();
    assert_eq!(texts(&batch), [r#"{"path":"notes.txt"}"#]);
    let running = &batch.data["agents"][0]["running"];
    assert_eq!(running[1]["summary"], "notes.txt");
    assert_eq!(running[1]["arguments"], serde_json::Value::Null);
    server.stop().await;
}

#[tokio::test]
async fn a_reconnecting_watcher_gets_exactly_what_it_missed() {
    let server = start().await;
    let agent = server.agent("one");
    let mut first = server.watch(None).await;
    // Another watcher stays connected, so that frames are created meanwhile.
    let mut other = server.watch(None).await;
    let left_at = first.next().await.unwrap().id;
    other.next().await.unwrap();
    drop(first);
    let mut expected = Vec::new();
    for number in 0..3 {
        agent.event(Event::notice(format!("{number}")));
        expected.push(other.next().await.unwrap().id);
    }
    let mut back = server.watch(Some(&left_at)).await;
    for id in &expected {
        let message = back.next().await.unwrap();
        assert_eq!(message.event, "batch");
        assert_eq!(&message.id, id);
    }
    agent.event(Event::notice("live"));
    let message = back.next().await.unwrap();
    assert_eq!(records(&message)[0]["event"]["message"], "live");
    server.stop().await;
}

#[tokio::test]
async fn a_lone_watcher_gets_what_it_missed_when_it_reconnects() {
    let server = start().await;
    let agent = server.agent("one");
    let mut watch = server.watch(None).await;
    let left_at = watch.next().await.unwrap().id;
    drop(watch);
    agent.event(Event::notice("while nobody watched"));
    let mut back = server.watch(Some(&left_at)).await;
    let message = back.next().await.unwrap();
    assert_eq!(message.event, "batch");
    assert_eq!(
        records(&message)[0]["event"]["message"],
        "while nobody watched"
    );
    server.stop().await;
}

#[tokio::test]
async fn invalid_positions_get_a_snapshot() {
    let former = start().await;
    former.agent("gone");
    let stale = former.watch(None).await.next().await.unwrap().id;
    former.stop().await;

    let server = start().await;
    let agent = server.agent("one");
    agent.event(Event::turn_start(1));
    let id = server.watch(None).await.next().await.unwrap().id;
    let epoch = id.split_once(':').unwrap().0.to_owned();
    for id in [
        stale.as_str(),
        "nonsense",
        "",
        &format!("{epoch}:1"),
        &format!("{epoch}:999"),
        &format!("{epoch}:-1"),
        &format!("{epoch}:x"),
    ] {
        let message = server.watch(Some(id)).await.next().await.unwrap();
        assert_eq!(message.event, "snapshot", "{id}");
        assert_eq!(message.data["agents"][0]["label"], "one");
    }
    server.stop().await;
}

#[tokio::test]
async fn watchers_that_connect_at_different_times_see_the_same() {
    let server = start().await;
    let agent = server.agent("one");
    let mut watches = Vec::new();
    for number in 0..20 {
        agent.event(Event::piece("assistant", format!("<{number}>")));
        watches.push(server.watch(None).await);
    }
    agent.event(Event::new(Kind::AgentEnd));
    for watch in &mut watches {
        let first = watch.next().await.unwrap();
        let mut text = first.data["agents"][0]["last_text"]
            .as_str()
            .unwrap()
            .to_owned();
        let mut ended = first.data["agents"][0]["status"] == "done";
        while !ended {
            let batch = watch.next().await.unwrap();
            text.extend(texts(&batch));
            ended = batch.data["agents"][0]["status"] == "done";
        }
        let expected: String = (0..20).map(|number| format!("<{number}>")).collect();
        assert_eq!(text, expected);
    }
    server.stop().await;
}
