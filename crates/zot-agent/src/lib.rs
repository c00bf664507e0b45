//! The agent: a pure turn machine that decides what happens next, and a short driver that does it.
//!
//! The crate does not depend on any provider, terminal or file format. It is given a `Model`, a
//! `ToolSet`, [`Hooks`] and a [`Journal`], and reports what happens as one ordered stream of
//! `AgentEvent`s.

mod agent;
mod approval;
mod budget;
mod ceiling;
mod compaction;
mod driver;
mod hooks;
mod journal;
mod ledger;
mod left_out;
mod meter;
mod mirror;
mod model_call;
mod questions;
mod repair;
mod response;
mod settings;
mod steering;
mod step_limit;
mod tool_batch;
mod turn;

pub use agent::{Agent, AgentParts};
pub use approval::{ApprovalPolicy, ApprovalScope, Decision, NotWaiting, Remember, Verdict};
pub use budget::Budget;
pub use compaction::{COMPACT_AT_PERCENT, KEPT_TAIL_MESSAGES, SUMMARY_HEADING};
pub use hooks::{Hooks, MessageVerdict, NoHooks, ToolVerdict, TurnVerdict};
pub use journal::{Journal, JournalError, NoJournal};
pub use ledger::{CallUsage, Ledger};
pub use questions::NotAsked;
pub use repair::{Repair, repair};
pub use response::{Response, ResponseBuilder};
pub use settings::{AgentSettings, ConnectedModel, SharedSettings};
pub use steering::SteerError;
pub use step_limit::{AtStepLimit, StepLimit};
pub use turn::{
    CompactionCause, CompactionOutcome, ContextFill, Ending, ModelOutcome, NextStep, ToolsOutcome,
    Turn,
};
