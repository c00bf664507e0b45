//! The response to a model call: read to its end, reported, and held to the limits.

use std::pin::pin;

use zot_conversation::{AgentEvent, ModelError, ModelEvent, ModelStream, ResponseSize, Usage};

use crate::driver::Run;
use crate::{Agent, AgentSettings, ConnectedModel, ResponseBuilder};

/// A response as far as it arrived.
pub(super) struct Received {
    pub(super) builder: ResponseBuilder,
    pub(super) end: StreamEnd,
    /// Text deltas that hooks hold back until the message is complete.
    pub(super) held: Vec<String>,
}

/// How the stream of events ended.
pub(super) enum StreamEnd {
    Complete,
    Aborted,
    OverBudget { reason: String, usage: Usage },
    Failed { error: ModelError, accepted: bool },
}

pub(super) async fn receive(
    agent: &Agent,
    settings: &AgentSettings,
    run: &Run<'_>,
    mut stream: ModelStream<'_>,
) -> Received {
    let mut builder = ResponseBuilder::default();
    let holds_text = run.hooks.holds_text();
    let mut held = Vec::new();
    let mut accepted = false;
    let mut spending = Spending::new(agent, settings, run);
    let mut size = ResponseSize::default();
    // Created once: registering with the token for every event would cost more than the event.
    let mut cancelled = pin!(run.cancel.cancelled());
    let mut time_is_up = pin!(run.meter.time_is_up());
    let end = loop {
        tokio::select! {
            biased;
            () = &mut cancelled => break StreamEnd::Aborted,
            event = next(&mut stream) => match event {
                Some(Ok(event)) => {
                    let begins = event == ModelEvent::Start;
                    accepted |= begins;
                    let counted = size.add(&event).map_err(ModelError::from);
                    if let Err(error) = counted.and_then(|()| run.check_length(size.bytes())) {
                        break StreamEnd::Failed { error, accepted };
                    }
                    spending.output_bytes += output_length(&event);
                    builder.apply(&event);
                    match reported(event, &settings.model) {
                        Some(AgentEvent::TextDelta(delta)) if holds_text => held.push(delta),
                        Some(AgentEvent::Notice(notice)) if !agent.is_new_notice(&notice) => {}
                        Some(event) => run.emit_delta(event).await,
                        None => {}
                    }
                    if begins {
                        for notice in run.hooks.take_notices() {
                            run.emit_delta(AgentEvent::Notice(notice)).await;
                        }
                    }
                }
                Some(Err(error)) => break StreamEnd::Failed { error, accepted },
                None => break StreamEnd::Complete,
            },
            reason = &mut time_is_up => {
                let usage = spending.estimate(builder.usage());
                break StreamEnd::OverBudget { reason, usage };
            }
        }
        if let Some(end) = spending.exceeded(builder.usage()) {
            break end;
        }
    };
    run.count_length(size.bytes());
    Received { builder, end, held }
}

/// An estimate of what a response costs while it arrives.
struct Spending<'a> {
    agent: &'a Agent,
    run: &'a Run<'a>,
    settings: &'a AgentSettings,
    is_limited: bool,
    /// Some providers report the tokens of the request only at the end of the response.
    input_estimate: u64,
    output_bytes: usize,
    checked_bytes: usize,
}

impl<'a> Spending<'a> {
    fn new(agent: &'a Agent, settings: &'a AgentSettings, run: &'a Run<'a>) -> Self {
        Self {
            agent,
            run,
            settings,
            is_limited: run.meter.limits_spending(),
            input_estimate: agent.token_ceiling() / BYTES_PER_TOKEN,
            output_bytes: 0,
            checked_bytes: 0,
        }
    }

    fn estimate(&self, reported: Usage) -> Usage {
        let input = match reported.prompt_tokens() {
            0 => self.input_estimate,
            _ => reported.input,
        };
        Usage {
            input,
            output: reported.output.max(tokens_of(self.output_bytes)),
            ..reported
        }
        .priced(&self.settings.model.prices)
    }

    /// Returns the end of a response that reaches a budget.
    fn exceeded(&mut self, reported: Usage) -> Option<StreamEnd> {
        // Only more output costs more: usage that arrives with the end must not spoil the response.
        if !self.is_limited || self.output_bytes <= self.checked_bytes {
            return None;
        }
        self.checked_bytes = self.output_bytes;
        let usage = self.estimate(reported);
        let reason = self.run.meter.spending_reached(self.agent, &usage)?;
        Some(StreamEnd::OverBudget { reason, usage })
    }
}

/// How many bytes of text one token has on average.
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

pub(super) async fn next(stream: &mut ModelStream<'_>) -> Option<Result<ModelEvent, ModelError>> {
    std::future::poll_fn(|context| stream.as_mut().poll_next(context)).await
}

/// Returns the agent event for a model event, if front ends get one.
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
