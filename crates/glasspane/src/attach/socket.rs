//! Agents and watchers that connect over a socket.
//!
//! A connection carries the lines or frames of one agent, or records, which name their agents. The first
//! line of an agent may identify it:
//! `{"glasspane":"attach","label":"tests","source":"zot"}`. With `{"glasspane":"watch"}` it is a
//! watcher instead, which receives the states of all agents.

use std::time::Duration;

use serde::Deserialize;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use zot_http_server::{IdleConnections, IdleGuard};

use super::{Feed, Listener, READ_BYTES, watch};
use crate::Hub;
use crate::record::{Attached, Detached};
use crate::source::parse_source;

/// How many agents and watchers may be connected; more wait to be accepted.
///
/// Limit: further agents wait.
pub const MAX_AGENT_CONNECTIONS: usize = 4_096;

/// How many of them may have sent no complete line yet; then the oldest of these is closed. Each takes a
/// descriptor, and a process has 1,024 by default.
///
/// Limit: the oldest connection without a line is closed.
const MAX_SILENT_CONNECTIONS: usize = 256;

/// How long the first line, which identifies the client, may be.
///
/// Limit: a longer first line does not name the agent.
pub const MAX_HELLO_BYTES: usize = 64 * 1024;

/// How long to wait when no connection can be accepted, for example for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, Deserialize)]
struct Hello {
    glasspane: String,
    label: Option<String>,
    source: Option<String>,
    cwd: Option<String>,
    model: Option<String>,
}

/// Serves `listener` until cancelled.
pub async fn accept_agents(hub: Hub, listener: Listener, cancel: CancellationToken) {
    let mut connections = JoinSet::new();
    let idle_connections = IdleConnections::default();
    let mut number: u64 = 0;
    loop {
        tokio::select! {
            () = cancel.cancelled() => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < MAX_AGENT_CONNECTIONS => match accepted {
                Ok(stream) => {
                    number += 1;
                    if idle_connections.len() >= MAX_SILENT_CONNECTIONS {
                        idle_connections.close_oldest();
                    }
                    connections.spawn(serve(hub.clone(), stream, idle_connections.insert(), number));
                }
                Err(_) => sleep(ACCEPT_PAUSE).await,
            }
        }
    }
    connections.shutdown().await;
}

async fn serve(hub: Hub, mut stream: UnixStream, idle: IdleGuard, number: u64) {
    let mut buffer = vec![0; READ_BYTES];
    let first = tokio::select! {
        first = first_line(&mut stream, &mut buffer) => first,
        () = idle.closed() => return,
    };
    let Some((first, rest)) = first else {
        return;
    };
    drop(idle);
    let hello = serde_json::from_slice::<Hello>(&first).ok();
    if hello
        .as_ref()
        .is_some_and(|hello| hello.glasspane == "watch")
    {
        watch::serve(&hub, stream).await;
        return;
    }
    let mut feed = agent(&hub, hello.as_ref(), &stream, number);
    if hello.is_none() {
        feed.feed(&first);
    }
    if !feed.is_log() {
        feed.attach();
    }
    feed.feed(&rest);
    let detached = loop {
        match stream.read(&mut buffer).await {
            Ok(0) => {
                break Detached {
                    reason: "disconnected".to_owned(),
                    ..Detached::default()
                };
            }
            Ok(count) => {
                feed.feed(&buffer[..count]);
                tokio::task::yield_now().await;
            }
            Err(error) => {
                break Detached {
                    reason: format!("the connection broke: {error}"),
                    failed: true,
                    ..Detached::default()
                };
            }
        }
    };
    feed.finish_live(detached);
}

/// Returns the first line with its line feed, and the bytes after it; without a line, everything is in the
/// first.
async fn first_line(stream: &mut UnixStream, buffer: &mut [u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let mut first = Vec::new();
    loop {
        let count = stream.read(buffer).await.ok()?;
        if count == 0 {
            return (!first.is_empty()).then(|| (first, Vec::new()));
        }
        let searched = first.len();
        first.extend_from_slice(&buffer[..count]);
        // Frames begin with a zero byte, and have no identifying line.
        if first.first() == Some(&0) || first.len() > MAX_HELLO_BYTES {
            return Some((first, Vec::new()));
        }
        if let Some(end) = first[searched..].iter().position(|byte| *byte == b'\n') {
            let rest = first.split_off(searched + end + 1);
            return Some((first, rest));
        }
    }
}

fn agent(hub: &Hub, hello: Option<&Hello>, stream: &UnixStream, number: u64) -> Feed {
    let process = stream.peer_cred().ok().and_then(|peer| peer.pid());
    let unnamed = process.map_or_else(|| format!("socket {number}"), |id| format!("process {id}"));
    let given = |field: fn(&Hello) -> &Option<String>| hello.and_then(|hello| field(hello).clone());
    let attached = Attached {
        label: given(|hello| &hello.label).unwrap_or(unnamed),
        cwd: given(|hello| &hello.cwd),
        model: given(|hello| &hello.model),
        ..Attached::default()
    };
    // An unknown kind is detected, as if none had been given.
    let kind = given(|hello| &hello.source).and_then(|name| parse_source(&name).ok().flatten());
    Feed::new(hub, attached, kind)
}
