//! Does what the turn machine says, and reports it.

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_conversation::{AgentEvent, ContentBlock, ErrorReport, Message, Role, TurnStop};

use crate::agent::now;
use crate::compaction::{self, CompactionResult};
use crate::model_call::{self, TurnBeginning};
use crate::turn::{CompactionOutcome, Ending, NextStep, Turn};
use crate::{Agent, Hooks, JournalError, tool_batch};

/// One prompt or compaction under way: where it reports, and what can stop it.
pub(crate) struct Run<'a> {
    pub(crate) hooks: &'a dyn Hooks,
    pub(crate) cancel: &'a CancellationToken,
    events: &'a mpsc::Sender<AgentEvent>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        hooks: &'a dyn Hooks,
        events: &'a mpsc::Sender<AgentEvent>,
        cancel: &'a CancellationToken,
    ) -> Self {
        Self {
            hooks,
            cancel,
            events,
        }
    }

    /// Reports an event, waiting while the reader is behind. A reader that has gone away is no
    /// reason to stop: whoever dropped it decides that through `cancel`.
    pub(crate) async fn emit(&self, event: AgentEvent) {
        self.hooks.on_event(&event);
        let _ = self.events.send(event).await;
    }

    /// Reports an event that an abort may overtake: a reader that has stopped reading must not
    /// keep the abort from getting through.
    pub(crate) async fn emit_delta(&self, event: AgentEvent) {
        self.hooks.on_event(&event);
        if let Err(mpsc::error::TrySendError::Full(event)) = self.events.try_send(event) {
            tokio::select! {
                _ = self.events.send(event) => {}
                () = self.cancel.cancelled() => {}
            }
        }
    }
}

pub(crate) async fn prompt(agent: &Agent, content: Vec<ContentBlock>, run: &Run<'_>) {
    let message = Message {
        role: Role::User,
        content,
        time: now(),
    };
    match agent.append(message) {
        Ok(message) => run.emit(AgentEvent::UserMessage(message)).await,
        Err(error) => {
            run.emit(AgentEvent::Failed(journal_report(&error))).await;
            run.emit(AgentEvent::Done).await;
            return;
        }
    }
    let mut turn = Turn::new(agent.settings().max_steps, agent.context_fill());
    loop {
        match turn.next_step() {
            NextStep::Compact(cause) => {
                let outcome = compact_within_prompt(agent, run).await;
                turn.compacted(cause, outcome);
            }
            NextStep::CallModel { step } => {
                turn.model_called(model_call::call(agent, run, TurnBeginning::New(step)).await);
            }
            NextStep::RetryModel { step } => {
                turn.model_called(model_call::call(agent, run, TurnBeginning::Open(step)).await);
            }
            NextStep::RunTools(calls) => {
                turn.tools_ran(tool_batch::run(agent, run, calls).await);
            }
            NextStep::Finish(ending) => {
                finish(run, ending).await;
                return;
            }
        }
    }
}

async fn finish(run: &Run<'_>, ending: Ending) {
    match ending {
        Ending::Complete | Ending::Quiet => {}
        Ending::Failed(report) => run.emit(AgentEvent::Failed(report)).await,
        Ending::FailedInTurn(report) => {
            run.emit(AgentEvent::TurnEnded {
                stop: TurnStop::Error,
                error: Some(report.message.clone()),
            })
            .await;
            run.emit(AgentEvent::Failed(report)).await;
        }
    }
    run.emit(AgentEvent::Done).await;
}

pub(crate) async fn compact(agent: &Agent, run: &Run<'_>) {
    match compaction::run(agent, run).await {
        CompactionResult::Shortened { summary } => {
            run.emit(AgentEvent::CompactionFinished { summary }).await;
            return;
        }
        CompactionResult::Aborted => {}
        CompactionResult::Failed(report) | CompactionResult::NotRecorded(report) => {
            run.emit(AgentEvent::Failed(report)).await;
        }
    }
    run.emit(AgentEvent::Done).await;
}

async fn compact_within_prompt(agent: &Agent, run: &Run<'_>) -> CompactionOutcome {
    match compaction::run(agent, run).await {
        CompactionResult::Shortened { summary } => {
            run.emit(AgentEvent::CompactionFinished { summary }).await;
            CompactionOutcome::Shortened
        }
        CompactionResult::Aborted => CompactionOutcome::Aborted,
        CompactionResult::Failed(report) => CompactionOutcome::Failed(report),
        CompactionResult::NotRecorded(report) => CompactionOutcome::NotRecorded(report),
    }
}

pub(crate) fn journal_report(error: &JournalError) -> ErrorReport {
    ErrorReport {
        message: error.to_string(),
        model: None,
    }
}
