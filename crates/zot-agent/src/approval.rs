//! Tool calls that wait for someone's permission.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use zot_conversation::{Arguments, ToolCallId};

/// How long a person may take to decide, unless `--confirm-timeout` is given.
///
/// Limit: a call that nobody approved is refused.
const APPROVAL_TIMEOUT: Duration = Duration::from_secs(300);

/// Which calls need permission, and how long the agent waits for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalPolicy {
    pub scope: ApprovalScope,
    /// A call without a decision within this time is refused.
    pub timeout: Duration,
}

impl Default for ApprovalPolicy {
    fn default() -> Self {
        Self {
            scope: ApprovalScope::Nothing,
            timeout: APPROVAL_TIMEOUT,
        }
    }
}

impl ApprovalPolicy {
    pub(crate) fn covers(&self, tool: &str) -> bool {
        match &self.scope {
            ApprovalScope::Nothing => false,
            ApprovalScope::AllTools => true,
            ApprovalScope::Tools(names) => names.iter().any(|name| match name.strip_suffix('*') {
                Some(beginning) => tool.starts_with(beginning),
                None => name == tool,
            }),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalScope {
    Nothing,
    AllTools,
    /// By name; `NAME*` stands for all whose names begin so, as in `server__*`.
    Tools(Vec<String>),
}

/// Someone's decision on a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    pub verdict: Verdict,
    pub remember: Remember,
}

impl Decision {
    /// Allows this call.
    pub fn allow() -> Self {
        Self {
            verdict: Verdict::Allow { arguments: None },
            remember: Remember::Call,
        }
    }

    /// Denies this call; the model reads the reason.
    pub fn deny(reason: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Deny {
                reason: reason.into(),
            },
            remember: Remember::Call,
        }
    }

    /// Applies the decision to later calls as well.
    #[must_use]
    pub fn remembered(self, remember: Remember) -> Self {
        Self { remember, ..self }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Run it, perhaps with other arguments.
    Allow { arguments: Option<Arguments> },
    /// Do not run it; the reason is what the model reads.
    Deny { reason: String },
}

/// Which later calls a decision applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Remember {
    #[default]
    Call,
    /// Every later call of the same tool.
    Tool,
    /// Every later call.
    Session,
}

/// The result of a call when no one is left to decide on it.
pub(crate) const NOBODY_LEFT: &str = "refused: nobody is left to confirm the call";

/// No call of that id waits for permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no call with this id waits for a confirmation")]
pub struct NotWaiting;

/// The calls that wait, and the decisions to remember.
#[derive(Default)]
pub(crate) struct Approvals(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: HashMap<ToolCallId, Waiting>,
    tools: HashMap<String, Verdict>,
    session: Option<Verdict>,
    /// The result of every call once no one can decide any more.
    closed: Option<String>,
}

struct Waiting {
    tool: String,
    reply: oneshot::Sender<Verdict>,
}

/// The immediate outcome of asking for permission.
pub(crate) enum Asked {
    /// Decided earlier, or no one is left to ask.
    Known(Verdict),
    Wait(oneshot::Receiver<Verdict>),
}

impl Approvals {
    /// Registers a call, unless the decision is known already.
    pub(crate) fn ask(&self, id: &ToolCallId, tool: &str) -> Asked {
        let mut state = self.lock();
        let remembered = state.tools.get(tool).or(state.session.as_ref());
        if let Some(verdict) = remembered {
            return Asked::Known(verdict.clone());
        }
        if let Some(reason) = state.closed.clone() {
            return Asked::Known(Verdict::Deny { reason });
        }
        let (reply, receiver) = oneshot::channel();
        let waiting = Waiting {
            tool: tool.to_owned(),
            reply,
        };
        state.waiting.insert(id.clone(), waiting);
        Asked::Wait(receiver)
    }

    /// Decides on a waiting call.
    pub(crate) fn decide(&self, id: &ToolCallId, decision: Decision) -> Result<(), NotWaiting> {
        let mut state = self.lock();
        let waiting = state.waiting.remove(id).ok_or(NotWaiting)?;
        // Changed arguments belong to this call only.
        let lasting = match &decision.verdict {
            Verdict::Allow { .. } => Verdict::Allow { arguments: None },
            deny @ Verdict::Deny { .. } => deny.clone(),
        };
        match decision.remember {
            Remember::Call => {}
            Remember::Tool => {
                state.tools.insert(waiting.tool, lasting);
            }
            Remember::Session => state.session = Some(lasting),
        }
        waiting.reply.send(decision.verdict).map_err(|_| NotWaiting)
    }

    /// Forgets the remembered decisions.
    pub(crate) fn forget_remembered(&self) {
        let mut state = self.lock();
        state.tools.clear();
        state.session = None;
    }

    pub(crate) fn forget(&self, id: &ToolCallId) {
        self.lock().waiting.remove(id);
    }

    /// Refuses all waiting and later calls; the model reads why.
    pub(crate) fn close(&self, reason: String) {
        let mut state = self.lock();
        state.closed = Some(reason);
        // Dropping the senders wakes the waiting calls.
        state.waiting.clear();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
