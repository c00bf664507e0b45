//! Orders agents by how much they need attention. Pure, and the same as `assets/attention.js`.

#[cfg(test)]
mod tests;

use crate::{AgentState, Status};

/// How long a working agent may be silent before it counts as possibly stuck.
pub(super) const SILENT_AFTER_MS: u64 = 30_000;

/// The sort key of an agent: its group, and within it a value that does not change while the agent is in
/// the group, so that agents do not move without reason. Equal ones stay in order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Attention {
    /// A person has to decide; the longest wait comes first.
    Waiting {
        since_ms: u64,
    },
    /// Failed, or not understood.
    Trouble,
    /// Working, but silent; the longest silence comes first.
    Silent {
        last_ms: u64,
    },
    Working,
    /// Not working yet, or between two turns.
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

/// Returns since when the agent has been waiting for a person.
pub(super) fn waiting_since(agent: &AgentState) -> u64 {
    let oldest = agent
        .approvals
        .iter()
        .map(|approval| approval.since_ms)
        .min();
    oldest.unwrap_or(agent.since_ms)
}
