//! Shortens a transcript: all but a kept tail becomes one synthetic user message.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::sync::Arc;

use zot_conversation::{
    AgentEvent, ContentBlock, ErrorCode, ErrorReport, Message, Role, ToolResult, Transcript, Usage,
};

use crate::Agent;
use crate::agent::now;
use crate::driver::{Run, journal_report};
use crate::model_call::ask;

/// How many messages at the end stay unchanged.
///
/// Limit: the newest messages are never summarised; a shorter conversation is not compacted.
pub const KEPT_TAIL_MESSAGES: usize = 4;

/// How full the context window may get before the next call compacts it.
///
/// Limit: the conversation is compacted before the next model call, if the model's window is known.
pub const COMPACT_AT_PERCENT: u64 = 85;

/// How a summary begins in the transcript.
pub const SUMMARY_HEADING: &str = "## Context Summary (compacted)\n\n";

/// The most characters of one block that the summary uses: a long tool output adds little.
///
/// Limit: the summary is made from the beginning and the end of a longer block.
const MAX_SUMMARISED_BLOCK_BYTES: usize = 4_000;

/// The most of the context window, in characters per token of it, that the conversation may fill.
/// Two is half of the usual four, which leaves room for text that tokenises badly.
///
/// Limit: the summary leaves out the oldest messages beyond this share of the window.
const CHARACTERS_PER_WINDOW_TOKEN: usize = 2;

const SYSTEM: &str = "You compress the history of a working session between a user and an agent \
that uses tools. Someone else continues the work with nothing but your summary and the last few \
messages. Write down, in this order and as briefly as it can be done without losing a fact: what \
the user wants, with every constraint they named; what was decided and why; what was done, with \
exact file paths, commands, names and values; what failed and how; what is still open. Quote \
short pieces of code or output only where the exact text matters. Do not address anyone, do not \
continue the work, write only the summary.";

/// How a compaction went.
pub(crate) enum CompactionResult {
    Shortened {
        summary: String,
    },
    Aborted,
    Failed(ErrorReport),
    /// The journal failed.
    NotRecorded(ErrorReport),
}

/// Replaces the transcript with a summary. Nothing changes before the summary is complete.
pub(crate) async fn run(agent: &Agent, run: &Run<'_>) -> CompactionResult {
    let transcript = agent.fit_transcript();
    let Some(cut) = tail_start(transcript.messages()) else {
        return CompactionResult::Failed(ErrorReport::new(
            ErrorCode::NothingToCompact,
            "nothing to compact: keep-tail covers the whole transcript",
        ));
    };
    if let Some(reason) = run.meter.reached(agent) {
        return CompactionResult::Failed(ErrorReport::new(ErrorCode::Budget, reason));
    }
    run.emit(AgentEvent::CompactionStarted).await;
    let settings = agent.active_settings();
    let (head, tail) = transcript.messages().split_at(cut);
    let limit = usize::try_from(settings.model.context_window)
        .unwrap_or(usize::MAX)
        .saturating_mul(CHARACTERS_PER_WINDOW_TOKEN);
    let request = Arc::new(Message::user_text(
        format!(
            "<conversation>\n{}</conversation>\n\nSummarise the conversation above.",
            render(head, if limit == 0 { usize::MAX } else { limit })
        ),
        now(),
    ));
    let response = ask(&settings, run, SYSTEM, &[request]).await;
    let (outcome, usage) = match response {
        None => return CompactionResult::Aborted,
        Some(Ok((summary, usage))) => (Ok(summary), usage),
        Some(Err((error, usage))) => (Err(error), usage),
    };
    if let Err(report) = report_usage(agent, run, usage).await {
        return CompactionResult::NotRecorded(report);
    }
    let summary = match outcome {
        Ok(summary) => summary.trim().to_owned(),
        Err(error) => {
            let report = settings.model.report(&error);
            return CompactionResult::Failed(report);
        }
    };
    if summary.is_empty() {
        return failed("the model returned an empty summary; the transcript is unchanged");
    }
    let mut messages = Vec::with_capacity(tail.len() + 1);
    messages.push(Arc::new(Message::user_text(
        format!("{SUMMARY_HEADING}{summary}"),
        now(),
    )));
    messages.extend(tail.iter().cloned());
    match agent.replace_transcript(Transcript::from(messages)) {
        Ok(()) => CompactionResult::Shortened { summary },
        Err(error) => CompactionResult::NotRecorded(journal_report(&error)),
    }
}

/// Reports what the summary cost, unless the request failed before it cost anything.
async fn report_usage(agent: &Agent, run: &Run<'_>, usage: Usage) -> Result<(), ErrorReport> {
    if usage == Usage::default() {
        return Ok(());
    }
    let cumulative = agent.add_usage(usage).map_err(|e| journal_report(&e))?;
    run.emit(AgentEvent::UsageReported {
        turn: usage,
        cumulative,
    })
    .await;
    Ok(())
}

fn failed(message: &str) -> CompactionResult {
    CompactionResult::Failed(ErrorReport::new(ErrorCode::Compaction, message))
}

/// Returns where the kept tail begins, or `None` when it would cover everything.
///
/// A tail never begins with tool results: their calls would be missing.
fn tail_start(messages: &[Arc<Message>]) -> Option<usize> {
    let mut cut = messages.len().checked_sub(KEPT_TAIL_MESSAGES)?;
    while cut > 0 && messages.get(cut).is_some_and(|m| m.role == Role::Tool) {
        cut -= 1;
    }
    (cut > 0).then_some(cut)
}

/// Renders the conversation as text, without its oldest part when it exceeds `limit` characters.
fn render(messages: &[Arc<Message>], limit: usize) -> String {
    let mut rendered: Vec<String> = Vec::new();
    let mut length = 0;
    for message in messages.iter().rev() {
        let text = render_message(message);
        length += text.len();
        if length > limit && !rendered.is_empty() {
            let left_out = messages.len() - rendered.len();
            rendered.push(format!("[{left_out} earlier messages left out]\n\n"));
            break;
        }
        rendered.push(text);
    }
    rendered.into_iter().rev().collect()
}

fn render_message(message: &Message) -> String {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut text = format!("[{role}]\n");
    for block in &message.content {
        render_block(&mut text, block);
    }
    text.push('\n');
    text
}

fn render_block(text: &mut String, block: &ContentBlock) {
    // Writing to a String cannot fail.
    let _ = match block {
        ContentBlock::Text(content) => writeln!(text, "{}", clipped(content)),
        ContentBlock::Image(image) => writeln!(
            text,
            "(image, {}, {} bytes)",
            image.mime_type,
            image.data.len()
        ),
        ContentBlock::Reasoning(_) => Ok(()),
        ContentBlock::ToolCall(call) => writeln!(
            text,
            "(calls {} with {})",
            call.name,
            clipped(call.arguments.json_or_empty())
        ),
        ContentBlock::ToolResult(ToolResult {
            is_error, content, ..
        }) => {
            let _ = writeln!(text, "({})", if *is_error { "error" } else { "result" });
            for block in content {
                render_block(text, block);
            }
            Ok(())
        }
    };
}

/// Returns the beginning and the end of a long text.
fn clipped(text: &str) -> std::borrow::Cow<'_, str> {
    if text.len() <= MAX_SUMMARISED_BLOCK_BYTES {
        return text.into();
    }
    let head = text.floor_char_boundary(MAX_SUMMARISED_BLOCK_BYTES / 2);
    let tail = text.ceil_char_boundary(text.len() - MAX_SUMMARISED_BLOCK_BYTES / 2);
    format!(
        "{}\n[… {} bytes left out …]\n{}",
        &text[..head],
        tail - head,
        &text[tail..]
    )
    .into()
}
