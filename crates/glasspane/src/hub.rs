//! The hub: agents report to it, watchers read from it.

mod history;
mod ring;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use crate::record::{Attached, Detached};
use crate::{AgentState, Event, Kind, Record, Tracker, Usage, now_ms};
use history::History;
use ring::Ring;
pub use ring::{RING_BYTES, RING_RECORDS};

/// How many agents are kept; beyond that, agents that have left are dropped, then those silent longest.
///
/// Limit: an agent that has left is forgotten, otherwise the one that was silent longest.
pub const MAX_AGENTS: usize = 10_000;

/// How many records of an agent, except deltas, are kept for later watchers.
///
/// Limit: the oldest record of the agent is forgotten.
pub const HISTORY_RECORDS: usize = 200;

/// How much of a text the history keeps, and how much memory the history of one agent takes.
///
/// Limit: a text in an agent's history is cut.
pub const HISTORY_TEXT_BYTES: usize = 2 * 1024;
/// Limit: the oldest record of the agent is forgotten.
pub const HISTORY_BYTES: usize = 128 * 1024;

/// How long a text of a record may be; the rest is cut.
///
/// Limit: a text in the hub is cut, with a note.
pub const MAX_RECORD_TEXT_BYTES: usize = 256 * 1024;

/// How many records one batch has at most.
///
/// Limit: the rest comes in the next batch.
pub const BATCH_RECORDS: usize = 4_096;

/// Collects the records of agents for watchers. Clones share the same hub.
#[derive(Debug, Clone)]
pub struct Hub {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// The last number assigned, for waiting subscribers.
    last: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    agents: HashMap<String, Agent>,
    /// How many agents have arrived.
    arrivals: u64,
    /// How many ids were assigned.
    ids: u64,
    ring: Ring,
}

#[derive(Debug)]
struct Agent {
    arrival: u64,
    tracker: Tracker,
    history: History,
}

/// All agents at one moment, in order of arrival.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The last record that is part of it.
    pub seq: u64,
    pub agents: Vec<AgentState>,
}

/// What a watcher gets next.
#[derive(Debug, Clone)]
pub enum Batch {
    /// One or more, in order.
    Records {
        records: Vec<Arc<Record>>,
        last_seq: u64,
    },
    /// Some records were forgotten before they were read: take a new snapshot. The subscription continues
    /// after the last record at this moment.
    Missed,
}

/// Reports for one agent.
#[derive(Debug)]
pub struct AgentHandle {
    hub: Hub,
    id: String,
}

/// The position of one watcher in the sequence of records.
#[derive(Debug)]
pub struct Subscription {
    hub: Hub,
    after: u64,
    last: watch::Receiver<u64>,
}

impl Default for Hub {
    fn default() -> Self {
        Self::new()
    }
}

impl Hub {
    pub fn new() -> Self {
        Self {
            shared: Arc::new(Shared {
                state: Mutex::new(State::default()),
                last: watch::Sender::new(0),
            }),
        }
    }

    /// Adds an agent under a new id.
    pub fn attach(&self, attached: Attached) -> AgentHandle {
        self.attach_at(attached, now_ms())
    }

    /// Adds an agent at another time, for logs.
    pub fn attach_at(&self, attached: Attached, at_ms: u64) -> AgentHandle {
        let id = {
            let mut state = self.state();
            // Reserved here, so that it cannot be assigned again before the record is added.
            state.new_id()
        };
        self.put(Record::of_attached(id.clone(), at_ms, attached));
        AgentHandle {
            hub: self.clone(),
            id,
        }
    }

    /// Adds a record, gives it the next number, and returns that.
    pub fn put(&self, record: Record) -> u64 {
        self.put_all([record])
    }

    /// Adds several at once, which wakes watchers once. Returns the last number.
    pub fn put_all(&self, records: impl IntoIterator<Item = Record>) -> u64 {
        let mut state = self.state();
        let before = state.ring.last_seq();
        for record in records {
            state.put(record);
        }
        let seq = state.ring.last_seq();
        drop(state);
        if seq > before {
            self.shared.last.send_if_modified(|last| {
                let newer = *last < seq;
                *last = (*last).max(seq);
                newer
            });
        }
        seq
    }

    pub fn snapshot(&self) -> Snapshot {
        self.state().snapshot()
    }

    /// Returns a snapshot, and the recent records of each agent except deltas.
    pub fn snapshot_with_history(&self) -> (Snapshot, BTreeMap<String, Vec<Arc<Record>>>) {
        let state = self.state();
        let history = state
            .agents
            .iter()
            .map(|(id, agent)| (id.clone(), agent.history.records.iter().cloned().collect()))
            .collect();
        (state.snapshot(), history)
    }

    /// The state of one agent.
    pub fn agent(&self, id: &str) -> Option<AgentState> {
        let state = self.state();
        state
            .agents
            .get(id)
            .map(|agent| agent.tracker.state().clone())
    }

    /// The last number assigned.
    pub fn last_seq(&self) -> u64 {
        self.state().ring.last_seq()
    }

    /// Subscribes to the records after `after`, beginning with those still kept.
    pub fn subscribe(&self, after: u64) -> Subscription {
        Subscription {
            hub: self.clone(),
            after,
            last: self.shared.last.subscribe(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic leaves no partial state that readers could see.
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns an id that no agent has.
    fn new_id(&mut self) -> String {
        loop {
            self.ids += 1;
            let id = format!("a{}", self.ids);
            if !self.agents.contains_key(&id) {
                return id;
            }
        }
    }

    fn put(&mut self, mut record: Record) {
        record.shorten(MAX_RECORD_TEXT_BYTES);
        if !self.agents.contains_key(&record.agent) {
            self.make_room();
            self.arrivals += 1;
            let agent = Agent {
                arrival: self.arrivals,
                tracker: Tracker::new(record.agent.clone()),
                history: History::default(),
            };
            self.agents.insert(record.agent.clone(), agent);
        }
        let Some(agent) = self.agents.get_mut(&record.agent) else {
            return;
        };
        agent.tracker.apply(&record);
        if let Some(detached) = &mut record.detached {
            detached.status = Some(agent.tracker.state().status);
        }
        let record = self.ring.push(record);
        if belongs_to_history(&record) {
            agent.history.push(record);
        }
    }

    fn make_room(&mut self) {
        if self.agents.len() < MAX_AGENTS {
            return;
        }
        let least = self
            .agents
            .values()
            .map(|agent| agent.tracker.state())
            .min_by_key(|state| (state.detached.is_none(), state.last_ms))
            .map(|state| state.id.clone());
        if let Some(id) = least {
            self.agents.remove(&id);
        }
    }

    fn snapshot(&self) -> Snapshot {
        let mut agents: Vec<_> = self.agents.values().collect();
        agents.sort_unstable_by_key(|agent| agent.arrival);
        Snapshot {
            seq: self.ring.last_seq(),
            agents: agents
                .into_iter()
                .map(|agent| agent.tracker.state().clone())
                .collect(),
        }
    }
}

/// Leaves out deltas, which are many and followed by the whole message.
fn belongs_to_history(record: &Record) -> bool {
    record.event.as_ref().is_none_or(|event| match event.kind {
        Kind::MessageUpdate => event.whole,
        // The arguments of tool calls can be searched later.
        Kind::ToolExecutionUpdate => event.whole && event.arguments == Some(true),
        _ => true,
    })
}

impl AgentHandle {
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn event(&self, event: Event) -> u64 {
        self.hub
            .put(Record::of_event(self.id.clone(), now_ms(), event))
    }

    pub fn usage(&self, usage: Usage) -> u64 {
        self.hub
            .put(Record::of_usage(self.id.clone(), now_ms(), usage))
    }

    /// Adds to the identity of the agent.
    pub fn identify(&self, attached: Attached) -> u64 {
        self.hub
            .put(Record::of_attached(self.id.clone(), now_ms(), attached))
    }

    /// Reports that the agent has left.
    pub fn detach(self, detached: Detached) -> u64 {
        self.hub
            .put(Record::of_detached(self.id, now_ms(), detached))
    }
}

impl Subscription {
    /// Waits for the next records. Cancel-safe.
    pub async fn next(&mut self) -> Batch {
        loop {
            self.last.borrow_and_update();
            if let Some(batch) = self.take() {
                return batch;
            }
            // An error would mean that the hub is gone, but `self` keeps it alive.
            let _ = self.last.changed().await;
        }
    }

    /// Returns the records that are available now.
    pub fn take(&mut self) -> Option<Batch> {
        let state = self.hub.state();
        let last_seq = state.ring.last_seq();
        if self.after > last_seq || state.ring.has_forgotten(self.after) {
            self.after = last_seq;
            return Some(Batch::Missed);
        }
        if self.after == last_seq {
            return None;
        }
        let records = state.ring.after(self.after, BATCH_RECORDS);
        drop(state);
        self.after = records.last().map_or(last_seq, |record| record.seq);
        Some(Batch::Records {
            records,
            last_seq: self.after,
        })
    }

    /// The last record that was read.
    pub fn position(&self) -> u64 {
        self.after
    }

    /// Continues after `seq`, for example that of a new snapshot.
    pub fn seek(&mut self, seq: u64) {
        self.after = seq;
    }
}
