//! Asks interceptors, one after another.

use zot_wire::RawJson;
use zot_wire::extension::{EventKind, LifecycleEvent};

use super::ExtensionHost;
use crate::extension::{Extension, Interception};

/// Whether a model call may happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnDecision {
    Proceed,
    Block { reason: String },
}

/// Whether a tool may run, and with what.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolDecision {
    Proceed,
    Rewrite(RawJson),
    Block { reason: String },
}

/// How a message is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageDecision {
    Keep,
    Replace(String),
    Suppress,
}

impl ExtensionHost {
    pub async fn before_turn(&self, step: u32) -> TurnDecision {
        if let Some(reason) = self.obstructed().await {
            return TurnDecision::Block { reason };
        }
        for extension in self.interceptors(EventKind::TurnStart) {
            let event = LifecycleEvent::TurnStart { step };
            if let Some(reason) = blocked(&extension, extension.intercept(event).await).0 {
                return TurnDecision::Block { reason };
            }
        }
        TurnDecision::Proceed
    }

    /// Asks about a tool call. Rewritten arguments must fit `schema`.
    pub async fn before_tool(
        &self,
        id: &str,
        tool: &str,
        arguments: &RawJson,
        schema: &str,
    ) -> ToolDecision {
        if let Some(reason) = self.obstructed().await {
            return ToolDecision::Block { reason };
        }
        let mut rewritten: Option<RawJson> = None;
        for extension in self.interceptors(EventKind::ToolCall) {
            let event = LifecycleEvent::ToolCall {
                tool_id: id.to_owned(),
                tool_name: tool.to_owned(),
                tool_args: rewritten.as_ref().unwrap_or(arguments).clone(),
            };
            let (reason, response) = blocked(&extension, extension.intercept(event).await);
            if let Some(reason) = reason {
                return ToolDecision::Block { reason };
            }
            let Some(modified) = response.and_then(|response| response.modified_args) else {
                continue;
            };
            match zot_extension_contract::check_arguments(schema, modified.get()) {
                Ok(()) => rewritten = Some(modified),
                Err(error) => extension.log(&format!(
                    "modified_args for {tool} are ignored: {error}: {}",
                    modified.get()
                )),
            }
        }
        rewritten.map_or(ToolDecision::Proceed, ToolDecision::Rewrite)
    }

    pub async fn before_assistant_message(&self, text: &str) -> MessageDecision {
        self.settled().await;
        let mut replaced: Option<String> = None;
        for extension in self.interceptors(EventKind::AssistantMessage) {
            let event = LifecycleEvent::AssistantMessage {
                text: replaced.as_deref().unwrap_or(text).to_owned(),
            };
            let (reason, response) = blocked(&extension, extension.intercept(event).await);
            if reason.is_some() {
                return MessageDecision::Suppress;
            }
            if let Some(text) = response.and_then(|response| response.replace_text) {
                replaced = Some(text);
            }
        }
        replaced.map_or(MessageDecision::Keep, MessageDecision::Replace)
    }

    /// Waits for extensions that may intercept and are not running yet, and returns why nothing may
    /// happen if one of them has failed for good.
    async fn obstructed(&self) -> Option<String> {
        self.settled().await;
        self.obstacle()
    }

    fn interceptors(&self, kind: EventKind) -> Vec<std::sync::Arc<Extension>> {
        self.roster()
            .extensions()
            .iter()
            .filter(|extension| extension.intercepts(kind))
            .cloned()
            .collect()
    }
}

/// Returns why the event is blocked, if it is, and otherwise the interceptor's response.
fn blocked(
    extension: &Extension,
    interception: Interception,
) -> (
    Option<String>,
    Option<zot_wire::extension::InterceptResponse>,
) {
    match interception {
        Interception::Failed { reason, blocks } => (blocks.then_some(reason), None),
        Interception::Answered(response) if response.block => {
            let reason = match response.reason.as_str() {
                "" => format!("blocked by extension {}", extension.name()),
                reason => reason.to_owned(),
            };
            (Some(reason), None)
        }
        Interception::Answered(response) => (None, Some(response)),
    }
}
