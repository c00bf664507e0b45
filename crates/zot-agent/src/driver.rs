//! Carries out what the turn machine decides, and reports it.

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_conversation::{
    AgentEvent, ContentBlock, ErrorCode, ErrorReport, Message, ModelError, ModelErrorKind, Role,
    TurnStop,
};

use crate::agent::now;
use crate::budget::Budget;
use crate::compaction::{self, CompactionResult};
use crate::meter::Meter;
use crate::model_call::{self, TurnBeginning};
use crate::step_limit::AtStepLimit;
use crate::turn::{CompactionOutcome, Ending, NextStep, ToolsOutcome, Turn};
use crate::{Agent, Hooks, JournalError, tool_batch};

/// The most bytes of all responses to one prompt, across its tool calls.
///
/// Limit: error that names the limit; the text received so far is kept.
const MAX_PROMPT_RESPONSE_BYTES: usize = 128 * 1024 * 1024;

/// A running prompt or compaction: where it reports, and what can stop it.
pub(crate) struct Run<'a> {
    pub(crate) hooks: &'a dyn Hooks,
    pub(crate) cancel: &'a CancellationToken,
    pub(crate) meter: Meter,
    events: &'a mpsc::Sender<AgentEvent>,
    /// Bytes of all responses so far.
    response_bytes: AtomicUsize,
}

impl<'a> Run<'a> {
    pub(crate) fn new(
        agent: &'a Agent,
        budget: Budget,
        events: &'a mpsc::Sender<AgentEvent>,
        cancel: &'a CancellationToken,
    ) -> Self {
        Self {
            hooks: agent.hooks(),
            cancel,
            meter: Meter::new(agent, budget),
            events,
            response_bytes: AtomicUsize::new(0),
        }
    }

    /// Asks how many model calls are allowed beyond `limit`; none if no one can be asked or the
    /// prompt is aborted.
    pub(crate) async fn more_steps(&self, agent: &Agent, limit: u64) -> u64 {
        if agent.settings().steps.when_reached == AtStepLimit::Fail {
            return 0;
        }
        let granted = agent.ask_for_steps();
        self.emit(AgentEvent::StepLimitReached { limit }).await;
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => 0,
            more = granted => more.unwrap_or(0),
        }
    }

    /// Checks that a response with `bytes` so far keeps the prompt within its limit.
    pub(crate) fn check_length(&self, bytes: usize) -> Result<(), ModelError> {
        let all = self
            .response_bytes
            .load(Ordering::Relaxed)
            .saturating_add(bytes);
        match all > MAX_PROMPT_RESPONSE_BYTES {
            true => Err(ModelError::new(
                ModelErrorKind::Stream,
                format!(
                    "the responses to this prompt are longer than {MAX_PROMPT_RESPONSE_BYTES} bytes \
                     together (MAX_PROMPT_RESPONSE_BYTES): send another prompt to go on"
                ),
            )),
            false => Ok(()),
        }
    }

    /// Counts a response that has ended.
    pub(crate) fn count_length(&self, bytes: usize) {
        self.response_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Reports an event, waiting while the reader is behind. A dropped reader does not stop the
    /// prompt; `cancel` does.
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
    agent.steering().open();
    let max_steps = agent.settings().steps.max_steps;
    let turn_limit = max_steps.map_or(0, u64::from);
    let mut turn = Turn::new(max_steps, agent.context_fill());
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
                let mut outcome = tool_batch::run(agent, run, calls).await;
                if outcome == ToolsOutcome::Finished
                    && let Err(report) = deliver_steering(agent, run).await
                {
                    outcome = ToolsOutcome::Failed(report);
                }
                turn.tools_ran(outcome);
            }
            NextStep::Finish(Ending::Complete) if !agent.steering().close_if_empty() => {
                match deliver_steering(agent, run).await {
                    Ok(()) => turn.steered(),
                    Err(report) => return finish(agent, run, Ending::Failed(report)).await,
                }
            }
            NextStep::Finish(ending) => {
                let more = match turn.is_at_step_limit() {
                    true => run.more_steps(agent, turn_limit).await,
                    false => 0,
                };
                match more {
                    0 if run.cancel.is_cancelled() && turn.is_at_step_limit() => {
                        return finish(agent, run, Ending::Quiet).await;
                    }
                    0 => return finish(agent, run, ending).await,
                    more => turn.allow_steps(more),
                }
            }
        }
    }
}

/// Adds the user's steering messages to the transcript.
async fn deliver_steering(agent: &Agent, run: &Run<'_>) -> Result<(), ErrorReport> {
    while let Some(content) = agent.steering().take() {
        let message = Message {
            role: Role::User,
            content,
            time: now(),
        };
        let message = agent
            .append(message)
            .map_err(|error| journal_report(&error))?;
        run.emit(AgentEvent::UserMessage(message)).await;
    }
    Ok(())
}

pub(crate) async fn finish(agent: &Agent, run: &Run<'_>, ending: Ending) {
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
    for content in agent.steering().close() {
        run.emit(AgentEvent::SteeringDropped(content)).await;
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
    ErrorReport::new(ErrorCode::Session, error.to_string())
}
