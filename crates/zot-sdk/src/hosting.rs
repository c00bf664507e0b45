//! Lets extensions observe and intervene, and describes them to front ends.

use std::sync::Arc;

use zot_agent::{Hooks, MessageVerdict, SharedSettings, ToolVerdict, TurnVerdict};
use zot_conversation::{AgentEvent, Arguments, BoxFuture, ToolCall};
use zot_extension_host::{
    Extension, ExtensionHost, Invoked, MessageDecision, Phase, ToolDecision, TurnDecision,
};
use zot_wire::extension::{CommandAction, EventKind, HostFrame, LifecycleEvent};
use zot_wire::rpc::{CommandEntry, ExtensionEntry, InvokedData};

use crate::toolbox::ToolBox;
use crate::wire;

/// Forwards the agent's hooks to extensions.
pub(crate) struct ExtensionHooks {
    pub(crate) host: Arc<ExtensionHost>,
    pub(crate) toolbox: Arc<ToolBox>,
    /// The agent's settings, which change when extensions register tools.
    pub(crate) settings: Arc<SharedSettings>,
}

impl Hooks for ExtensionHooks {
    fn before_turn(&self, step: u32) -> BoxFuture<'_, TurnVerdict> {
        Box::pin(async move {
            let decision = self.host.before_turn(step).await;
            // Tools registered in the meantime are available from this model call on.
            self.toolbox.refresh(&self.settings);
            match decision {
                TurnDecision::Proceed => TurnVerdict::Proceed,
                TurnDecision::Block { reason } => TurnVerdict::Block { reason },
            }
        })
    }

    fn before_tool<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolVerdict> {
        Box::pin(async move {
            let settings = self.settings.get();
            let schema = settings
                .tools
                .get(&call.name)
                .map_or("{}", |tool| tool.definition().parameters.get());
            let arguments = wire::arguments(&call.arguments);
            let decision = self
                .host
                .before_tool(call.id.as_str(), &call.name, &arguments, schema)
                .await;
            match decision {
                ToolDecision::Proceed => ToolVerdict::Proceed,
                ToolDecision::Rewrite(arguments) => {
                    ToolVerdict::Rewrite(Arguments::from_model_text(arguments.get()))
                }
                ToolDecision::Block { reason } => ToolVerdict::Block { reason },
            }
        })
    }

    fn before_assistant_message<'a>(&'a self, text: &'a str) -> BoxFuture<'a, MessageVerdict> {
        Box::pin(async move {
            match self.host.before_assistant_message(text).await {
                MessageDecision::Keep => MessageVerdict::Keep,
                MessageDecision::Replace(text) => MessageVerdict::Replace(text),
                MessageDecision::Suppress => MessageVerdict::Suppress,
            }
        })
    }

    fn holds_text(&self) -> bool {
        self.host.holds_text()
    }

    fn on_event(&self, event: &AgentEvent) {
        let kind = match event {
            AgentEvent::TurnStarted { .. } => EventKind::TurnStart,
            AgentEvent::TurnEnded { .. } => EventKind::TurnEnd,
            AgentEvent::ToolCallRequested(_) => EventKind::ToolCall,
            AgentEvent::AssistantMessage(_) => EventKind::AssistantMessage,
            _ => return,
        };
        self.host.emit(kind, || lifecycle_event(event));
    }
}

fn lifecycle_event(event: &AgentEvent) -> LifecycleEvent {
    match event {
        AgentEvent::TurnStarted { step } => LifecycleEvent::TurnStart { step: *step },
        AgentEvent::TurnEnded { stop, error } => LifecycleEvent::TurnEnd {
            stop: stop.as_str().to_owned(),
            error: error.clone(),
        },
        AgentEvent::ToolCallRequested(call) => LifecycleEvent::ToolCall {
            tool_id: call.id.to_string(),
            tool_name: call.name.clone(),
            tool_args: wire::arguments(&call.arguments),
        },
        AgentEvent::AssistantMessage(message) => LifecycleEvent::AssistantMessage {
            text: message.text(),
        },
        _ => LifecycleEvent::SessionStart,
    }
}

/// A user action in a panel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PanelAction {
    /// A key by its name, or `rune` for a character. `esc` closes the panel.
    Key {
        /// The id of the panel.
        panel_id: String,
        /// The name of the key.
        key: String,
        /// The text that the key produces, if any.
        text: String,
    },
    /// The panel was resized.
    Resize {
        /// The id of the panel.
        panel_id: String,
        /// The new width, in columns.
        width: u32,
        /// The new height, in lines.
        height: u32,
    },
    /// The panel was closed.
    Close {
        /// The id of the panel.
        panel_id: String,
    },
}

impl PanelAction {
    pub(crate) fn into_frame(self) -> HostFrame {
        match self {
            Self::Key {
                panel_id,
                key,
                text,
            } => HostFrame::key_in_panel(panel_id, key, text),
            Self::Resize {
                panel_id,
                width,
                height,
            } => HostFrame::PanelResize {
                panel_id,
                width,
                height,
            },
            Self::Close { panel_id } => HostFrame::PanelClose { panel_id },
        }
    }
}

pub(crate) fn entry(extension: &Extension) -> ExtensionEntry {
    let (state, error) = match extension.phase() {
        Phase::Starting => ("starting", None),
        Phase::Ready => ("ready", None),
        Phase::Restarting { reason } => ("restarting", Some(reason)),
        Phase::Failed { reason } => ("failed", Some(reason)),
        Phase::Stopped => ("stopped", None),
    };
    let found = extension.found();
    ExtensionEntry {
        name: extension.name().to_owned(),
        version: found.manifest.version.clone(),
        state: state.to_owned(),
        error,
        source: found.source.as_str().to_owned(),
        directory: found.directory.display().to_string(),
        commands: extension
            .commands()
            .into_iter()
            .map(|command| command.name)
            .collect(),
        tools: extension
            .tools()
            .iter()
            .map(|tool| tool.name.clone())
            .collect(),
    }
}

pub(crate) fn commands(host: &ExtensionHost) -> Vec<CommandEntry> {
    host.commands()
        .into_iter()
        .map(|command| CommandEntry {
            name: command.name,
            description: command.description,
            extension: command.extension,
            source: None,
        })
        .collect()
}

pub(crate) fn invoked(invoked: Invoked) -> InvokedData {
    let mut data = InvokedData {
        extension: invoked.extension,
        source: None,
        action: "noop".to_owned(),
        prompt: None,
        insert: None,
        display: None,
        open_panel: None,
        error: Some(invoked.error).filter(|error| !error.is_empty()),
    };
    let action = match invoked.action {
        CommandAction::Prompt { prompt } => {
            data.prompt = Some(prompt);
            "prompt"
        }
        CommandAction::Insert { insert } => {
            data.insert = Some(insert);
            "insert"
        }
        CommandAction::Display { display } => {
            data.display = Some(display);
            "display"
        }
        CommandAction::OpenPanel { open_panel } => {
            data.open_panel = Some(open_panel);
            "open_panel"
        }
        CommandAction::Noop => "noop",
    };
    action.clone_into(&mut data.action);
    data
}
