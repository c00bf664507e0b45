//! One model call: from the request to the message in the transcript.

mod ask;
mod keep;
mod receive;

use zot_conversation::{
    AgentEvent, ContentBlock, ErrorCode, ErrorReport, Message, ModelError, ModelErrorKind,
    ModelRequest, Sampling, StopReason, ToolCall, TurnStop, Usage,
};

use crate::agent::now;
use crate::driver::{Run, journal_report};
use crate::turn::ModelOutcome;
use crate::{Agent, AgentSettings, Response, TurnVerdict};
pub(crate) use ask::ask;
use keep::{Kept, keep};
use receive::{Received, StreamEnd, receive};

/// The error text of an abort, as existing programs expect it.
const ABORTED: &str = "context canceled";

/// Whether the turn's beginning is still to be reported.
#[derive(Clone, Copy)]
pub(crate) enum TurnBeginning {
    New(u32),
    Open(u32),
}

pub(crate) async fn call(agent: &Agent, run: &Run<'_>, beginning: TurnBeginning) -> ModelOutcome {
    let step = match beginning {
        TurnBeginning::New(step) => {
            run.emit(AgentEvent::TurnStarted { step }).await;
            step
        }
        TurnBeginning::Open(step) => step,
    };
    if let Err(outcome) = admit(agent, run, step).await {
        return outcome;
    }
    let settings = agent.active_settings();
    agent.count_model_call();
    let received = {
        let transcript = agent.fit_transcript();
        let stream = settings.model.client.stream(ModelRequest {
            model: &settings.model.id,
            system: &settings.system,
            messages: transcript.messages(),
            tools: settings.tools.definitions(),
            reasoning: settings.reasoning,
            max_output: settings.model.max_output,
            sampling: Sampling::default(),
        });
        receive(agent, &settings, run, stream).await
    };
    conclude(agent, run, &settings, received).await
}

/// Checks budgets and hooks before a call; an error is how the turn ended instead.
async fn admit(agent: &Agent, run: &Run<'_>, step: u32) -> Result<(), ModelOutcome> {
    while let Some(limit) = run.meter.step_limit(agent) {
        match run.more_steps(agent, limit).await {
            0 => break,
            more => run.meter.allow_steps(agent, more),
        }
    }
    // The user may have stopped the prompt instead of allowing more steps.
    let reached = match run.cancel.is_cancelled() {
        true => None,
        false => run.meter.reached(agent),
    };
    if let Some(reason) = reached {
        return Err(fail_turn(run, ErrorReport::new(ErrorCode::Budget, reason)).await);
    }
    let verdict = tokio::select! {
        biased;
        () = run.cancel.cancelled() => TurnVerdict::Proceed,
        verdict = run.hooks.before_turn(step) => verdict,
    };
    if let TurnVerdict::Block { reason } = verdict {
        end_turn(run, TurnStop::Error, Some(reason)).await;
        return Err(ModelOutcome::Stopped);
    }
    Ok(())
}

/// Keeps what arrived and decides how the turn continues.
async fn conclude(
    agent: &Agent,
    run: &Run<'_>,
    settings: &AgentSettings,
    received: Received,
) -> ModelOutcome {
    let Received { builder, end, held } = received;
    let usage = builder.usage().priced(&settings.model.prices);
    let (error, accepted) = match end {
        StreamEnd::Complete => match builder.finish() {
            Ok(response) => return responded(agent, run, response, held, usage).await,
            Err(partial) => {
                let content = partial.keep_text();
                let kept = Some((Kept { content, held }, usage));
                return failed(agent, run, kept, without_end_marker()).await;
            }
        },
        StreamEnd::Aborted => {
            let content = builder.keep_text();
            if let Err(report) = keep(agent, run, Kept { content, held }, usage).await {
                return fail_turn(run, report).await;
            }
            end_turn(run, TurnStop::Aborted, Some(ABORTED.to_owned())).await;
            return ModelOutcome::Stopped;
        }
        // Providers report usage at the end of a response, which this one does not reach: the usage
        // here is an estimate.
        StreamEnd::OverBudget { reason, usage } => {
            let content = builder.keep_text();
            let kept = keep(agent, run, Kept { content, held }, usage).await;
            let report = kept.err();
            let report = report.unwrap_or_else(|| ErrorReport::new(ErrorCode::Budget, reason));
            return fail_turn(run, report).await;
        }
        StreamEnd::Failed { error, accepted } => (error, accepted),
    };
    if error.kind == ModelErrorKind::ContextOverflow && builder.is_empty() {
        // Some providers accept the request first and refuse it inside the response.
        if accepted && let Err(report) = keep(agent, run, Kept::default(), usage).await {
            return fail_turn(run, report).await;
        }
        return ModelOutcome::Overflowed(settings.model.report(&error));
    }
    let content = builder.keep_text();
    let kept = accepted.then_some((Kept { content, held }, usage));
    failed(agent, run, kept, error).await
}

fn without_end_marker() -> ModelError {
    ModelError::new(
        ModelErrorKind::Stream,
        "the model's answer ended without its end marker",
    )
}

async fn responded(
    agent: &Agent,
    run: &Run<'_>,
    response: Response,
    held: Vec<String>,
    usage: Usage,
) -> ModelOutcome {
    let Response {
        content,
        stop,
        cut_off,
    } = response;
    agent.set_context_tokens(usage.prompt_tokens() + usage.output);
    let calls: Vec<ToolCall> = content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::ToolCall(call) => Some(call.clone()),
            _ => None,
        })
        .collect();
    // Providers refuse a message that has only reasoning when it is sent back.
    let has_content = content
        .iter()
        .any(|block| !matches!(block, ContentBlock::Reasoning(_)));
    let content = if has_content { content } else { Vec::new() };
    if let Err(report) = keep(agent, run, Kept { content, held }, usage).await {
        return fail_turn(run, report).await;
    }
    for call in &calls {
        run.emit(AgentEvent::ToolCallRequested(call.clone())).await;
    }
    let cut_off = calls.iter().find(|call| Some(&call.id) == cut_off.as_ref());
    let error = cut_off.map(|call| {
        format!(
            "the answer reached the output limit ({} tokens) inside a call of {}, which is not run",
            agent.active_settings().model.max_output,
            call.name
        )
    });
    let turn_stop = match stop {
        _ if error.is_some() => TurnStop::Length,
        _ if !calls.is_empty() => TurnStop::ToolUse,
        StopReason::End | StopReason::ToolUse => TurnStop::End,
        StopReason::Length => TurnStop::Length,
        StopReason::Refused => {
            let report = ErrorReport::new(
                ErrorCode::Refused,
                "the provider withheld the answer (refusal or content filter)",
            );
            return fail_turn(run, report).await;
        }
    };
    end_turn(run, turn_stop, error).await;
    ModelOutcome::Responded {
        calls,
        context: agent.context_fill(),
    }
}

/// Handles a failed call: keeps what arrived of an accepted one, and falls back to the next model if
/// that may help.
///
/// An incomplete tool call is not kept: it cannot be run.
async fn failed(
    agent: &Agent,
    run: &Run<'_>,
    received: Option<(Kept, Usage)>,
    error: ModelError,
) -> ModelOutcome {
    let failing = agent.active_settings();
    let mut error = error;
    let mut broke_off = false;
    if let Some((kept, usage)) = received {
        broke_off = !kept.content.is_empty();
        if let Err(report) = keep(agent, run, kept, usage).await {
            return fail_turn(run, report).await;
        }
    }
    match agent.leave_out_refused_images(error.image_blame, &failing.model.provider) {
        Ok(images) if images.is_empty() => {}
        // Every later request would be refused in the same way.
        Ok(images) => error.hints.push(format!(
            "left out of the conversation from now on: {}",
            images.join("; ")
        )),
        Err(error) => return fail_turn(run, journal_report(&error)).await,
    }
    let error = failing.model.report(&error);
    if !error.code.may_succeed_elsewhere() || run.cancel.is_cancelled() || !agent.fall_back() {
        return fail_turn(run, error).await;
    }
    let from = failing.model.qualified_name();
    let to = agent.active_settings().model.qualified_name();
    // No model reliably continues an assistant message, and some providers refuse to.
    let note = broke_off.then(|| {
        format!("[{from} failed in the middle of the answer above. Go on exactly where it stops.]")
    });
    run.emit(AgentEvent::FellBack { from, to, error }).await;
    if let Some(note) = note {
        match agent.append(Message::user_text(note, now())) {
            Ok(message) => run.emit(AgentEvent::UserMessage(message)).await,
            Err(error) => return fail_turn(run, journal_report(&error)).await,
        }
    }
    ModelOutcome::FellBack
}

async fn fail_turn(run: &Run<'_>, report: ErrorReport) -> ModelOutcome {
    end_turn(run, TurnStop::Error, Some(report.message.clone())).await;
    ModelOutcome::Failed(report)
}

async fn end_turn(run: &Run<'_>, stop: TurnStop, error: Option<String>) {
    run.emit(AgentEvent::TurnEnded { stop, error }).await;
}
