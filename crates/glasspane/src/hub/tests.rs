use std::time::Duration;

use tokio::time::timeout;

use super::{
    BATCH_RECORDS, HISTORY_BYTES, HISTORY_RECORDS, Hub, MAX_AGENTS, MAX_RECORD_TEXT_BYTES,
    RING_RECORDS,
};
use crate::record::{Attached, Detached};
use crate::{Batch, Event, Kind, Record, Status};

fn attached(label: &str) -> Attached {
    Attached {
        label: label.to_owned(),
        source: "zot".to_owned(),
        ..Attached::default()
    }
}

fn numbers(batch: Batch) -> Vec<u64> {
    match batch {
        Batch::Records { records, last_seq } => {
            assert_eq!(records.last().map(|record| record.seq), Some(last_seq));
            records.iter().map(|record| record.seq).collect()
        }
        Batch::Missed => panic!("missed"),
    }
}

#[tokio::test]
async fn watchers_get_everything_in_order_and_can_reconnect() {
    let hub = Hub::new();
    let mut watcher = hub.subscribe(0);
    let one = hub.attach(attached("one"));
    let two = hub.attach(attached("two"));
    one.event(Event::turn_start(1));
    assert_eq!(numbers(watcher.next().await), [1, 2, 3]);
    assert!(watcher.take().is_none());
    two.event(Event::turn_start(1));
    assert_eq!(numbers(watcher.next().await), [4]);
    assert_eq!(numbers(hub.subscribe(2).next().await), [3, 4]);
    let snapshot = hub.snapshot();
    assert_eq!(snapshot.seq, 4);
    let labels: Vec<_> = snapshot
        .agents
        .iter()
        .map(|agent| agent.label.as_str())
        .collect();
    assert_eq!(labels, ["one", "two"]);
}

#[tokio::test]
async fn a_waiting_watcher_wakes_only_for_new_records() {
    let hub = Hub::new();
    let agent = hub.attach(attached("one"));
    let mut watcher = hub.subscribe(1);
    assert!(
        timeout(Duration::from_millis(20), watcher.next())
            .await
            .is_err()
    );
    let (batch, _) = tokio::join!(watcher.next(), async { agent.event(Event::turn_start(1)) });
    assert_eq!(numbers(batch), [2]);
}

#[tokio::test]
async fn a_slow_watcher_misses_records_and_continues() {
    let hub = Hub::new();
    let agent = hub.attach(attached("one"));
    let mut watcher = hub.subscribe(0);
    for _ in 0..RING_RECORDS + 10 {
        agent.event(Event::piece("assistant", "x"));
    }
    assert!(matches!(watcher.next().await, Batch::Missed));
    agent.event(Event::turn_start(1));
    let last = hub.last_seq();
    assert_eq!(numbers(watcher.next().await), [last]);
}

#[tokio::test]
async fn a_position_in_the_future_counts_as_missed() {
    let hub = Hub::new();
    hub.attach(attached("one"));
    assert!(matches!(hub.subscribe(99).next().await, Batch::Missed));
}

#[tokio::test]
async fn batches_are_limited_in_size() {
    let hub = Hub::new();
    let id = hub.attach(attached("one")).id().to_owned();
    let records =
        (0..BATCH_RECORDS * 2).map(|_| Record::of_event(id.clone(), 1, Event::notice("x")));
    hub.put_all(records);
    let mut watcher = hub.subscribe(0);
    assert_eq!(numbers(watcher.next().await).len(), BATCH_RECORDS);
    assert_eq!(numbers(watcher.next().await).len(), BATCH_RECORDS);
    assert_eq!(numbers(watcher.next().await).len(), 1);
}

#[test]
fn large_texts_evict_more_records() {
    let hub = Hub::new();
    let agent = hub.attach(attached("one"));
    for _ in 0..400 {
        agent.event(Event::answer("x".repeat(MAX_RECORD_TEXT_BYTES)));
    }
    let kept = match hub.subscribe(360).take() {
        Some(Batch::Records { records, .. }) => records.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(kept, 41);
    assert!(matches!(hub.subscribe(100).take(), Some(Batch::Missed)));
}

#[test]
fn the_history_keeps_recent_records_without_deltas() {
    let hub = Hub::new();
    let agent = hub.attach(attached("one"));
    for step in 0..300 {
        agent.event(Event::turn_start(step));
        agent.event(Event::piece("assistant", "x"));
        agent.event(Event::new(Kind::ToolExecutionUpdate));
    }
    let (snapshot, history) = hub.snapshot_with_history();
    let kept = &history[agent.id()];
    assert_eq!(kept.len(), HISTORY_RECORDS);
    assert!(
        kept.iter()
            .all(|record| record.event.as_ref().unwrap().kind == Kind::TurnStart)
    );
    assert_eq!(snapshot.seq, hub.last_seq());
}

#[test]
fn agents_that_left_are_dropped_first() {
    let hub = Hub::new();
    let mut handles: Vec<_> = (0..MAX_AGENTS)
        .map(|number| hub.attach_at(attached(&number.to_string()), 10))
        .collect();
    let left = handles.swap_remove(500);
    let (left_id, kept_id) = (left.id().to_owned(), handles[0].id().to_owned());
    left.detach(Detached::default());
    hub.attach(attached("one more"));
    assert_eq!(hub.snapshot().agents.len(), MAX_AGENTS);
    assert!(hub.agent(&left_id).is_none());
    assert_eq!(hub.agent(&kept_id).unwrap().status, Status::Starting);
    hub.attach(attached("and one more"));
    assert_eq!(hub.snapshot().agents.len(), MAX_AGENTS);
}

#[test]
fn ids_are_never_assigned_twice() {
    let hub = Hub::new();
    hub.put(Record::of_event("a1", 1, Event::turn_start(1)));
    assert_eq!(hub.attach(attached("x")).id(), "a2");
    assert_eq!(hub.attach(attached("x")).id(), "a3");
}

#[test]
fn long_texts_are_cut_with_a_note() {
    let hub = Hub::new();
    let agent = hub.attach(attached("one"));
    for _ in 0..HISTORY_RECORDS {
        agent.event(Event::answer("é".repeat(MAX_RECORD_TEXT_BYTES)));
    }
    let Some(Batch::Records { records, .. }) = hub.subscribe(hub.last_seq() - 1).take() else {
        panic!("nothing");
    };
    let text = records[0].event.as_ref().unwrap().text.as_ref().unwrap();
    assert!(
        text.len() < MAX_RECORD_TEXT_BYTES + 64 && text.ends_with("… (262144 bytes more)"),
        "{}",
        text.len()
    );
    let (_, history) = hub.snapshot_with_history();
    let kept: usize = history[agent.id()]
        .iter()
        .map(|record| record.weight())
        .sum();
    assert!(
        kept <= HISTORY_BYTES && history[agent.id()].len() > 20,
        "{kept}"
    );
}
