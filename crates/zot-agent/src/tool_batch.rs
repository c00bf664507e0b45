//! Runs the tool calls of one assistant message.

use std::any::Any;
use std::future::Future;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::value::RawValue;
use zot_conversation::{
    AgentEvent, BoxFuture, ContentBlock, Message, Progress, Role, Tool, ToolCall, ToolCallId,
    ToolEffect, ToolInvocation, ToolOutput, ToolResult, ToolSet,
};

use crate::agent::now;
use crate::approval::{Asked, NOBODY_LEFT, Verdict};
use crate::driver::{Run, journal_report};
use crate::questions::CallQuestions;
use crate::turn::ToolsOutcome;
use crate::{Agent, AgentSettings, ToolVerdict};

/// How long a tool may take to wind down after an abort before it is dropped. The built-in tools
/// need at most three seconds to end a stubborn process.
///
/// Limit: a tool that does not stop is dropped, with an error result.
const ABORT_GRACE: Duration = Duration::from_secs(10);

const NOT_RUN: &str = "aborted: the call was not run";

const SKIPPED: &str = "skipped: the user sent a new message before the call began";

pub(crate) async fn run(agent: &Agent, run: &Run<'_>, calls: Vec<ToolCall>) -> ToolsOutcome {
    let settings = agent.settings();
    let tools = &settings.tools;
    let mut results = Vec::with_capacity(calls.len());
    for group in groups(&calls, tools) {
        let last = group.end == calls.len();
        let group = &calls[group];
        let outputs = join(
            group
                .iter()
                .map(|call| Box::pin(run_call(agent, run, call)) as BoxFuture<'_, ToolOutput>)
                .collect(),
        )
        .await;
        let ended = group.iter().zip(outputs).map(|(call, output)| {
            let result = ToolResult {
                call_id: call.id.clone(),
                is_error: output.is_error,
                content: output.content,
            };
            (result, output.contacts)
        });
        let (ended, contacts): (Vec<ToolResult>, Vec<_>) = ended.unzip();
        results.extend(ended.iter().cloned().map(ContentBlock::ToolResult));
        // Results reach the journal before they are reported.
        let recorded = if last {
            let content = std::mem::take(&mut results);
            agent.append(tool_message(content)).map(drop)
        } else {
            agent.record_results(&ended)
        };
        if let Err(error) = recorded {
            return ToolsOutcome::Failed(journal_report(&error));
        }
        for ((call, result), contacts) in group.iter().zip(ended).zip(contacts) {
            let finished = AgentEvent::ToolFinished {
                result,
                origin: tools.get(&call.name).and_then(|tool| tool.origin()),
                contacts,
            };
            run.emit(finished).await;
            // Reported before the next request is made.
            tokio::task::yield_now().await;
        }
    }
    if run.cancel.is_cancelled() {
        ToolsOutcome::Aborted
    } else {
        ToolsOutcome::Finished
    }
}

fn tool_message(content: Vec<ContentBlock>) -> Message {
    Message {
        role: Role::Tool,
        content,
        time: now(),
    }
}

/// Groups the calls that run concurrently: neighbours that only read.
fn groups(calls: &[ToolCall], tools: &ToolSet) -> Vec<Range<usize>> {
    let reads = |call: &ToolCall| {
        tools
            .get(&call.name)
            .is_some_and(|tool| tool.definition().effect == ToolEffect::ReadOnly)
    };
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (index, call) in calls.iter().enumerate() {
        match groups.last_mut() {
            Some(group) if reads(call) && reads(&calls[group.start]) => group.end = index + 1,
            _ => groups.push(index..index + 1),
        }
    }
    groups
}

async fn run_call(agent: &Agent, run: &Run<'_>, call: &ToolCall) -> ToolOutput {
    if run.cancel.is_cancelled() {
        return ToolOutput::error(NOT_RUN);
    }
    if agent.steering().is_waiting() {
        return ToolOutput::error(SKIPPED);
    }
    let mut settings = agent.settings();
    if settings.tools.get(&call.name).is_none() {
        tokio::select! {
            biased;
            () = run.cancel.cancelled() => return ToolOutput::error(NOT_RUN),
            () = run.hooks.before_unknown_tool(&call.name) => settings = agent.settings(),
        }
    }
    let Some(tool) = settings.tools.get(&call.name) else {
        return ToolOutput::error(format!("unknown tool {:?}", call.name));
    };
    if let Err(malformed) = call.arguments.json() {
        return ToolOutput::error(format!(
            "invalid args: {malformed}; the arguments must be one JSON object"
        ));
    }
    let verdict = tokio::select! {
        biased;
        () = run.cancel.cancelled() => return ToolOutput::error(NOT_RUN),
        verdict = run.hooks.before_tool(call) => verdict,
    };
    let arguments = match verdict {
        ToolVerdict::Proceed => call.arguments.clone(),
        ToolVerdict::Rewrite(arguments) => arguments,
        ToolVerdict::Block { reason } => return ToolOutput::error(reason),
    };
    let call = ToolCall {
        arguments,
        ..call.clone()
    };
    let arguments = match permitted(agent, run, &settings, tool.as_ref(), &call).await {
        Verdict::Allow { arguments } => arguments.unwrap_or_else(|| call.arguments.clone()),
        Verdict::Deny { reason } => return ToolOutput::error(reason),
    };
    match arguments.json() {
        Ok(arguments) => run_tool(agent, run, tool.as_ref(), &call, arguments).await,
        Err(malformed) => ToolOutput::error(format!(
            "invalid args: they were replaced by malformed JSON: {malformed}"
        )),
    }
}

/// Asks for permission where the policy requires it.
async fn permitted(
    agent: &Agent,
    run: &Run<'_>,
    settings: &AgentSettings,
    tool: &dyn Tool,
    call: &ToolCall,
) -> Verdict {
    if !settings.approval.covers(&call.name) {
        return Verdict::Allow { arguments: None };
    }
    let reply = match agent.approvals().ask(&call.id, &call.name) {
        Asked::Known(verdict) => return verdict,
        Asked::Wait(reply) => reply,
    };
    let preview = call
        .arguments
        .json()
        .ok()
        .and_then(|arguments| tool.preview(arguments));
    run.emit(AgentEvent::ConfirmationRequested {
        call: call.clone(),
        preview,
    })
    .await;
    let denied = |reason: &str| Verdict::Deny {
        reason: reason.to_owned(),
    };
    let verdict = tokio::select! {
        biased;
        () = run.cancel.cancelled() => denied(NOT_RUN),
        reply = reply => match reply {
            Ok(verdict) => verdict,
            Err(_) => denied(NOBODY_LEFT),
        },
        () = tokio::time::sleep(settings.approval.timeout) => {
            denied("refused: nobody confirmed the call in time")
        }
        reason = run.meter.time_is_up() => denied(&reason),
    };
    agent.approvals().forget(&call.id);
    verdict
}

/// Runs a tool to its end, whatever it does: a panic and a refusal to stop become error results.
async fn run_tool(
    agent: &Agent,
    run: &Run<'_>,
    tool: &dyn Tool,
    call: &ToolCall,
    arguments: &RawValue,
) -> ToolOutput {
    let stop = run.cancel.child_token();
    let ToolCall { id, name, .. } = call;
    let progress = ReportedProgress { run, id };
    let questions = CallQuestions {
        agent,
        run,
        call: id,
    };
    let invocation = ToolInvocation {
        id,
        arguments,
        progress: &progress,
        questions: &questions,
        cancel: &stop,
    };
    // `run` itself is called inside the future, so that its panic is caught too.
    let mut running = pin!(CaughtPanic(Box::pin(
        async move { tool.run(invocation).await }
    )));
    let must_stop = async {
        tokio::select! {
            () = run.cancel.cancelled() => {}
            _ = run.meter.time_is_up() => {}
        }
    };
    let finished = tokio::select! {
        biased;
        finished = &mut running => finished,
        () = must_stop => {
            stop.cancel();
            match tokio::time::timeout(ABORT_GRACE, running).await {
                Ok(finished) => finished,
                Err(_) => return ToolOutput::error("aborted: the tool did not stop in time"),
            }
        }
    };
    finished.unwrap_or_else(|panic| {
        ToolOutput::error(format!("tool {name:?} failed internally: {panic}"))
    })
}

/// Sends a tool's output to the front end.
struct ReportedProgress<'a> {
    run: &'a Run<'a>,
    id: &'a ToolCallId,
}

impl Progress for ReportedProgress<'_> {
    fn report(&self, text: String) -> BoxFuture<'_, ()> {
        Box::pin(self.run.emit_delta(AgentEvent::ToolProgress {
            id: self.id.clone(),
            text,
        }))
    }
}

/// A future whose panic is its result.
struct CaughtPanic<'a, T>(BoxFuture<'a, T>);

impl<T> Future for CaughtPanic<'_, T> {
    type Output = Result<T, String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // After a panic the future is never polled again, so no broken state can be seen.
        match catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context))) {
            Ok(poll) => poll.map(Ok),
            Err(panic) => Poll::Ready(Err(panic_text(panic.as_ref()))),
        }
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panicked".to_owned())
}

/// Polls all futures concurrently and returns their outputs in order.
async fn join<T>(futures: Vec<BoxFuture<'_, T>>) -> Vec<T> {
    let mut slots: Vec<(BoxFuture<'_, T>, Option<T>)> =
        futures.into_iter().map(|future| (future, None)).collect();
    std::future::poll_fn(|context| {
        let mut pending = false;
        for (future, output) in &mut slots {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *output = Some(value),
                    Poll::Pending => pending = true,
                }
            }
        }
        if pending {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })
    .await;
    slots.into_iter().filter_map(|(_, output)| output).collect()
}
