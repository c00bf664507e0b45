use super::{Attention, SILENT_AFTER_MS, attention};
use crate::{AgentState, PendingApproval, Status};

const NOW: u64 = 1_000_000;

fn agent(status: Status, since_ms: u64, last_ms: u64) -> AgentState {
    AgentState {
        status,
        since_ms,
        last_ms,
        ..AgentState::default()
    }
}

#[test]
fn agents_that_need_attention_come_first() {
    let silent = NOW - SILENT_AFTER_MS;
    let in_order = [
        agent(Status::WaitingForApproval, 100, 100),
        agent(Status::WaitingForApproval, 200, 200),
        agent(Status::Failed, 300, 300),
        agent(Status::Thinking, 10, silent - 1),
        agent(Status::RunningTool, 10, silent),
        agent(Status::Writing, 900, silent + 1),
        agent(Status::Idle, 10, 10),
        agent(Status::Done, 10, 10),
    ];
    let keys = in_order.map(|agent| attention(&agent, NOW));
    assert!(keys.is_sorted(), "{keys:?}");
    let mut distinct = keys.to_vec();
    distinct.dedup();
    assert_eq!(distinct.len(), keys.len());
}

#[test]
fn progress_does_not_change_the_order() {
    let keys = [Status::Thinking, Status::Writing, Status::RunningTool]
        .map(|status| attention(&agent(status, NOW, NOW), NOW));
    assert_eq!(keys, [Attention::Working; 3]);
}

#[test]
fn not_understood_is_trouble_and_interrupted_is_over() {
    let key = |status| attention(&agent(status, NOW, NOW), NOW);
    assert_eq!(key(Status::NotUnderstood), Attention::Trouble);
    assert_eq!(key(Status::Interrupted), Attention::Over);
    assert_eq!(key(Status::Retrying), Attention::Working);
}

#[test]
fn the_wait_is_that_of_the_oldest_pending_approval() {
    let mut waiting = agent(Status::WaitingForApproval, 100, 100);
    waiting.approvals.push(PendingApproval {
        since_ms: 400,
        ..PendingApproval::default()
    });
    assert_eq!(
        attention(&waiting, NOW),
        Attention::Waiting { since_ms: 400 }
    );
}
