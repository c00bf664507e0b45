//! What remains of a response: in the transcript, in the journal and for the reader.

use std::sync::Arc;

use zot_conversation::{AgentEvent, ContentBlock, ErrorReport, Message, Role, Usage};

use crate::agent::now;
use crate::driver::{Run, journal_report};
use crate::{Agent, MessageVerdict};

/// The content of a response that is kept.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) content: Vec<ContentBlock>,
    /// Text deltas that hooks hold back until the message is complete.
    pub(super) held: Vec<String>,
}

/// Writes usage and message to the journal and reports both.
pub(super) async fn keep(
    agent: &Agent,
    run: &Run<'_>,
    kept: Kept,
    usage: Usage,
) -> Result<(), ErrorReport> {
    let message = if kept.content.is_empty() {
        None
    } else {
        let message = Message {
            role: Role::Assistant,
            content: kept.content,
            time: now(),
        };
        Some(agent.append(message).map_err(|e| journal_report(&e))?)
    };
    let cumulative = agent.add_usage(usage).map_err(|e| journal_report(&e))?;
    let text = message.as_ref().map(|message| message.text());
    let text = text.unwrap_or_default();
    let mut verdict = None;
    if !kept.held.is_empty() {
        // Text that no hook has seen is not shown, even when the prompt was aborted.
        let early = verdict_on(run, &text, MessageVerdict::Suppress).await;
        release_text(run, kept.held, &early).await;
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
    // The hook first: an abort ends the wait but does not discard a verdict that has arrived.
    tokio::select! {
        biased;
        verdict = run.hooks.before_assistant_message(text) => verdict,
        () = run.cancel.cancelled() => when_aborted,
    }
}

/// Reports the text that was held back, as the hooks changed it.
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

/// Returns the message as the hooks changed it; `None` when they suppress it.
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
