//! Carries out the commands.

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

/// Additions to the original protocol that this server supports.
const CAPABILITIES: [&str; 23] = [
    "full_messages",
    "set_messages",
    "steer",
    "when_busy",
    "confirm",
    "questions",
    "budgets",
    "error_codes",
    "set_reasoning",
    "set_tools",
    "get_tools",
    "set_sandbox",
    "set_system_prompt",
    "get_usage",
    "mcp",
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
    /// Carries out a command: responds immediately, or queues the work.
    pub(super) fn execute(&mut self, id: Option<RequestId>, command: Command) -> io::Result<()> {
        let kind = command.name();
        // Flat table: what each command does.
        match command {
            Command::Hello { capabilities, .. } => self.hello(id, kind, &capabilities),
            Command::Ping => self.succeed(id, kind, PongData { pong: true }),
            Command::Prompt(prompt) => self.prompt(id, prompt),
            Command::Compact => self.compact(id, kind),
            Command::Abort => self.abort(id, kind),
            Command::Steer(steer) => self.respond(id, kind, self.steer(steer)),
            Command::Confirm(confirm) => {
                let result = self.confirm(confirm);
                self.respond_empty(id, kind, result)
            }
            Command::Answer(answer) => self.respond_empty(id, kind, self.answer(answer)),
            Command::GetState => self.succeed(id, kind, self.runtime.state()),
            Command::GetMessages { full } => self.get_messages(id, kind, full),
            Command::GetModels => self.get_models(id, kind),
            Command::GetTools => self.succeed(id, kind, self.tools()),
            Command::GetMcp => self.succeed(id, kind, self.runtime.mcp_data()),
            Command::GetUsage => self.succeed(id, kind, self.runtime.usage()),
            Command::SetMessages { messages, append } => {
                self.respond(id, kind, self.set_messages(messages, append))
            }
            Command::SetModel { model } => self.respond(id, kind, self.set_model(model)),
            Command::SetReasoning { effort } => self.respond(id, kind, self.set_reasoning(effort)),
            Command::SetTools { tools } => self.respond(id, kind, self.set_tools(tools)),
            Command::SetSandbox(sandbox) => {
                let changed = self.runtime.request_sandbox(sandbox);
                self.respond(id, kind, changed.map_err(Refusal::from))
            }
            Command::SetSystemPrompt { prompt } => {
                self.respond_empty(id, kind, self.set_system_prompt(prompt))
            }
            Command::Clear => self.respond_empty(id, kind, self.clear()),
            Command::Subscribe { events, details } => {
                let result = self.subscribe(events, details);
                self.respond(id, kind, result)
            }
            Command::GetCommands => {
                let result = self.get_commands(id.clone());
                self.respond_later(id, kind, result)
            }
            Command::InvokeCommand { name, args } => {
                let result = self.invoke_command(id.clone(), name, args);
                self.respond_later(id, kind, result)
            }
            Command::ReloadExt => {
                let result = self.reload_ext(id.clone());
                self.respond_later(id, kind, result)
            }
            Command::PanelKey {
                extension,
                panel_id,
                key,
                text,
            } => self.send_to_panel(
                id,
                kind,
                &extension,
                PanelAction::Key {
                    panel_id,
                    key,
                    text,
                },
            ),
            Command::PanelResize {
                extension,
                panel_id,
                width,
                height,
            } => self.send_to_panel(
                id,
                kind,
                &extension,
                PanelAction::Resize {
                    panel_id,
                    width,
                    height,
                },
            ),
            Command::PanelClose {
                extension,
                panel_id,
            } => self.send_to_panel(id, kind, &extension, PanelAction::Close { panel_id }),
        }
    }

    fn hello(
        &mut self,
        id: Option<RequestId>,
        name: &str,
        capabilities: &[String],
    ) -> io::Result<()> {
        if capabilities.iter().any(|name| name == "confirm") {
            self.confirming.set_announced(&self.runtime);
        }
        if capabilities.iter().any(|name| name == "questions") {
            self.runtime.accept_questions();
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

    fn compact(&mut self, id: Option<RequestId>, name: &str) -> io::Result<()> {
        let work = JobWork::Compact;
        self.enqueue(Job { id, work }, name)
    }

    fn abort(&mut self, id: Option<RequestId>, name: &str) -> io::Result<()> {
        self.runtime.cancel();
        self.replies.cancel();
        self.is_aborted = self.running.is_some();
        self.acknowledge(id, name)
    }

    fn get_messages(&mut self, id: Option<RequestId>, name: &str, full: bool) -> io::Result<()> {
        match full {
            true => {
                let messages = self.runtime.full_messages();
                self.succeed(id, name, FullMessagesData { messages })
            }
            false => {
                let messages = self.runtime.messages();
                self.succeed(id, name, MessagesData { messages })
            }
        }
    }

    fn get_models(&mut self, id: Option<RequestId>, name: &str) -> io::Result<()> {
        let models = self.runtime.list_models();
        self.succeed(id, name, ModelsData { models })
    }

    fn set_model(&self, model: String) -> Result<ModelData, Refusal> {
        self.runtime.set_model(&model)?;
        Ok(ModelData { model })
    }

    fn set_tools(&self, tools: Option<Vec<String>>) -> Result<ToolsData, Refusal> {
        self.runtime.set_tools(tools.as_deref())?;
        Ok(self.tools())
    }

    fn set_system_prompt(&self, prompt: Option<String>) -> Result<(), Refusal> {
        let changed = self.runtime.set_system_prompt(prompt.as_deref());
        changed.map_err(|busy| Refusal::new("busy", busy))
    }

    fn clear(&self) -> Result<(), Refusal> {
        Ok(self.runtime.clear()?)
    }

    fn set_messages(
        &self,
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

    fn set_reasoning(&self, effort: Option<String>) -> Result<ReasoningData, Refusal> {
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

    fn subscribe(
        &mut self,
        events: Option<Vec<String>>,
        details: bool,
    ) -> Result<SubscribedData, Refusal> {
        self.filter.set_details(false);
        let names = |wanted: &str| events.iter().flatten().any(|name| name == wanted);
        let (names_confirmations, names_questions) =
            (names("tool_confirm"), names("tool_question"));
        self.filter
            .subscribe(events.as_deref())
            .map_err(Refusal::argument)?;
        self.filter.set_details(details);
        if names_confirmations {
            self.confirming.set_announced(&self.runtime);
        }
        match (names_questions, &events) {
            (true, _) => self.runtime.accept_questions(),
            // It would never see the question.
            (false, Some(_)) => self.runtime.decline_questions(),
            (false, None) => {}
        }
        Ok(SubscribedData {
            events: self.filter.names(),
        })
    }

    fn send_to_panel(
        &mut self,
        id: Option<RequestId>,
        command: &str,
        extension: &str,
        action: PanelAction,
    ) -> io::Result<()> {
        let result = self.runtime.tell_panel(extension, action);
        self.respond_empty(id, command, result.map_err(Refusal::from))
    }

    fn tools(&self) -> ToolsData {
        ToolsData {
            tools: self.runtime.tools(),
        }
    }
}
