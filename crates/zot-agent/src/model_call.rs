//! One model call: from the request to the message in the transcript.

use std::pin::pin;
use std::sync::Arc;

use zot_conversation::{
    AgentEvent, ContentBlock, ErrorCode, ErrorReport, Message, ModelError, ModelErrorKind,
    ModelEvent, ModelRequest, ModelStream, ResponseSize, Role, Sampling, StopReason, ToolCall,
    TurnStop, Usage, joined_text,
};

use crate::agent::now;
use crate::driver::{Run, journal_report};
use crate::turn::ModelOutcome;
use crate::{
    Agent, AgentSettings, Answer, AnswerBuilder, ConnectedModel, MessageVerdict, TurnVerdict,
};

/// The error text of an abort, as programs in use know it.
const ABORTED: &str = "context canceled";

/// Whether the turn's beginning is still to be reported.
#[derive(Clone, Copy)]
pub(crate) enum TurnBeginning {
    New(u32),
    Open(u32),
}

/// How the stream of events ended.
enum StreamEnd {
    Complete,
    Aborted,
    OverBudget { reason: String, usage: Usage },
    Failed { error: ModelError, accepted: bool },
}

pub(crate) async fn call(agent: &Agent, run: &Run<'_>, beginning: TurnBeginning) -> ModelOutcome {
    let step = match beginning {
        TurnBeginning::New(step) => {
            run.emit(AgentEvent::TurnStarted { step }).await;
            step
        }
        TurnBeginning::Open(step) => step,
    };
    while let Some(limit) = run.meter.step_limit(agent) {
        match run.more_steps(agent, limit).await {
            0 => break,
            more => run.meter.allow_steps(agent, more),
        }
    }
    // The user may have stopped the prompt instead of answering.
    let reached = match run.cancel.is_cancelled() {
        true => None,
        false => run.meter.reached(agent),
    };
    if let Some(reason) = reached {
        return fail_turn(run, ErrorReport::new(ErrorCode::Budget, reason)).await;
    }
    let verdict = tokio::select! {
        biased;
        () = run.cancel.cancelled() => TurnVerdict::Proceed,
        verdict = run.hooks.before_turn(step) => verdict,
    };
    if let TurnVerdict::Block { reason } = verdict {
        end_turn(run, TurnStop::Error, Some(reason)).await;
        return ModelOutcome::Stopped;
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
    let (builder, end, held) = received;
    let usage = builder.usage().priced(&settings.model.prices);
    match end {
        StreamEnd::Complete => match builder.finish() {
            Ok(answer) => answered(agent, run, answer, held, usage).await,
            Err(partial) => {
                let error = ModelError::new(
                    ModelErrorKind::Stream,
                    "the model's answer ended without its end marker",
                );
                let said = Said::new(partial.keep_text(), held);
                failed(agent, run, Some((said, usage)), error).await
            }
        },
        StreamEnd::Aborted => {
            let said = Said::new(builder.keep_text(), held);
            if let Err(report) = keep(agent, run, said, usage).await {
                return fail_turn(run, report).await;
            }
            end_turn(run, TurnStop::Aborted, Some(ABORTED.to_owned())).await;
            ModelOutcome::Stopped
        }
        // Providers tell what an answer cost at its end, which this one does not reach: what is
        // counted is an estimate.
        StreamEnd::OverBudget { reason, usage } => {
            let said = Said::new(builder.keep_text(), held);
            if let Err(report) = keep(agent, run, said, usage).await {
                return fail_turn(run, report).await;
            }
            fail_turn(run, ErrorReport::new(ErrorCode::Budget, reason)).await
        }
        StreamEnd::Failed { error, accepted }
            if error.kind == ModelErrorKind::ContextOverflow && builder.is_empty() =>
        {
            // Some providers accept the request first and refuse it inside the answer.
            if accepted && let Err(report) = keep(agent, run, Said::default(), usage).await {
                return fail_turn(run, report).await;
            }
            ModelOutcome::Overflowed(settings.model.report(&error))
        }
        StreamEnd::Failed {
            error,
            accepted: false,
        } => failed(agent, run, None, error).await,
        StreamEnd::Failed {
            error,
            accepted: true,
        } => {
            let said = Said::new(builder.keep_text(), held);
            failed(agent, run, Some((said, usage)), error).await
        }
    }
}

/// Runs a model on one request of its own, outside the transcript, and reports nothing.
pub(crate) async fn ask(
    settings: &AgentSettings,
    run: &Run<'_>,
    system: &str,
    messages: &[Arc<Message>],
) -> Option<Result<(String, Usage), (ModelError, Usage)>> {
    let mut stream = settings.model.client.stream(ModelRequest {
        model: &settings.model.id,
        system,
        messages,
        tools: &[],
        reasoning: None,
        max_output: settings.model.max_output,
        sampling: Sampling::default(),
    });
    let mut cancelled = pin!(run.cancel.cancelled());
    let mut builder = AnswerBuilder::default();
    let mut size = ResponseSize::default();
    let failure = loop {
        tokio::select! {
            biased;
            () = &mut cancelled => return None,
            event = next(&mut stream) => match event {
                Some(Ok(event)) => match size.add(&event) {
                    Ok(()) => builder.apply(&event),
                    Err(limit) => break Some(limit.into()),
                },
                Some(Err(error)) => break Some(error),
                None => break None,
            },
        }
    };
    let usage = builder.usage().priced(&settings.model.prices);
    if let Some(error) = failure {
        return Some(Err((error, usage)));
    }
    Some(match builder.finish() {
        Ok(answer) if answer.stop == StopReason::Refused => Err((
            ModelError::new(
                ModelErrorKind::Refused,
                "the provider withheld the summary (refusal or content filter); the transcript is \
                 unchanged",
            ),
            usage,
        )),
        // What a summary says last, what is still open, matters most.
        Ok(answer) if answer.stop == StopReason::Length => Err((
            ModelError::new(
                ModelErrorKind::Stream,
                "the summary was cut off at the output limit; the transcript is unchanged",
            ),
            usage,
        )),
        Ok(answer) => Ok((joined_text(&answer.content), usage)),
        Err(_) => Err((
            ModelError::new(
                ModelErrorKind::Stream,
                "the model's answer ended without its end marker",
            ),
            usage,
        )),
    })
}

async fn receive(
    agent: &Agent,
    settings: &AgentSettings,
    run: &Run<'_>,
    mut stream: ModelStream<'_>,
) -> (AnswerBuilder, StreamEnd, Vec<String>) {
    let mut builder = AnswerBuilder::default();
    let holds_text = run.hooks.holds_text();
    let mut held = Vec::new();
    let mut accepted = false;
    let watched = run.meter.limits_spending();
    // Some providers tell what the request counted for only at the end of the answer.
    let input_estimate = agent.token_ceiling() / BYTES_PER_TOKEN;
    let estimated = |reported: Usage, output_bytes: usize| {
        let output = reported.output.max(tokens_of(output_bytes));
        let input = match reported.prompt_tokens() {
            0 => input_estimate,
            _ => reported.input,
        };
        Usage {
            input,
            output,
            ..reported
        }
        .priced(&settings.model.prices)
    };
    let mut output_bytes = 0;
    let mut checked_bytes = 0;
    let mut size = ResponseSize::default();
    // Made once: registering with the token for every event would cost more than the event.
    let mut cancelled = pin!(run.cancel.cancelled());
    let mut time_is_up = pin!(run.meter.time_is_up());
    let end = loop {
        tokio::select! {
            biased;
            () = &mut cancelled => break StreamEnd::Aborted,
            event = next(&mut stream) => match event {
                Some(Ok(event)) => {
                    accepted |= event == ModelEvent::Start;
                    let counted = size.add(&event).map_err(ModelError::from);
                    if let Err(error) = counted.and_then(|()| run.check_length(size.bytes())) {
                        break StreamEnd::Failed { error, accepted };
                    }
                    output_bytes += output_length(&event);
                    builder.apply(&event);
                    match reported(event, &settings.model) {
                        Some(AgentEvent::TextDelta(delta)) if holds_text => held.push(delta),
                        Some(AgentEvent::Notice(notice)) if !agent.is_news(&notice) => {}
                        Some(event) => run.emit_delta(event).await,
                        None => {}
                    }
                }
                Some(Err(error)) => break StreamEnd::Failed { error, accepted },
                None => break StreamEnd::Complete,
            },
            reason = &mut time_is_up => {
                let usage = estimated(builder.usage(), output_bytes);
                break StreamEnd::OverBudget { reason, usage };
            }
        }
        // Only more output costs more: counts that come with the end do not make the answer worse.
        if watched && output_bytes > checked_bytes {
            checked_bytes = output_bytes;
            let usage = estimated(builder.usage(), output_bytes);
            if let Some(reason) = run.meter.spending_reached(agent, &usage) {
                break StreamEnd::OverBudget { reason, usage };
            }
        }
    };
    run.count_length(size.bytes());
    (builder, end, held)
}

/// What text usually comes to.
const BYTES_PER_TOKEN: u64 = 4;

fn tokens_of(bytes: usize) -> u64 {
    bytes as u64 / BYTES_PER_TOKEN
}

fn output_length(event: &ModelEvent) -> usize {
    match event {
        ModelEvent::TextDelta(delta)
        | ModelEvent::ThinkingDelta(delta)
        | ModelEvent::ToolCallArguments { delta, .. } => delta.len(),
        _ => 0,
    }
}

async fn next(stream: &mut ModelStream<'_>) -> Option<Result<ModelEvent, ModelError>> {
    std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await
}

/// The event a front end sees for what the model did.
fn reported(event: ModelEvent, model: &ConnectedModel) -> Option<AgentEvent> {
    Some(match event {
        ModelEvent::Retrying {
            failures,
            wait,
            error,
        } => AgentEvent::Retrying {
            failures,
            wait,
            error: model.report(&error),
        },
        ModelEvent::Start => AgentEvent::AssistantStarted,
        ModelEvent::Notice(notice) => AgentEvent::Notice(notice),
        ModelEvent::TextDelta(delta) if !delta.is_empty() => AgentEvent::TextDelta(delta),
        ModelEvent::ThinkingDelta(delta) => AgentEvent::ThinkingDelta(delta),
        ModelEvent::ToolCallStart { id, name } => AgentEvent::ToolUseStarted { id, name },
        ModelEvent::ToolCallArguments { id, delta } => AgentEvent::ToolUseArguments { id, delta },
        ModelEvent::ToolCallEnd { id } => AgentEvent::ToolUseEnded { id },
        ModelEvent::TextDelta(_)
        | ModelEvent::Reasoning(_)
        | ModelEvent::Usage(_)
        | ModelEvent::Stop(_) => return None,
    })
}

async fn answered(
    agent: &Agent,
    run: &Run<'_>,
    answer: Answer,
    held: Vec<String>,
    usage: Usage,
) -> ModelOutcome {
    let Answer {
        content,
        stop,
        cut_off,
    } = answer;
    agent.set_context_tokens(usage.prompt_tokens() + usage.output);
    let calls: Vec<ToolCall> = content
        .iter()
        .filter_map(|block| match block {
            ContentBlock::ToolCall(call) => Some(call.clone()),
            _ => None,
        })
        .collect();
    // Reasoning alone is no answer, and providers refuse to be given it back.
    let says_something = content
        .iter()
        .any(|block| !matches!(block, ContentBlock::Reasoning(_)));
    let content = if says_something { content } else { Vec::new() };
    if let Err(report) = keep(agent, run, Said::new(content, held), usage).await {
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
    ModelOutcome::Answered {
        calls,
        context: agent.context_fill(),
    }
}

/// A call that failed: what came of it, if it was accepted, is kept; another model may go on.
///
/// A tool call that was only half made is not kept: nobody could run it.
async fn failed(
    agent: &Agent,
    run: &Run<'_>,
    received: Option<(Said, Usage)>,
    error: ModelError,
) -> ModelOutcome {
    let failing = agent.active_settings();
    let mut error = error;
    let mut broke_off = false;
    if let Some((said, usage)) = received {
        broke_off = !said.content.is_empty();
        if let Err(report) = keep(agent, run, said, usage).await {
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
    // Nobody continues a message of the assistant's reliably, and some providers refuse to.
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

/// What came of a model call.
#[derive(Default)]
struct Said {
    content: Vec<ContentBlock>,
    /// Pieces of text that were not reported as they came.
    held: Vec<String>,
}

impl Said {
    fn new(content: Vec<ContentBlock>, held: Vec<String>) -> Self {
        Self { content, held }
    }
}

/// Records what was used and what was said, and reports both.
async fn keep(agent: &Agent, run: &Run<'_>, said: Said, usage: Usage) -> Result<(), ErrorReport> {
    let message = if said.content.is_empty() {
        None
    } else {
        let message = Message {
            role: Role::Assistant,
            content: said.content,
            time: now(),
        };
        Some(agent.append(message).map_err(|e| journal_report(&e))?)
    };
    let cumulative = agent.add_usage(usage).map_err(|e| journal_report(&e))?;
    let text = message.as_ref().map(|message| message.text());
    let text = text.unwrap_or_default();
    let mut verdict = None;
    if !said.held.is_empty() {
        // What nobody has looked at is not shown, although the prompt was aborted.
        let early = verdict_on(run, &text, MessageVerdict::Suppress).await;
        release_text(run, said.held, &early).await;
        verdict = Some(early);
    }
    run.emit(AgentEvent::UsageReported {
        turn: usage,
        cumulative,
    })
    .await;
    let verdict = match verdict {
        Some(verdict) => verdict,
        None => verdict_on(run, &text, MessageVerdict::Keep).await,
    };
    if let Some(message) = message
        && let Some(message) = as_reported(message, verdict)
    {
        run.emit(AgentEvent::AssistantMessage(message)).await;
    }
    Ok(())
}

async fn verdict_on(run: &Run<'_>, text: &str, when_aborted: MessageVerdict) -> MessageVerdict {
    if text.is_empty() {
        return MessageVerdict::Keep;
    }
    // The hook first: an abort cuts a wait short but does not unsay an answer that is there.
    tokio::select! {
        biased;
        verdict = run.hooks.before_assistant_message(text) => verdict,
        () = run.cancel.cancelled() => when_aborted,
    }
}

/// Reports the text that was held back, as the hooks want it shown.
async fn release_text(run: &Run<'_>, held: Vec<String>, verdict: &MessageVerdict) {
    let shown = match verdict {
        MessageVerdict::Keep => held,
        MessageVerdict::Replace(text) => vec![text.clone()],
        MessageVerdict::Suppress => return,
    };
    for delta in shown {
        run.emit_delta(AgentEvent::TextDelta(delta)).await;
    }
}

/// The message as the hooks want it shown; `None` when they want it suppressed.
fn as_reported(message: Arc<Message>, verdict: MessageVerdict) -> Option<Arc<Message>> {
    match verdict {
        MessageVerdict::Keep => Some(message),
        MessageVerdict::Suppress => None,
        MessageVerdict::Replace(text) => {
            let others = message
                .content
                .iter()
                .filter(|block| !matches!(block, ContentBlock::Text(_)));
            let content = std::iter::once(ContentBlock::Text(text))
                .chain(others.cloned())
                .collect();
            Some(Arc::new(Message {
                role: message.role,
                content,
                time: message.time,
            }))
        }
    }
}

async fn fail_turn(run: &Run<'_>, report: ErrorReport) -> ModelOutcome {
    end_turn(run, TurnStop::Error, Some(report.message.clone())).await;
    ModelOutcome::Failed(report)
}

async fn end_turn(run: &Run<'_>, stop: TurnStop, error: Option<String>) {
    run.emit(AgentEvent::TurnEnded { stop, error }).await;
}
