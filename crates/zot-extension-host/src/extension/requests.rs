//! What an extension is asked: to run a tool or a command, and what it thinks of an event.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use zot_conversation::ToolOutput;
use zot_extension_contract::FailurePolicy;
use zot_wire::RawJson;
use zot_wire::extension::{
    CommandResponse, EventKind, HostFrame, InterceptResponse, LifecycleEvent,
};

use super::{Extension, Phase};
use crate::content;
use crate::limits::{COMMAND_TIMEOUT, INTERCEPT_TIMEOUT, TOOL_TIMEOUT};
use crate::notices::Notice;
use crate::pending::{PendingRequest, RequestError, Waiting};

/// The response of an interceptor, or what its policy is if it did not respond.
pub(crate) enum Interception {
    Answered(InterceptResponse),
    Failed { reason: String, blocks: bool },
}

impl Extension {
    /// Calls a tool; failures become results that the model can read.
    pub(crate) async fn call_tool(
        &self,
        tool: &str,
        arguments: RawJson,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let response = self.request(Waiting::Tool, TOOL_TIMEOUT, |id| HostFrame::ToolCall {
            id,
            name: tool.to_owned(),
            args: arguments,
        });
        let response = tokio::select! {
            biased;
            response = response => response,
            () = cancel.cancelled() => Err(RequestError::Cancelled),
        };
        match response {
            Ok(result) => content::tool_output(self.name(), tool, result),
            Err(error) => {
                let reason = match error {
                    // Existing programs rely on this text.
                    RequestError::NotRunning => {
                        format!("no extension registered for tool {tool:?}")
                    }
                    error => error.to_string(),
                };
                ToolOutput::error(format!("extension {}/{tool} failed: {reason}", self.name()))
            }
        }
    }

    pub(crate) async fn invoke(
        &self,
        command: &str,
        arguments: &str,
    ) -> Result<CommandResponse, RequestError> {
        self.request(Waiting::Command, COMMAND_TIMEOUT, |id| {
            HostFrame::CommandInvoked {
                id,
                name: command.to_owned(),
                args: arguments.trim().to_owned(),
            }
        })
        .await
    }

    /// Returns whether it has to be asked before an event of this kind. A guard that must not fail
    /// open is asked even if it never got as far as registering what it guards.
    pub(crate) fn intercepts(&self, kind: EventKind) -> bool {
        let state = self.lock();
        let is_guard = self.found.manifest.on_failure == FailurePolicy::Block;
        match state.phase {
            Phase::Ready => state.registrations.intercepts.contains(kind),
            Phase::Starting | Phase::Restarting { .. } | Phase::Failed { .. } | Phase::Stopped => {
                let is_known = state.registrations.intercepts.contains(kind);
                let may_be = !state.was_ready && kind == EventKind::ToolCall;
                is_guard && (is_known || may_be)
            }
        }
    }

    /// Returns whether text is held back until it has seen it.
    pub(crate) fn holds_text(&self) -> bool {
        let state = self.lock();
        let is_guard = self.found.manifest.on_failure == FailurePolicy::Block;
        // The text is not shown before a restart has finished.
        let answers = matches!(state.phase, Phase::Ready | Phase::Restarting { .. });
        (answers || is_guard)
            && state.registrations.hold_text
            && state
                .registrations
                .intercepts
                .contains(EventKind::AssistantMessage)
    }

    pub(crate) async fn intercept(&self, event: LifecycleEvent) -> Interception {
        let kind = event.kind();
        let response = self
            .request(Waiting::Intercept, INTERCEPT_TIMEOUT, |id| {
                HostFrame::EventIntercept { id, event }
            })
            .await;
        match response {
            Ok(response) => Interception::Answered(response),
            Err(error) => {
                let blocks = self.found.manifest.on_failure == FailurePolicy::Block;
                let consequence = if blocks { "blocked" } else { "allowed" };
                let message = format!("event_intercept {}: {error}; {consequence}", kind.as_str());
                self.log(&message);
                // That a guard let something pass unseen is not only logged.
                self.notify(Notice::Problem(format!(
                    "extension {}: {message}",
                    self.name()
                )));
                Interception::Failed {
                    reason: format!("extension {} did not answer: {error}", self.name()),
                    blocks,
                }
            }
        }
    }

    /// Sends a request and waits for its response.
    async fn request<T>(
        &self,
        waiting: impl FnOnce(oneshot::Sender<Result<T, RequestError>>) -> Waiting,
        patience: Duration,
        frame: impl FnOnce(String) -> HostFrame,
    ) -> Result<T, RequestError> {
        if self.phase() != Phase::Ready {
            return Err(RequestError::NotRunning);
        }
        let id = self.context.next_id.fetch_add(1, Ordering::Relaxed);
        let id = id.to_string();
        let (sender, receiver) = oneshot::channel();
        self.pending.add(&id, waiting(sender))?;
        let pending = PendingRequest {
            pending: &self.pending,
            id,
        };
        self.send(&frame(pending.id.clone()))?;
        match timeout(patience, receiver).await {
            Ok(Ok(response)) => response,
            // A response takes the sender out and uses it; it is dropped unused only at the end.
            Ok(Err(_)) => Err(RequestError::NotRunning),
            Err(_) => {
                self.log(&format!("no answer to {} within {patience:?}", pending.id));
                Err(RequestError::TimedOut(patience))
            }
        }
    }
}
