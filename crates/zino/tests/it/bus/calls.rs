//! Calls over the bus that succeed, and what they cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_core::Stream as _;
use testkit::nats::{Nats, NatsOptions};
use tokio::task::JoinSet;
use zino::peer::{Call, Peer};
use zot_wire::zino::executor::{Request, Response};

use super::worker::{Serving, connect, execute, peer, until, validate};

/// Counts the messages on the bus that are not about presence.
struct Traffic {
    client: async_nats::Client,
    count: Arc<AtomicUsize>,
    marks: Arc<AtomicUsize>,
    _task: JoinSet<()>,
}

/// The subject of messages that are not counted, but show what has been.
const MARK: &str = "mark";

impl Traffic {
    async fn watch(nats: &Nats) -> Self {
        let client = async_nats::connect(nats.url()).await.unwrap();
        let mut messages = client.subscribe(">").await.unwrap();
        client.flush().await.unwrap();
        let count = Arc::new(AtomicUsize::new(0));
        let marks = Arc::new(AtomicUsize::new(0));
        let (counter, marker) = (Arc::clone(&count), Arc::clone(&marks));
        let mut task = JoinSet::new();
        task.spawn(async move {
            loop {
                let message = std::future::poll_fn(|context| {
                    std::pin::Pin::new(&mut messages).poll_next(context)
                });
                let Some(message) = message.await else { return };
                if message.subject.as_str() == MARK {
                    marker.fetch_add(1, Ordering::SeqCst);
                } else if !message.subject.contains(".hb.") {
                    counter.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        Self {
            client,
            count,
            marks,
            _task: task,
        }
    }

    fn so_far(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }
}

/// Reads a response whose frames are numbered, and returns how many there were.
async fn read_all(call: &mut Call<Response>) -> i64 {
    let mut count = 0;
    while let Some(response) = call.next().await.unwrap() {
        let Response::Result(result) = response else {
            panic!("{response:?}");
        };
        assert_eq!(result.exit_code, count);
        count += 1;
    }
    count
}

async fn count_frames(peer: &Peer<Request>, request: Request) -> i64 {
    let mut call = peer.call(request).await.unwrap();
    read_all(&mut call).await
}

#[tokio::test]
async fn a_short_call_is_one_message_each_way() {
    let nats = Nats::start();
    let serving = Serving::begin(&nats).await;
    let client = connect(&nats, "agr").await;
    let peer = peer(&client);
    let traffic = Traffic::watch(&nats).await;
    until(async || {
        peer.ask(validate("length")).await.unwrap();
        traffic.so_far() > 0
    })
    .await;
    let before = settle(&traffic, 0).await;
    for _ in 0..10 {
        peer.ask(validate("length")).await.unwrap();
    }
    assert_eq!(settle(&traffic, before + 20).await - before, 20);
    peer.ask(execute("length")).await.unwrap();
    let after = settle(&traffic, before + 24).await;
    assert_eq!(after - before, 24, "accept and credit");
    serving.end().await;
}

/// What was counted, at least `expected`, once nothing has come for a while.
async fn settle(traffic: &Traffic, expected: usize) -> usize {
    until(async || traffic.so_far() >= expected).await;
    let mut last = traffic.so_far();
    loop {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        // What the server had before this mark also arrives before it.
        let marks = traffic.marks.load(Ordering::SeqCst);
        traffic.client.publish(MARK, "".into()).await.unwrap();
        until(async || traffic.marks.load(Ordering::SeqCst) > marks).await;
        let now = traffic.so_far();
        if now == last {
            return now;
        }
        last = now;
    }
}

#[tokio::test]
async fn queued_frames_travel_together() {
    let nats = Nats::start();
    let serving = Serving::begin(&nats).await;
    let client = connect(&nats, "agr").await;
    let traffic = Traffic::watch(&nats).await;
    let count = count_frames(&peer(&client), validate("frames 20000 10")).await;
    assert_eq!(count, 20_000);
    let messages = settle(&traffic, 0).await;
    assert!(messages < 2000, "{messages} messages");
    serving.end().await;
}

#[tokio::test]
async fn many_calls_run_at_the_same_time() {
    let nats = Nats::start();
    let serving = Serving::begin(&nats).await;
    let client = connect(&nats, "agr").await;
    let peer = peer(&client);
    let mut calls = JoinSet::new();
    for number in 0..50 {
        let peer = peer.clone();
        calls.spawn(async move {
            let request = match number % 2 {
                0 => validate("frames 300 100"),
                _ => execute("frames 300 100"),
            };
            assert_eq!(count_frames(&peer, request).await, 300);
        });
    }
    while let Some(call) = calls.join_next().await {
        call.unwrap();
    }
    assert_eq!(serving.begun(), 50);
    serving.end().await;
}

#[tokio::test]
async fn frames_longer_than_the_server_allows_travel_in_parts() {
    let nats = Nats::with(NatsOptions {
        max_payload: Some(40_000),
        ..NatsOptions::default()
    });
    let serving = Serving::begin(&nats).await;
    let client = connect(&nats, "agr").await;
    let peer = peer(&client);
    for request in [validate("frames 3 1500000"), execute("frames 3 1500000")] {
        assert_eq!(count_frames(&peer, request).await, 3);
    }
    let long = format!("length {}", "y".repeat(3_000_000));
    for request in [validate(&long), execute(&long)] {
        let Response::Result(result) = peer.ask(request).await.unwrap() else {
            panic!("expected a result");
        };
        assert_eq!(result.exit_code, 3_000_007);
    }
    serving.end().await;
}

#[tokio::test]
async fn a_slow_reader_holds_up_nobody_and_is_not_given_up() {
    let nats = Nats::start();
    let serving = Serving::begin(&nats).await;
    let client = connect(&nats, "agr").await;
    let peer = peer(&client);
    let mut slow = peer.call(execute("frames 1000 1000")).await.unwrap();
    // Longer than silence may last, with nothing read.
    tokio::time::sleep(std::time::Duration::from_secs(7)).await;
    assert_eq!(count_frames(&peer, validate("frames 100 10")).await, 100);
    assert_eq!(read_all(&mut slow).await, 1000);
    serving.end().await;
}

#[tokio::test]
async fn a_request_that_is_too_long_is_answered_as_on_a_socket() {
    let nats = Nats::with(NatsOptions {
        max_payload: Some(40_000),
        ..NatsOptions::default()
    });
    let serving = Serving::with_longest_frame(&nats, 10_000).await;
    let client = connect(&nats, "agr").await;
    let peer = peer(&client);
    for length in [20_000, 200_000] {
        let code = "y".repeat(length);
        for request in [validate(&code), execute(&code)] {
            let Response::Error(failure) = peer.ask(request).await.unwrap() else {
                panic!("expected an error");
            };
            let message = failure.message.unwrap();
            assert!(message.contains("10000"), "{message}");
        }
    }
    assert_eq!(serving.begun(), 0);
    serving.end().await;
}
