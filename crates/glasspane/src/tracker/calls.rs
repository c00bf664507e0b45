//! Running tools and pending approvals, with their arguments.

use serde::{Deserialize, Serialize};

use super::{MAX_STATE_FIELD_BYTES, cut};
use crate::Event;
use crate::arguments::{is_object, one_line, summary};

/// How much of the arguments of one call is kept, and of all running calls of an agent together.
///
/// Limit: arguments of a running tool are cut, with a note.
pub const MAX_ARGUMENTS_BYTES: usize = 8 * 1024;
/// Limit: arguments of the running tools of an agent are cut, with a note.
pub const MAX_ALL_ARGUMENTS_BYTES: usize = 32 * 1024;

/// How many calls that wait for a person are kept; more are counted.
///
/// Limit: further approvals of an agent are not listed; the agent still waits.
pub const MAX_APPROVALS: usize = 16;

/// Up to this length, every delta of the arguments updates the summary.
const EAGER_BYTES: usize = 512;

/// A tool that has started and not ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunningTool {
    pub id: String,
    pub name: String,
    pub since_ms: u64,
    /// One line about the call, safe to show: its main argument first.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// The beginning of the arguments as the agent reports them, usually JSON.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    /// Whether the end of `arguments` is missing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// How long `arguments` was when `summary` was made.
    #[serde(skip)]
    pub(crate) summarised: usize,
}

/// A tool call, or a question, that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PendingApproval {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<String>,
    /// The tool; empty if the agent does not report it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    pub since_ms: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub summary: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub arguments: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// What the agent reports in addition to the arguments: a question, or what would change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether it is about a tool that has started.
    #[serde(skip)]
    pub(crate) linked: bool,
}

impl RunningTool {
    pub(super) fn new(id: &str, name: &str, since_ms: u64) -> Self {
        Self {
            id: cut(id, MAX_STATE_FIELD_BYTES).to_owned(),
            name: cut(name, MAX_STATE_FIELD_BYTES).to_owned(),
            since_ms,
            ..Self::default()
        }
    }

    /// Adds a delta of the arguments, or sets all of them, and keeps at most `limit` bytes.
    pub(super) fn add_arguments(&mut self, text: Option<&str>, whole: bool, limit: usize) {
        if whole && let Some(text) = text.filter(|text| !text.is_empty()) {
            // From the whole text: the main argument may be at the end.
            self.summary = summary(text);
            self.arguments = cut(text, limit).to_owned();
            self.cut = self.arguments.len() < text.len();
            self.summarised = self.arguments.len();
            return;
        }
        let text = text.unwrap_or("");
        let kept = cut(text, limit.saturating_sub(self.arguments.len()));
        self.arguments.push_str(kept);
        self.cut |= kept.len() < text.len();
        // At every doubling, so that the cost of long arguments in small deltas is not quadratic; and at
        // the end, which is a delta without text.
        let length = self.arguments.len();
        if length != self.summarised
            && (text.is_empty() || length <= EAGER_BYTES || length >= self.summarised * 2)
        {
            self.summary = summary(&self.arguments);
            self.summarised = length;
        }
    }
}

impl PendingApproval {
    /// Describes what `event` requests, if needed with the arguments of its tool.
    pub(super) fn new(event: &Event, tool: Option<&RunningTool>, since_ms: u64) -> Self {
        let text = event.text.as_deref().filter(|text| !text.is_empty());
        let given = text.filter(|text| is_object(text));
        let question = text
            .filter(|_| given.is_none())
            .or(event.message.as_deref());
        let arguments = given
            .or(tool.map(|tool| tool.arguments.as_str()))
            .unwrap_or("");
        let kept = cut(arguments, MAX_ARGUMENTS_BYTES);
        let about = question.map(one_line).unwrap_or_default();
        let line = match (given, tool) {
            (Some(given), _) => summary(given),
            (None, Some(tool)) => summary(&tool.arguments),
            (None, None) => String::new(),
        };
        let name = event.tool_name.as_deref();
        let name = name.or(tool.map(|tool| tool.name.as_str())).unwrap_or("");
        Self {
            tool_id: event
                .tool_id
                .as_deref()
                .map(|id| cut(id, MAX_STATE_FIELD_BYTES).to_owned()),
            name: cut(name, MAX_STATE_FIELD_BYTES).to_owned(),
            since_ms,
            // A preview that repeats the main argument adds nothing.
            message: question
                .filter(|_| !about.is_empty() && !line.starts_with(&about))
                .map(|question| cut(question, MAX_ARGUMENTS_BYTES).to_owned()),
            summary: if line.is_empty() { about } else { line },
            cut: kept.len() < arguments.len(),
            arguments: kept.to_owned(),
            linked: tool.is_some(),
        }
    }
}
