//! Events of agents, in the same form for every kind of agent.

use serde::{Deserialize, Serialize};

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The agent, or its work on a prompt, begins.
    AgentStart,
    /// The work on a prompt is over, successfully or not.
    AgentEnd,
    /// A model call begins.
    TurnStart,
    /// A model call is over; `stop` is the reason.
    TurnEnd,
    /// The model begins a message.
    MessageStart,
    /// A piece of a message, or with `whole` all of one.
    MessageUpdate,
    /// A message is complete.
    MessageEnd,
    /// A tool call starts; `tool_id` identifies it.
    ToolExecutionStart,
    /// A piece of the arguments or of the output of a tool.
    ToolExecutionUpdate,
    /// A tool call has a result.
    ToolExecutionEnd,
    /// A person has to decide something.
    ApprovalRequest,
    /// The approval was given or denied, or is no longer needed.
    ApprovalEnd,
    /// A request failed and is retried; `retry` has the figures. The work continues.
    Retry,
    /// Information that changes no state.
    Notice,
    Error,
    /// Unknown to this version: `raw_type` has its name.
    #[default]
    #[serde(other)]
    Unknown,
}

/// One event. Empty fields are left out of the JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Event {
    #[serde(rename = "type")]
    pub kind: Kind,
    /// The number of the turn within a prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u64>,
    /// Why a turn ended: `end`, `tool_use`, `length`, `error`, `aborted`, or a reason of the agent's own. At the end of
    /// a prompt `error` or `aborted`, if the agent reports it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// Whose message it is: `user` or `assistant`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// A piece of text, or all of it if `whole`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Whether `text` replaces the deltas before it.
    #[serde(skip_serializing_if = "is_false")]
    pub whole: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// The error or notice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The agent's name for the event, if more precise than `type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_type: Option<String>,
    /// Whether `text` is the model's thinking, not its answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
    /// Whether `text` belongs to the arguments of a tool, not to its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Box<Retry>>,
    /// Hosts that a tool contacted, or wanted to, as far as the agent knows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network: Vec<Contact>,
}

/// A host that a tool contacted, or wanted to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Contact {
    pub host: String,
    pub port: u64,
    /// Whether the agent's sandbox let it through.
    pub allowed: bool,
}

impl Contact {
    /// Returns approximately how much memory it takes.
    pub(crate) fn weight(&self) -> usize {
        size_of::<Self>() + self.host.len()
    }

    /// For people: `example.com:443`, or `refused example.com:443`.
    pub fn words(&self) -> String {
        let refused = if self.allowed { "" } else { "refused " };
        format!("{refused}{}:{}", self.host, self.port)
    }
}

/// A request that is sent again. Figures the agent does not report are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Retry {
    /// Counts from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_attempts: Option<u64>,
    /// The HTTP status that the last attempt got.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u64>,
    /// How long the agent waits before it sends the request again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
}

impl Retry {
    /// For a narrow column: `retry 2/5 500 in 1.0s`.
    pub fn short_words(&self) -> String {
        let mut words = "retry".to_owned();
        match (self.attempt, self.max_attempts) {
            (Some(attempt), Some(most)) => words.push_str(&format!(" {attempt}/{most}")),
            (Some(attempt), None) => words.push_str(&format!(" {attempt}")),
            (None, _) => {}
        }
        if let Some(status) = self.status {
            words.push_str(&format!(" {status}"));
        }
        match self.delay_ms {
            Some(delay) if delay < 10_000 => {
                words.push_str(&format!(" in {:.1}s", delay as f64 / 1000.0));
            }
            Some(delay) => words.push_str(&format!(" in {}s", delay / 1000)),
            None => {}
        }
        words
    }

    /// For people: `retry 2 of 5 in 1.0s after status 500`.
    pub fn words(&self) -> String {
        let mut words = "retry".to_owned();
        if let Some(attempt) = self.attempt {
            words.push_str(&format!(" {attempt}"));
        }
        if let Some(most) = self.max_attempts {
            words.push_str(&format!(" of {most}"));
        }
        if let Some(delay) = self.delay_ms {
            words.push_str(&format!(" in {:.1}s", delay as f64 / 1000.0));
        }
        if let Some(status) = self.status {
            words.push_str(&format!(" after status {status}"));
        }
        words
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Event {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            ..Self::default()
        }
    }

    /// Output of the agent that this version does not understand.
    pub fn unknown(raw_type: impl Into<String>) -> Self {
        Self {
            raw_type: Some(raw_type.into()),
            ..Self::new(Kind::Unknown)
        }
    }

    pub fn error(message: impl Into<String>) -> Self {
        Self {
            message: Some(message.into()),
            ..Self::new(Kind::Error)
        }
    }

    /// A retry because of `message`.
    pub fn retry(retry: Retry, message: impl Into<String>) -> Self {
        Self {
            message: Some(message.into()),
            retry: Some(Box::new(retry)),
            ..Self::new(Kind::Retry)
        }
    }

    /// The work on the prompt was interrupted.
    pub fn aborted() -> Self {
        Self {
            stop: Some("aborted".to_owned()),
            ..Self::new(Kind::AgentEnd)
        }
    }

    pub fn notice(message: impl Into<String>) -> Self {
        Self {
            message: Some(message.into()),
            ..Self::new(Kind::Notice)
        }
    }

    /// A piece of a message of `role`.
    pub fn piece(role: &str, text: impl Into<String>) -> Self {
        Self {
            role: Some(role.to_owned()),
            text: Some(text.into()),
            ..Self::new(Kind::MessageUpdate)
        }
    }

    /// A piece of the model's thinking.
    pub fn thought(text: impl Into<String>) -> Self {
        Self {
            thinking: Some(true),
            ..Self::piece("assistant", text)
        }
    }

    /// A message of the user, whole.
    pub fn prompt(text: impl Into<String>) -> Self {
        Self {
            whole: true,
            ..Self::piece("user", text)
        }
    }

    /// The answer of the model, whole.
    pub fn answer(text: impl Into<String>) -> Self {
        Self {
            kind: Kind::MessageEnd,
            whole: true,
            ..Self::piece("assistant", text)
        }
    }

    pub fn tool_start(id: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            tool_id: Some(id.into()),
            tool_name: Some(name.into()),
            ..Self::new(Kind::ToolExecutionStart)
        }
    }

    /// The complete arguments of a call.
    pub fn tool_arguments(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            arguments: Some(true),
            whole: true,
            ..Self::tool_output(id, text)
        }
    }

    /// A piece of a tool's output.
    pub fn tool_output(id: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            tool_id: Some(id.into()),
            text: Some(text.into()),
            ..Self::new(Kind::ToolExecutionUpdate)
        }
    }

    pub fn tool_end(id: impl Into<String>, text: impl Into<String>, is_error: bool) -> Self {
        Self {
            kind: Kind::ToolExecutionEnd,
            whole: true,
            is_error: Some(is_error),
            ..Self::tool_output(id, text)
        }
    }

    pub fn turn_start(step: u64) -> Self {
        Self {
            step: Some(step),
            ..Self::new(Kind::TurnStart)
        }
    }

    pub fn turn_end(stop: impl Into<String>) -> Self {
        Self {
            stop: Some(stop.into()),
            ..Self::new(Kind::TurnEnd)
        }
    }
}
