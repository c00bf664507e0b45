//! Watches the agents of another process over its socket.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::time::sleep;
use zot_wire::{Line, LineDecoder, write_line};

use super::READ_BYTES;

use crate::{AgentState, Batch, Hub};

/// How often changes are sent to a watcher.
pub const WATCH_INTERVAL: Duration = Duration::from_millis(200);

/// How long one line to a watcher may be: the states of all agents that a hub can have.
///
/// Limit: `top --connect` ends.
pub const MAX_WATCH_LINE_BYTES: usize = 128 * 1024 * 1024;

/// How much of the arguments of a call is sent to a watcher.
///
/// Limit: `top --connect` gets only the beginning of arguments.
const MAX_TABLE_ARGUMENTS_BYTES: usize = 512;

const REQUEST: &[u8] = b"{\"glasspane\":\"watch\"}\n";

/// One line to a watcher.
#[derive(Debug, Serialize, Deserialize)]
struct WatchLine {
    /// `snapshot`: all agents; `agents`: those that have changed.
    glasspane: String,
    seq: u64,
    agents: Vec<AgentState>,
}

/// Sends states to a watcher until it leaves. A slow one misses intermediate states, never the last.
pub(super) async fn serve(hub: &Hub, mut stream: UnixStream) {
    let mut subscription = hub.subscribe(0);
    let mut line = Vec::new();
    let mut message = snapshot(hub);
    loop {
        subscription.seek(message.seq);
        line.clear();
        if write_line(&mut line, &message).is_err() || stream.write_all(&line).await.is_err() {
            return;
        }
        message = tokio::select! {
            message = changes(hub, &mut subscription) => message,
            () = has_left(&stream) => return,
        };
    }
}

fn snapshot(hub: &Hub) -> WatchLine {
    let snapshot = hub.snapshot();
    WatchLine {
        glasspane: "snapshot".to_owned(),
        seq: snapshot.seq,
        agents: snapshot.agents.into_iter().map(shortened).collect(),
    }
}

/// Shortens long arguments: a table shows and searches only their beginning.
fn shortened(mut agent: AgentState) -> AgentState {
    let running = agent.running.iter_mut().map(|tool| &mut tool.arguments);
    let pending = agent
        .approvals
        .iter_mut()
        .map(|approval| &mut approval.arguments);
    for arguments in running.chain(pending) {
        arguments.truncate(arguments.floor_char_boundary(MAX_TABLE_ARGUMENTS_BYTES));
    }
    agent
}

async fn changes(hub: &Hub, subscription: &mut crate::Subscription) -> WatchLine {
    let mut changed = BTreeSet::new();
    let mut next = subscription.next().await;
    sleep(WATCH_INTERVAL).await;
    loop {
        match next {
            Batch::Missed => return snapshot(hub),
            Batch::Records { records, .. } => {
                changed.extend(records.iter().map(|record| record.agent.clone()));
            }
        }
        match subscription.take() {
            Some(more) => next = more,
            None => break,
        }
    }
    WatchLine {
        glasspane: "agents".to_owned(),
        seq: subscription.position(),
        agents: changed
            .iter()
            .filter_map(|id| hub.agent(id))
            .map(shortened)
            .collect(),
    }
}

/// Returns when the watcher has closed its side.
async fn has_left(stream: &UnixStream) {
    let mut byte = [0; 64];
    loop {
        if stream.readable().await.is_err() {
            return;
        }
        match stream.try_read(&mut byte) {
            Ok(0) => return,
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
            _ => {}
        }
    }
}

/// Why another process cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("cannot connect to {}: {source}: start `glasspane serve`, or name its socket", path.display())]
    Connect { path: PathBuf, source: io::Error },
    #[error("{} does not send what glasspane sends: is it the socket of another program?", .0.display())]
    Foreign(PathBuf),
}

/// Watches the agents of another process.
pub struct Watcher {
    path: PathBuf,
    stream: UnixStream,
    lines: LineDecoder,
    buffer: Vec<u8>,
    agents: Vec<AgentState>,
}

impl Watcher {
    pub async fn connect(path: &Path) -> Result<Self, WatchError> {
        let failed = |source| WatchError::Connect {
            path: path.to_owned(),
            source,
        };
        let mut stream = UnixStream::connect(path).await.map_err(failed)?;
        stream.write_all(REQUEST).await.map_err(failed)?;
        Ok(Self {
            path: path.to_owned(),
            stream,
            lines: LineDecoder::with_limit(MAX_WATCH_LINE_BYTES),
            buffer: vec![0; READ_BYTES],
            agents: Vec::new(),
        })
    }

    /// The last known states of all agents.
    pub fn agents(&self) -> &[AgentState] {
        &self.agents
    }

    /// Waits for the next change; false when the other process has ended. Cancel-safe.
    pub async fn changed(&mut self) -> Result<bool, WatchError> {
        let message = loop {
            if let Some(line) = self.lines.next_line() {
                break match line {
                    Line::Complete(line) => serde_json::from_slice::<WatchLine>(line).ok(),
                    Line::TooLong => None,
                };
            }
            // A partial line is kept for the next call.
            match self.stream.read(&mut self.buffer).await {
                Ok(count) if count > 0 => self.lines.feed(&self.buffer[..count]),
                _ => return Ok(false),
            }
        };
        let message = message.ok_or_else(|| WatchError::Foreign(self.path.clone()))?;
        if message.glasspane == "snapshot" {
            self.agents = message.agents;
            return Ok(true);
        }
        for changed in message.agents {
            match self.agents.iter_mut().find(|agent| agent.id == changed.id) {
                Some(agent) => *agent = changed,
                None => self.agents.push(changed),
            }
        }
        Ok(true)
    }
}
