use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::client::{start, status};
use crate::serve::{
    MAX_JOURNAL_BYTES, MAX_PAGE_CONNECTIONS, MAX_REQUEST_HEAD_BYTES, MAX_REQUEST_HEADERS,
};
use crate::{Event, Hub};

#[tokio::test]
async fn invalid_requests_are_rejected() {
    let server = start().await;
    let token = server.token.clone();
    let good = format!("GET /?token={token} HTTP/1.1\r\nHost: localhost\r\n");
    let long = format!("{good}X: {}\r\n\r\n", "x".repeat(MAX_REQUEST_HEAD_BYTES));
    let many = format!("{good}{}\r\n", "X: y\r\n".repeat(MAX_REQUEST_HEADERS));
    for (request, expected) in [
        ("\u{16}\u{3}\u{1} hello\r\n\r\n".to_owned(), "400"),
        ("GET\r\n\r\n".to_owned(), "400"),
        ("GET / HTTP/9.9\r\n\r\n".to_owned(), "400"),
        (format!("{good}bad header\r\n\r\n"), "400"),
        (long, "431"),
        (many, "431"),
        (format!("{good}Content-Length: 5\r\n\r\nhello"), "413"),
        (
            format!("{good}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            "413",
        ),
    ] {
        let response = server.exchange(&request).await;
        assert_eq!(status(&response), expected, "{request}");
    }
    server.stop().await;
}

/// The paused clock advances while all tasks are idle.
#[tokio::test(start_paused = true)]
async fn an_incomplete_request_times_out() {
    let server = start().await;
    let mut stream = server.connect().await;
    stream.write_all(b"GET / HTTP/1.1\r\nHost:").await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert_eq!(status(&response), "408");

    let mut silent = server.connect().await;
    let mut nothing = Vec::new();
    silent.read_to_end(&mut nothing).await.unwrap();
    assert!(nothing.is_empty());
    server.stop().await;
}

#[tokio::test]
async fn connections_are_limited() {
    let server = start().await;
    let mut held = Vec::new();
    for _ in 0..MAX_PAGE_CONNECTIONS {
        held.push(server.watch(None).await);
    }
    let target = format!("/?token={}", server.token);
    assert_eq!(status(&server.get(&target).await), "503");
    held.clear();
    // The server notices gradually that they are gone.
    let room = async {
        while status(&server.get(&target).await) != "200" {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(20), room).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn idle_connections_do_not_block_others() {
    let server = start().await;
    let target = format!("/?token={}", server.token);
    let mut watcher = server.watch(None).await;
    assert_eq!(watcher.next().await.unwrap().event, "snapshot");
    let mut held = Vec::new();
    for number in 0..2 * MAX_PAGE_CONNECTIONS {
        let mut stream = server.connect().await;
        if number % 2 == 0 {
            stream.write_all(b"GET / HTTP/1.1\r\nHost:").await.unwrap();
        }
        held.push(stream);
        if number % 50 == 0 {
            assert_eq!(status(&server.get(&target).await), "200", "{number}");
        }
    }
    assert_eq!(status(&server.get(&target).await), "200");
    // A connected watcher stays connected.
    server.agent("late");
    assert!(watcher.next().await.is_some());
    server.stop().await;
}

/// Adds records with this many bytes of text.
fn flood(hub: &Hub, agent: &str, bytes: usize) {
    let text = "x".repeat(7_000);
    for _ in 0..(bytes / text.len()) {
        hub.put(crate::Record::of_event(
            agent,
            1,
            Event {
                whole: true,
                ..Event::piece("assistant", text.as_str())
            },
        ));
    }
}

#[tokio::test]
async fn a_slow_watcher_delays_nobody_and_gets_a_snapshot() {
    let server = start().await;
    let agent = server.agent("flood");
    let mut slow = server.watch(None).await;
    assert_eq!(slow.next().await.unwrap().event, "snapshot");
    let mut fast = server.watch(None).await;
    fast.next().await.unwrap();
    for _ in 0..4 {
        flood(&server.hub, agent.id(), 3 * MAX_JOURNAL_BYTES);
        // A snapshot, because more arrived than is kept, or all records: either way it is current.
        let seq = server.hub.last_seq().to_string();
        loop {
            let message = fast.next().await.unwrap();
            if message.id.split_once(':').unwrap().1 == seq {
                break;
            }
        }
    }
    agent.event(Event::turn_start(1));
    let last = server.hub.last_seq().to_string();
    let mut snapshots = 0;
    loop {
        let message = slow.next().await.unwrap();
        snapshots += usize::from(message.event == "snapshot");
        if message.id.split_once(':').unwrap().1 == last {
            break;
        }
    }
    assert!(snapshots > 0, "it cannot have received everything");
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_reads_nothing_is_disconnected() {
    let server = start().await;
    let agent = server.agent("flood");
    let mut stuck = server.watch(None).await;
    // It reads nothing, so the write blocks, the clock advances, and the server closes the connection.
    for _ in 0..8 {
        flood(&server.hub, agent.id(), MAX_JOURNAL_BYTES / 4);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    let rest = async { while stuck.next().await.is_some() {} };
    timeout(Duration::from_secs(600), rest)
        .await
        .expect("the server closes the connection");
    server.stop().await;
}
