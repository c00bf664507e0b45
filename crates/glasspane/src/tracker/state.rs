//! The state of an agent.

use serde::{Deserialize, Serialize};

use crate::{Retry, Usage};

/// What an agent is doing.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Attached, without any output yet.
    #[default]
    Starting,
    /// Between two turns, or before the first.
    Idle,
    Thinking,
    Writing,
    RunningTool,
    WaitingForApproval,
    /// A request failed; the agent waits before it retries.
    Retrying,
    /// The prompt is done, or the agent has left.
    Done,
    Failed,
    /// The work was interrupted, or the stream ended before the work did.
    Interrupted,
    /// The agent has output, but none of it is understood.
    NotUnderstood,
}

impl Status {
    /// Whether a prompt is being worked on.
    pub fn is_working(self) -> bool {
        matches!(
            self,
            Self::Thinking
                | Self::Writing
                | Self::RunningTool
                | Self::WaitingForApproval
                | Self::Retrying
        )
    }

    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Idle => "idle",
            Self::Thinking => "thinking",
            Self::Writing => "writing",
            Self::RunningTool => "running tool",
            Self::WaitingForApproval => "waiting for approval",
            Self::Retrying => "retrying",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::NotUnderstood => "not understood",
        }
    }
}

/// A host that tools of an agent contacted, or wanted to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ContactedHost {
    pub host: String,
    pub port: u64,
    /// Whether the agent's sandbox let it through.
    pub allowed: bool,
    /// In how many calls.
    pub times: u64,
}

/// The state of one agent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentState {
    pub id: String,
    pub label: String,
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The id of the agent that started this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    pub status: Status,
    /// The running tool that started last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The names of all running tools, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools_running: Vec<String>,
    /// The same tools with their arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<super::RunningTool>,
    /// What waits for a person, oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<super::PendingApproval>,
    /// The last prompt.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub prompt: String,
    /// Arguments and results of recent tool calls, for searches.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tool_text: String,
    /// When `status` began.
    pub since_ms: u64,
    pub started_ms: u64,
    /// The time of the last output.
    pub last_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<u64>,
    /// How long the agent has worked, up to `since_ms`.
    pub working_ms: u64,
    /// Prompts that are over, successfully or not, or were rejected.
    pub prompts_over: u64,
    pub turns: u64,
    pub tools: u64,
    pub tool_errors: u64,
    pub errors: u64,
    /// Lines that could not be understood.
    pub unknown: u64,
    /// The last protocol violations of the agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    pub violation_count: u64,
    /// Hosts that its tools contacted, or wanted to; the latest one last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<ContactedHost>,
    pub usage: Usage,
    /// The end of the model's last message.
    pub last_text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Present while a request waits to be retried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// Why the agent has left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detached: Option<String>,
}

impl AgentState {
    pub(super) fn new(id: String) -> Self {
        Self {
            label: id.clone(),
            id,
            ..Self::default()
        }
    }
}

/// Appends `text` and keeps the last `limit` bytes.
pub(super) fn push_tail(tail: &mut String, text: &str, limit: usize) {
    if text.len() >= limit {
        tail.clear();
        tail.push_str(&text[text.ceil_char_boundary(text.len() - limit)..]);
        return;
    }
    tail.push_str(text);
    if tail.len() > limit {
        // In large steps: a copy for every letter would be quadratic.
        let excess = tail.ceil_char_boundary(tail.len() - limit);
        tail.drain(..excess);
    }
}
