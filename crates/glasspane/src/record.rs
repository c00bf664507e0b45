//! Records: what happened to an agent, as lines of a log.

use serde::{Deserialize, Serialize};

use crate::{Contact, Event, Status, Usage};

/// One line of the output of `glasspane tail` and of a recorded log. One of the last four fields is present.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Counts from 1 within a hub or a log.
    pub seq: u64,
    /// When it was seen, in milliseconds since 1970.
    pub at_ms: u64,
    /// The agent's id.
    pub agent: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<Event>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Box<Usage>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attached: Option<Box<Attached>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detached: Option<Box<Detached>>,
}

/// The identity of an agent. Later ones for the same agent add what has become known since.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Attached {
    /// For people.
    pub label: String,
    /// The kind of agent, as `--source` accepts it.
    pub source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The id of the agent that started this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

/// How an agent left.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Detached {
    pub reason: String,
    /// Whether it failed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// Whether it was ended on purpose, for example by a signal.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The exit code of a process we started; 128 plus the signal if a signal ended it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// The final status: `done`, `failed`, `interrupted` or `not_understood`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

impl Record {
    /// The hub assigns `seq`.
    pub fn of_event(agent: impl Into<String>, at_ms: u64, event: Event) -> Self {
        Self {
            event: Some(event),
            ..Self::empty(agent, at_ms)
        }
    }

    pub fn of_usage(agent: impl Into<String>, at_ms: u64, usage: Usage) -> Self {
        Self {
            usage: Some(Box::new(usage)),
            ..Self::empty(agent, at_ms)
        }
    }

    pub fn of_attached(agent: impl Into<String>, at_ms: u64, attached: Attached) -> Self {
        Self {
            attached: Some(Box::new(attached)),
            ..Self::empty(agent, at_ms)
        }
    }

    pub fn of_detached(agent: impl Into<String>, at_ms: u64, detached: Detached) -> Self {
        Self {
            detached: Some(Box::new(detached)),
            ..Self::empty(agent, at_ms)
        }
    }

    fn empty(agent: impl Into<String>, at_ms: u64) -> Self {
        Self {
            agent: agent.into(),
            at_ms,
            ..Self::default()
        }
    }

    /// Cuts texts longer than `limit`, with a note.
    pub(crate) fn shorten(&mut self, limit: usize) {
        let Some(event) = &mut self.event else { return };
        for text in [&mut event.text, &mut event.message].into_iter().flatten() {
            if text.len() > limit {
                let kept = text.floor_char_boundary(limit);
                let more = text.len() - kept;
                text.truncate(kept);
                text.push_str(&format!("… ({more} bytes more)"));
                text.shrink_to_fit();
            }
        }
    }

    /// Returns approximately how much memory it takes.
    pub(crate) fn weight(&self) -> usize {
        let texts = self.event.as_ref().map_or(0, |event| {
            let hosts = event.network.iter().map(Contact::weight);
            let texts = [
                &event.text,
                &event.message,
                &event.tool_id,
                &event.tool_name,
            ]
            .into_iter()
            .flatten()
            .map(String::len);
            texts.chain(hosts).sum()
        });
        size_of::<Self>() + texts
    }
}
