//! Encodes the hub's records as frames, once for all watchers.
//!
//! Nothing is queued for a watcher. Each has a position among the recent frames; one that falls behind
//! gets a snapshot, so a slow watcher costs no memory.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::watch;
use zot_http_server::Bytes;

use crate::{
    AgentState, Batch, Event, Hub, Kind, MAX_ARGUMENTS_BYTES, Record, Subscription, now_ms,
};

/// How many frames are kept for watchers that reconnect, and how many bytes.
///
/// Limit: a watcher that is further behind gets a snapshot.
pub const MAX_JOURNAL_FRAMES: usize = 512;
/// Limit: a watcher that is further behind gets a snapshot.
pub const MAX_JOURNAL_BYTES: usize = 8 * 1024 * 1024;

/// How much text one frame has at most.
const MAX_FRAME_TEXT_BYTES: usize = 512 * 1024;

/// How much of a message is sent, from its end; the page shows no more.
///
/// Limit: only the end of a message is sent.
pub const MAX_SENT_MESSAGE_BYTES: usize = 8 * 1024;

/// How much of other texts, and of all texts in a history, is sent, from their beginning. The page shows
/// less of them, but searches all of it.
///
/// Limit: only the beginning of other texts is sent.
pub const MAX_EXCERPT_BYTES: usize = 1024;

/// How many records a snapshot has, for all agents together.
///
/// Limit: only the last records of the histories are sent.
pub const MAX_SENT_HISTORY_RECORDS: usize = 20_000;

/// One piece of the feed.
#[derive(Debug)]
pub(super) struct Frame {
    /// The positions before and after it.
    after: u64,
    pub(super) last: u64,
    /// Shared by all watchers.
    pub(super) text: Bytes,
}

/// What a watcher receives next.
#[derive(Debug)]
pub(super) enum Next {
    Frame(Arc<Frame>),
    Nothing,
    /// Its position is not among the frames.
    Lost,
}

/// The recent frames.
#[derive(Debug)]
pub(super) struct Journal {
    hub: Hub,
    /// Different after every start: positions of an earlier run are invalid.
    epoch: String,
    state: Mutex<State>,
    last: watch::Sender<u64>,
}

#[derive(Debug)]
struct State {
    subscription: Subscription,
    frames: VecDeque<Arc<Frame>>,
    bytes: usize,
}

#[derive(Serialize)]
struct BatchData<'a> {
    records: &'a [Cow<'a, Record>],
    agents: &'a [AgentState],
}

#[derive(Serialize)]
struct SnapshotData<'a> {
    seq: u64,
    now_ms: u64,
    agents: &'a [AgentState],
    history: &'a BTreeMap<String, Vec<Cow<'a, Record>>>,
}

impl Journal {
    pub(super) fn new(hub: Hub, epoch: String) -> Self {
        let after = hub.last_seq();
        let state = State {
            subscription: hub.subscribe(after),
            frames: VecDeque::new(),
            bytes: 0,
        };
        Self {
            hub,
            epoch,
            state: Mutex::new(state),
            last: watch::Sender::new(after),
        }
    }

    /// Returns a receiver that changes when there are new frames.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    pub(super) fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Whether there are watchers. Without any, no frames are created.
    pub(super) fn is_watched(&self) -> bool {
        self.last.receiver_count() > 0
    }

    /// Encodes the records that the hub has received since.
    pub(super) fn flush(&self) {
        let mut state = self.state();
        self.flush_into(&mut state);
    }

    /// Parses the position in an event id of this run.
    pub(super) fn position(&self, id: &str) -> Option<u64> {
        let (epoch, seq) = id.split_once(':').or_else(|| id.split_once("%3A"))?;
        (epoch == self.epoch).then(|| seq.parse().ok()).flatten()
    }

    /// Returns what follows the position `after`.
    pub(super) fn next(&self, after: u64) -> Next {
        let state = self.state();
        if after == state.subscription.position() {
            return Next::Nothing;
        }
        let index = state.frames.partition_point(|frame| frame.after < after);
        match state.frames.get(index) {
            Some(frame) if frame.after == after => Next::Frame(Arc::clone(frame)),
            _ => Next::Lost,
        }
    }

    /// Returns a snapshot of everything, and the position at which the frames continue.
    pub(super) fn snapshot(&self) -> Frame {
        let mut state = self.state();
        let (snapshot, history) = loop {
            self.flush_into(&mut state);
            let taken = self.hub.snapshot_with_history();
            // Records may be added in between; frames must continue exactly after the snapshot.
            if taken.0.seq == state.subscription.position() {
                break taken;
            }
        };
        drop(state);
        let each = MAX_SENT_HISTORY_RECORDS / history.len().max(1);
        let history = history
            .iter()
            .map(|(id, records)| {
                let recent = &records[records.len().saturating_sub(each)..];
                let cut = recent.iter().map(|record| excerpt(record)).collect();
                (id.clone(), cut)
            })
            .collect();
        let data = SnapshotData {
            seq: snapshot.seq,
            now_ms: now_ms(),
            agents: &snapshot.agents,
            history: &history,
        };
        self.frame("snapshot", &data, snapshot.seq, snapshot.seq)
    }

    fn flush_into(&self, state: &mut State) {
        let mut after = state.subscription.position();
        while let Some(batch) = state.subscription.take() {
            match batch {
                Batch::Records { records, .. } => {
                    let mut rest = records.as_slice();
                    while !rest.is_empty() {
                        let (part, behind) = rest.split_at(frame_length(rest));
                        let last = part.last().map_or(after, |record| record.seq);
                        let merged = merge(part);
                        let agents = self.changed(&merged);
                        let data = BatchData {
                            records: &merged,
                            agents: &agents,
                        };
                        state.push(self.frame("batch", &data, after, last));
                        after = last;
                        rest = behind;
                    }
                }
                Batch::Missed => {
                    state.frames.clear();
                    state.bytes = 0;
                }
            }
            after = state.subscription.position();
        }
        self.last.send_if_modified(|last| {
            let changed = *last != after;
            *last = after;
            changed
        });
    }

    /// Returns the agents that `records` are about, without the texts that the records contain.
    fn changed(&self, records: &[Cow<'_, Record>]) -> Vec<AgentState> {
        let mut ids: Vec<&str> = records.iter().map(|record| &*record.agent).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter()
            .filter_map(|id| self.hub.agent(id))
            .map(|mut agent| {
                agent.last_text = String::new();
                agent.prompt = String::new();
                agent.tool_text = String::new();
                for tool in &mut agent.running {
                    tool.arguments = String::new();
                }
                agent
            })
            .collect()
    }

    fn frame(&self, event: &str, data: &impl Serialize, after: u64, last: u64) -> Frame {
        // Our own types always have a JSON form.
        let data = serde_json::to_string(data).unwrap_or_else(|_| "{}".to_owned());
        let epoch = &self.epoch;
        Frame {
            after,
            last,
            text: format!("event: {event}\nid: {epoch}:{last}\ndata: {data}\n\n").into(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Frames are added as a whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn push(&mut self, frame: Frame) {
        self.bytes += frame.text.len();
        self.frames.push_back(Arc::new(frame));
        while self.frames.len() > MAX_JOURNAL_FRAMES
            || (self.bytes > MAX_JOURNAL_BYTES && self.frames.len() > 1)
        {
            if let Some(oldest) = self.frames.pop_front() {
                self.bytes -= oldest.text.len();
            }
        }
    }
}

/// Returns how many of the records fit into a frame.
fn frame_length(records: &[Arc<Record>]) -> usize {
    let mut bytes = 0;
    let fitting = records.iter().take_while(|record| {
        let event = record.event.as_ref();
        let text = event.and_then(|event| event.text.as_ref());
        bytes += text.map_or(0, |text| text.len().min(MAX_SENT_MESSAGE_BYTES));
        bytes <= MAX_FRAME_TEXT_BYTES
    });
    fitting.count().max(1)
}

/// Prepares records for sending: consecutive deltas of the same text of an agent become one.
pub(super) fn merge(records: &[Arc<Record>]) -> Vec<Cow<'_, Record>> {
    let mut merged: Vec<Cow<'_, Record>> = Vec::with_capacity(records.len());
    let mut latest: HashMap<&str, usize> = HashMap::new();
    for record in records {
        let before = latest
            .get(&*record.agent)
            .and_then(|index| merged.get_mut(*index));
        if let (Some(before), Some(piece)) = (before, &record.event)
            && before
                .event
                .as_ref()
                .is_some_and(|event| continues(event, piece))
        {
            let before = before.to_mut();
            before.seq = record.seq;
            before.at_ms = record.at_ms;
            if let Some(Event {
                text: Some(text), ..
            }) = &mut before.event
            {
                text.push_str(piece.text.as_deref().unwrap_or_default());
                match piece.arguments {
                    Some(true) => text.truncate(text.floor_char_boundary(MAX_ARGUMENTS_BYTES)),
                    _ => keep_end(text, MAX_SENT_MESSAGE_BYTES),
                }
            }
            continue;
        }
        latest.insert(&record.agent, merged.len());
        merged.push(trimmed(record));
    }
    merged
}

/// Whether `next` only adds text to `event`.
fn continues(event: &Event, next: &Event) -> bool {
    event.kind == next.kind
        && matches!(event.kind, Kind::MessageUpdate | Kind::ToolExecutionUpdate)
        && !next.whole
        && event.role == next.role
        && event.thinking == next.thinking
        && event.arguments == next.arguments
        && event.tool_id == next.tool_id
        // The output of tools is not sent, so there is nothing to add it to; arguments are sent.
        && (event.arguments != Some(true) || event.text.is_some() || next.text.is_none())
}

/// Cuts a record to what the page needs: the end of messages, the beginning of a tool's arguments and of
/// its result, and none of its output.
fn trimmed(record: &Record) -> Cow<'_, Record> {
    let Some(event) = &record.event else {
        return Cow::Borrowed(record);
    };
    let length = event.text.as_ref().map_or(0, String::len);
    match event.kind {
        Kind::ToolExecutionUpdate if event.arguments == Some(true) => {
            beginning(record, MAX_ARGUMENTS_BYTES)
        }
        Kind::ToolExecutionUpdate if length > 0 => with_text(record, None),
        Kind::MessageUpdate | Kind::MessageStart | Kind::MessageEnd => {
            if length <= MAX_SENT_MESSAGE_BYTES {
                return Cow::Borrowed(record);
            }
            let mut text = event.text.clone().unwrap_or_default();
            keep_end(&mut text, MAX_SENT_MESSAGE_BYTES);
            with_text(record, Some(text))
        }
        _ => excerpt(record),
    }
}

/// Cuts a record for an agent's history: the beginning of its text.
fn excerpt(record: &Record) -> Cow<'_, Record> {
    beginning(record, MAX_EXCERPT_BYTES)
}

fn beginning(record: &Record, limit: usize) -> Cow<'_, Record> {
    match record.event.as_ref().and_then(|event| event.text.as_ref()) {
        Some(text) if text.len() > limit => {
            let end = text.floor_char_boundary(limit);
            with_text(record, Some(text[..end].to_owned()))
        }
        _ => Cow::Borrowed(record),
    }
}

fn with_text(record: &Record, text: Option<String>) -> Cow<'_, Record> {
    let mut record = record.clone();
    if let Some(event) = &mut record.event {
        event.text = text;
    }
    Cow::Owned(record)
}

fn keep_end(text: &mut String, limit: usize) {
    if text.len() > limit {
        let start = text.ceil_char_boundary(text.len() - limit);
        text.drain(..start);
    }
}
