//! What each command does.

use std::io;

use zot_sdk::{PanelAction, ReasoningEffort, VERSION};
use zot_wire::rpc::{
    Command, FullMessage, FullMessagesData, HelloData, MessagesData, ModelData, ModelsData,
    PROTOCOL_VERSION, PongData, ReasoningData, RequestId, SetMessagesData, SubscribedData,
    ToolsData,
};

use super::Server;
use super::refusal::Refusal;
use crate::queue::{Job, JobWork};

/// What this server can do beyond the original protocol.
const CAPABILITIES: [&str; 20] = [
    "full_messages",
    "set_messages",
    "steer",
    "when_busy",
    "confirm",
    "budgets",
    "error_codes",
    "set_reasoning",
    "set_tools",
    "get_tools",
    "set_system_prompt",
    "get_usage",
    "subscribe",
    "commands",
    "reload_ext",
    "panels",
    "mentions",
    "thinking",
    "retries",
    "session",
];

impl Server {
    pub(super) fn execute(&mut self, id: Option<RequestId>, command: Command) -> io::Result<()> {
        let name = command.name();
        match command {
            Command::Hello { capabilities, .. } => {
                if capabilities
                    .iter()
                    .any(|capability| capability == "confirm")
                {
                    self.confirming.understood(&self.runtime);
                }
                let data = HelloData {
                    protocol_version: PROTOCOL_VERSION,
                    version: VERSION.to_owned(),
                    provider: self.runtime.provider().to_owned(),
                    model: self.runtime.model(),
                    capabilities: CAPABILITIES.map(ToOwned::to_owned).to_vec(),
                };
                self.succeed(id, name, data)
            }
            Command::Prompt(prompt) => self.prompt(id, prompt),
            Command::Compact => {
                let work = JobWork::Compact;
                self.enqueue(Job { id, work }, name)
            }
            Command::Abort => {
                self.runtime.cancel();
                self.replies.cancel();
                self.aborted = self.running.is_some();
                self.acknowledge(id, name)
            }
            Command::Steer(steer) => {
                let result = self.steer(steer);
                self.conclude(id, name, result)
            }
            Command::Confirm(confirm) => {
                self.confirming.understood(&self.runtime);
                let result = self.confirm(confirm);
                self.conclude_quietly(id, name, result)
            }
            Command::GetState => {
                let state = self.runtime.state();
                self.succeed(id, name, state)
            }
            Command::GetMessages { full: false } => {
                let messages = self.runtime.messages();
                self.succeed(id, name, MessagesData { messages })
            }
            Command::GetMessages { full: true } => {
                let messages = self.runtime.full_messages();
                self.succeed(id, name, FullMessagesData { messages })
            }
            Command::SetMessages { messages, append } => {
                let result = self.set_messages(messages, append);
                self.conclude(id, name, result)
            }
            Command::Clear => {
                let result = self.runtime.clear().map_err(Refusal::from);
                self.conclude_quietly(id, name, result)
            }
            Command::SetModel { model } => {
                let result = self.runtime.set_model(&model).map_err(Refusal::from);
                self.conclude(id, name, result.map(|()| ModelData { model }))
            }
            Command::GetModels => {
                let models = self.runtime.list_models();
                self.succeed(id, name, ModelsData { models })
            }
            Command::SetReasoning { effort } => {
                let result = self.set_reasoning(effort);
                self.conclude(id, name, result)
            }
            Command::SetTools { tools } => {
                let result = self.runtime.set_tools(tools.as_deref());
                let result = result.map_err(Refusal::from).map(|()| self.tools());
                self.conclude(id, name, result)
            }
            Command::SetSystemPrompt { prompt } => {
                let result = self.runtime.set_system_prompt(prompt.as_deref());
                let result = result.map_err(|busy| Refusal::new("busy", busy));
                self.conclude_quietly(id, name, result)
            }
            Command::GetTools => {
                let tools = self.tools();
                self.succeed(id, name, tools)
            }
            Command::GetUsage => {
                let usage = self.runtime.usage();
                self.succeed(id, name, usage)
            }
            Command::Subscribe { events, details } => {
                let result = self.subscribe(events);
                self.filter.set_details(details && result.is_ok());
                self.conclude(id, name, result)
            }
            Command::GetCommands => {
                let result = self.get_commands(id.clone());
                self.answer_later(id, name, result)
            }
            Command::InvokeCommand {
                name: command,
                args,
            } => {
                let result = self.invoke_command(id.clone(), command, args);
                self.answer_later(id, name, result)
            }
            Command::ReloadExt => {
                let result = self.reload_ext(id.clone());
                self.answer_later(id, name, result)
            }
            Command::PanelKey {
                extension,
                panel_id,
                key,
                text,
            } => {
                let action = PanelAction::Key {
                    panel_id,
                    key,
                    text,
                };
                self.tell_panel(id, name, &extension, action)
            }
            Command::PanelResize {
                extension,
                panel_id,
                width,
                height,
            } => {
                let action = PanelAction::Resize {
                    panel_id,
                    width,
                    height,
                };
                self.tell_panel(id, name, &extension, action)
            }
            Command::PanelClose {
                extension,
                panel_id,
            } => {
                let action = PanelAction::Close { panel_id };
                self.tell_panel(id, name, &extension, action)
            }
            Command::Ping => self.succeed(id, name, PongData { pong: true }),
        }
    }

    fn set_messages(
        &mut self,
        messages: Vec<FullMessage>,
        append: bool,
    ) -> Result<SetMessagesData, Refusal> {
        let repaired = if append {
            self.runtime.append_messages(messages)
        } else {
            self.runtime.set_messages(messages)
        };
        Ok(SetMessagesData {
            repaired: repaired?,
            message_count: self.runtime.state().message_count,
        })
    }

    fn set_reasoning(&mut self, effort: Option<String>) -> Result<ReasoningData, Refusal> {
        let parsed: Option<ReasoningEffort> = effort
            .map(|name| name.parse())
            .transpose()
            .map_err(|unknown| Refusal::argument(format!("effort: {unknown}")))?;
        self.runtime
            .set_reasoning(parsed)
            .map_err(|busy| Refusal::new("busy", busy))?;
        Ok(ReasoningData {
            effort: parsed.map(|effort| effort.as_str().to_owned()),
        })
    }

    fn subscribe(&mut self, events: Option<Vec<String>>) -> Result<SubscribedData, Refusal> {
        let names_confirmations = events.iter().flatten().any(|name| name == "tool_confirm");
        self.filter
            .subscribe(events.as_deref())
            .map_err(Refusal::argument)?;
        if names_confirmations {
            self.confirming.understood(&self.runtime);
        }
        Ok(SubscribedData {
            events: self.filter.names(),
        })
    }

    fn tell_panel(
        &mut self,
        id: Option<RequestId>,
        command: &str,
        extension: &str,
        action: PanelAction,
    ) -> io::Result<()> {
        let result = self.runtime.tell_panel(extension, action);
        self.conclude_quietly(id, command, result.map_err(Refusal::from))
    }

    fn tools(&self) -> ToolsData {
        ToolsData {
            tools: self.runtime.tools(),
        }
    }
}
