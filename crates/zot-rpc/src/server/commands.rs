//! What each command does.

use std::collections::HashSet;
use std::io;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use zot_sdk::{
    Arguments, Budget, ClearError, Decision, Event, Image, ModelChangeError, OnRequest,
    PanelAction, ReasoningEffort, Remember, Runtime, SetMessagesError, SteerError, ToolChangeError,
    VERSION, Verdict,
};
use zot_wire::rpc::{
    Command, ConfirmCommand, FullMessage, FullMessagesData, HelloData, ImageInput, MessagesData,
    ModelData, ModelsData, PROTOCOL_VERSION, PongData, PromptCommand, ReasoningData, RememberFor,
    RequestId, Response, SetMessagesData, SteerCommand, SteeredData, SubscribedData, ToolsData,
    WhenBusy,
};

use super::Server;
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

/// Why a command was refused: a stable word for programs, a sentence for people.
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) error: String,
}

impl Refusal {
    pub(super) fn new(code: &'static str, error: impl ToString) -> Self {
        Self {
            code,
            error: error.to_string(),
        }
    }

    fn argument(error: impl ToString) -> Self {
        Self::new("invalid_argument", error)
    }
}

impl Server {
    pub(super) fn execute(&mut self, id: Option<RequestId>, command: Command) -> io::Result<()> {
        let name = command.name();
        match command {
            Command::Hello { .. } => {
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
                self.wants_details = details && result.is_ok();
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

    fn prompt(&mut self, id: Option<RequestId>, prompt: PromptCommand) -> io::Result<()> {
        const NAME: &str = "prompt";
        if self.running.is_some() {
            match prompt.when_busy.unwrap_or_default() {
                WhenBusy::Queue => {}
                WhenBusy::Reject => {
                    return self.refuse(id, NAME, "busy", "busy".to_owned());
                }
                WhenBusy::Steer => {
                    let steer = SteerCommand {
                        message: prompt.message.clone(),
                        images: prompt.images.clone(),
                        mentions: prompt.mentions,
                    };
                    match self.steer(steer) {
                        // It ended a moment ago: the prompt is the next one.
                        Err(refusal) if refusal.code == "not_running" => {}
                        result => return self.conclude(id, NAME, result),
                    }
                }
            }
        }
        match prompt_work(prompt) {
            Ok(work) => self.enqueue(Job { id, work }, NAME),
            Err(Refusal { code, error }) => self.refuse(id, NAME, code, error),
        }
    }

    fn steer(&mut self, steer: SteerCommand) -> Result<SteeredData, Refusal> {
        let images = decode_images(steer.images)?;
        if steer.message.is_empty() && images.is_empty() {
            return Err(Refusal::argument("the message is empty"));
        }
        let (message, images) = match steer.mentions {
            true => with_mentions(&self.runtime, steer.message, images),
            false => (steer.message, images),
        };
        match self.runtime.steer(&message, images) {
            Ok(()) => Ok(SteeredData { steered: true }),
            Err(error @ SteerError::NotRunning) => Err(Refusal::new("not_running", error)),
            Err(error @ SteerError::TooMany) => Err(Refusal::new("queue_full", error)),
        }
    }

    fn confirm(&mut self, confirm: ConfirmCommand) -> Result<(), Refusal> {
        let verdict = if confirm.allow {
            let arguments = match confirm.args {
                None => None,
                Some(args) => {
                    let arguments = Arguments::from_model_text(args.get());
                    if let Err(malformed) = arguments.json() {
                        return Err(Refusal::argument(format!("args: {malformed}")));
                    }
                    Some(arguments)
                }
            };
            Verdict::Allow { arguments }
        } else {
            let reason = confirm.reason.filter(|reason| !reason.is_empty());
            Verdict::Deny {
                reason: match reason {
                    Some(reason) => format!("refused: {reason}"),
                    None => "refused by the user".to_owned(),
                },
            }
        };
        let remember = match confirm.remember.unwrap_or_default() {
            RememberFor::Call => Remember::Call,
            RememberFor::Tool => Remember::Tool,
            RememberFor::Session => Remember::Session,
        };
        self.runtime
            .confirm(&confirm.call_id, Decision { verdict, remember })
            .map_err(|error| Refusal::new("not_waiting", error))
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
        let parsed = match effort.as_deref() {
            None => None,
            Some(name) => Some(effort_called(name).ok_or_else(|| {
                let known = ReasoningEffort::ALL.map(ReasoningEffort::as_str).join(", ");
                Refusal::argument(format!("effort: unknown {name:?}; known: {known}"))
            })?),
        };
        self.runtime
            .set_reasoning(parsed)
            .map_err(|busy| Refusal::new("busy", busy))?;
        Ok(ReasoningData { effort })
    }

    fn subscribe(&mut self, events: Option<Vec<String>>) -> Result<SubscribedData, Refusal> {
        let wanted: HashSet<&'static str> = match events {
            None => Event::TYPES
                .into_iter()
                .filter(|name| !Event::ON_REQUEST.contains(name))
                .collect(),
            Some(names) => names
                .iter()
                .map(|name| {
                    let known = Event::TYPES.into_iter().find(|known| known == name);
                    known.ok_or_else(|| {
                        let known = Event::TYPES.join(", ");
                        Refusal::argument(format!("events: unknown {name:?}; known: {known}"))
                    })
                })
                .collect::<Result<_, _>>()?,
        };
        let events = Event::TYPES
            .into_iter()
            .filter(|name| wanted.contains(name))
            .map(ToOwned::to_owned)
            .collect();
        self.runtime.set_on_request(OnRequest {
            thinking: wanted.contains("thinking_delta"),
            retries: wanted.contains("retry"),
        });
        self.wanted = Some(wanted);
        Ok(SubscribedData { events })
    }

    /// Refuses a command at once if it cannot be answered later.
    fn answer_later(
        &mut self,
        id: Option<RequestId>,
        command: &str,
        result: Result<(), Refusal>,
    ) -> io::Result<()> {
        match result {
            Ok(()) => Ok(()),
            Err(Refusal { code, error }) => self.refuse(id, command, code, error),
        }
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

    pub(super) fn enqueue(&mut self, job: Job, command: &str) -> io::Result<()> {
        match self.queue.push(job) {
            // Started at once when nothing runs, so that what follows finds it running.
            Ok(()) => self.start_next(),
            Err(job) => self.refuse(
                job.id,
                command,
                "queue_full",
                "too many prompts are waiting; wait for a done and send it again".to_owned(),
            ),
        }
    }

    pub(super) fn succeed<T: Serialize>(
        &mut self,
        id: Option<RequestId>,
        command: &str,
        data: T,
    ) -> io::Result<()> {
        self.output.push(&Response::success(id, command, data))
    }

    fn acknowledge(&mut self, id: Option<RequestId>, command: &str) -> io::Result<()> {
        self.output.push(&Response::acknowledged(id, command))
    }

    pub(super) fn refuse(
        &mut self,
        id: Option<RequestId>,
        command: &str,
        code: &str,
        error: String,
    ) -> io::Result<()> {
        self.output
            .push(&Response::failure(id, command, code, error))
    }

    fn conclude<T: Serialize>(
        &mut self,
        id: Option<RequestId>,
        command: &str,
        result: Result<T, Refusal>,
    ) -> io::Result<()> {
        match result {
            Ok(data) => self.succeed(id, command, data),
            Err(Refusal { code, error }) => self.refuse(id, command, code, error),
        }
    }

    fn conclude_quietly(
        &mut self,
        id: Option<RequestId>,
        command: &str,
        result: Result<(), Refusal>,
    ) -> io::Result<()> {
        match result {
            Ok(()) => self.acknowledge(id, command),
            Err(Refusal { code, error }) => self.refuse(id, command, code, error),
        }
    }
}

impl From<ClearError> for Refusal {
    fn from(error: ClearError) -> Self {
        let code = match &error {
            ClearError::Busy(_) => "busy",
            ClearError::Journal(_) => "session",
        };
        Self::new(code, error)
    }
}

impl From<ModelChangeError> for Refusal {
    fn from(error: ModelChangeError) -> Self {
        let code = match &error {
            ModelChangeError::Busy(_) => "busy",
            ModelChangeError::Unknown { .. } => "unknown_model",
            ModelChangeError::Session(_) => "session",
        };
        Self::new(code, error)
    }
}

impl From<ToolChangeError> for Refusal {
    fn from(error: ToolChangeError) -> Self {
        let code = match &error {
            ToolChangeError::Busy(_) => "busy",
            ToolChangeError::Unknown(_) => "unknown_tool",
        };
        Self::new(code, error)
    }
}

impl From<SetMessagesError> for Refusal {
    fn from(error: SetMessagesError) -> Self {
        let code = match &error {
            SetMessagesError::Busy(_) => "busy",
            SetMessagesError::Invalid(_) => "invalid_argument",
            SetMessagesError::Journal(_) => "session",
        };
        Self::new(code, error)
    }
}

fn effort_called(name: &str) -> Option<ReasoningEffort> {
    ReasoningEffort::ALL
        .into_iter()
        .find(|effort| effort.as_str() == name)
}

fn prompt_work(prompt: PromptCommand) -> Result<JobWork, Refusal> {
    let images = decode_images(prompt.images)?;
    if prompt.message.is_empty() && images.is_empty() {
        return Err(Refusal::argument(
            "the prompt is empty: give a message, images or both",
        ));
    }
    if prompt.max_cost_usd.is_some_and(|cost| cost < 0.0) {
        return Err(Refusal::argument("max_cost_usd must not be negative"));
    }
    Ok(JobWork::Prompt {
        text: prompt.message,
        images,
        mentions: prompt.mentions,
        budget: Budget {
            max_steps: prompt.max_steps,
            max_cost_usd: prompt.max_cost_usd,
            max_tokens: prompt.max_tokens,
            timeout: prompt.timeout_ms.map(Duration::from_millis),
        },
    })
}

/// A message with what it mentions behind it.
pub(super) fn with_mentions(
    runtime: &Runtime,
    mut message: String,
    mut images: Vec<Image>,
) -> (String, Vec<Image>) {
    let attached = runtime.attach_mentions(&message);
    if !attached.text.is_empty() {
        message.push_str("\n\n");
        message.push_str(&attached.text);
    }
    images.extend(attached.images);
    (message, images)
}

fn decode_images(images: Vec<ImageInput>) -> Result<Vec<Image>, Refusal> {
    let decode = |(index, image): (usize, ImageInput)| {
        let data = STANDARD.decode(image.data.as_bytes()).map_err(|error| {
            Refusal::argument(format!("images.{index}.data is not base64: {error}"))
        })?;
        if !image.mime_type.starts_with("image/") {
            return Err(Refusal::argument(format!(
                "images.{index}.mime_type must be like image/png, not {:?}",
                image.mime_type
            )));
        }
        Ok(Image {
            mime_type: image.mime_type,
            data: data.into(),
        })
    };
    images.into_iter().enumerate().map(decode).collect()
}
