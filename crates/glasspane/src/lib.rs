//! Glasspane watches agents.
//!
//! A [`source`] turns the output of an agent into [`Event`]s, the same for every kind of agent; a
//! [`Tracker`] derives from them what the agent is doing; a [`Hub`] holds many agents and feeds many
//! watchers; [`attach`] connects agents to it. Nothing here knows how an agent works, and nothing
//! is sent to one except prompts of the user.

mod arguments;
pub mod attach;
mod clock;
mod event;
mod hub;
mod normalize;
pub mod program;
mod record;
pub mod serve;
pub mod source;
mod tracker;
mod usage;

pub use arguments::MAX_SUMMARY_CHARACTERS;
pub use clock::now_ms;
pub use event::{Contact, Event, Kind, Retry};
pub use hub::{
    AgentHandle, BATCH_RECORDS, Batch, HISTORY_BYTES, HISTORY_RECORDS, HISTORY_TEXT_BYTES, Hub,
    MAX_AGENTS, MAX_RECORD_TEXT_BYTES, RING_BYTES, RING_RECORDS, Snapshot, Subscription,
};
pub use normalize::normalize;
pub use record::{Attached, Detached, Record};
pub use tracker::{
    AgentState, ContactedHost, MAX_ALL_ARGUMENTS_BYTES, MAX_APPROVALS, MAX_ARGUMENTS_BYTES,
    MAX_HOSTS, MAX_MESSAGE_TAIL_BYTES, MAX_OPEN_TOOLS, MAX_STATE_FIELD_BYTES, MAX_TOOL_TEXT_BYTES,
    MAX_VIOLATIONS, PendingApproval, RunningTool, Status, Tracker,
};
pub use usage::{CostBasis, Usage};
