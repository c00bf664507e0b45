//! Which agents need somebody. Pure, and the same as `assets/attention.js`.

#[cfg(test)]
mod tests;

use crate::{AgentState, Status};

/// How long an agent at work may be silent before it may be stuck.
pub(super) const SILENT_AFTER_MS: u64 = 30_000;

/// What agents are ordered by: the group, and within it what stays the same for as long as the agent is in
/// that group, so that agents do not move while nothing happens to them. Equal ones stay as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Attention {
    /// A person has to decide; the longest wait comes first.
    Waiting {
        since_ms: u64,
    },
    /// Failed, or not understood.
    Trouble,
    /// At work, but silent; the longest silence comes first.
    Silent {
        last_ms: u64,
    },
    Working,
    /// Not at work yet, or between two turns.
    Resting,
    /// Done or interrupted.
    Over,
}

pub(super) fn attention(agent: &AgentState, now_ms: u64) -> Attention {
    match agent.status {
        Status::WaitingForApproval => Attention::Waiting {
            since_ms: waiting_since(agent),
        },
        status if status.is_working() => {
            if now_ms.saturating_sub(agent.last_ms) >= SILENT_AFTER_MS {
                Attention::Silent {
                    last_ms: agent.last_ms,
                }
            } else {
                Attention::Working
            }
        }
        Status::Starting | Status::Idle => Attention::Resting,
        Status::Done | Status::Interrupted => Attention::Over,
        _ => Attention::Trouble,
    }
}

/// Since when somebody has been waited for.
pub(super) fn waiting_since(agent: &AgentState) -> u64 {
    let asked = agent.approvals.iter().map(|asked| asked.since_ms).min();
    asked.unwrap_or(agent.since_ms)
}
