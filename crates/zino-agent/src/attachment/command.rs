//! Commands that wait for a response.

use zot_wire::rpc::{
    Command, CommandFrame, ContentBlock, ImageInput, PromptCommand, RequestId, SteerCommand,
    WhenBusy,
};

use super::progress::Answer;

/// The code of a command that this version does not know.
const UNKNOWN_COMMAND: &str = "unknown_command";

/// A command that has no response yet.
pub(super) struct Pending {
    pub(super) id: Option<RequestId>,
    pub(super) command: String,
    /// As the client sent it.
    pub(super) line: Vec<u8>,
    pub(super) is_sent: bool,
    pub(super) if_lost: IfLost,
    /// The command itself, if it has to be repeated for every worker.
    pub(super) setting: Option<Command>,
    /// The message, if it may be delivered to a running prompt.
    pub(super) steering: Option<Vec<ContentBlock>>,
    /// Whether a worker that was lost may have begun it.
    pub(super) is_doubtful: bool,
    /// Whether the model or a tool may run because of it.
    pub(super) begins_work: bool,
    /// How many workers were lost since the client sent it.
    pub(super) losses: u32,
    prompt: Option<PromptText>,
}

/// By which a recorded prompt is recognised.
struct PromptText {
    message: String,
    /// Whether the contents of files follow it.
    mentions: bool,
}

/// What becomes of a command whose worker was lost before it answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IfLost {
    /// Carrying it out twice is the same as once: the next worker gets it.
    Repeat,
    /// The next worker gets it, unless the session has a record of it: a prompt is recorded before
    /// anything else is done about it.
    RepeatUnlessRecorded,
    /// It has its effect by itself, as an abort of what is lost anyway.
    Acknowledge,
    Fail,
}

impl Pending {
    pub(super) fn new(line: &[u8]) -> Self {
        let (id, command, parsed, if_lost) = match CommandFrame::parse(line) {
            Ok(CommandFrame { id, command }) => {
                let if_lost = if_lost(&command);
                (id, command.name().to_owned(), Some(command), if_lost)
            }
            // The worker refuses it in these words, unless it is newer and knows the command.
            Err(rejected) => {
                let if_lost = match rejected.code {
                    UNKNOWN_COMMAND => IfLost::Fail,
                    _ => IfLost::Repeat,
                };
                (rejected.id, rejected.command, None, if_lost)
            }
        };
        let steering = match &parsed {
            Some(Command::Steer(SteerCommand {
                message, images, ..
            })) => Some(content(message, images)),
            Some(Command::Prompt(PromptCommand {
                message,
                images,
                when_busy: Some(WhenBusy::Steer),
                ..
            })) => Some(content(message, images)),
            _ => None,
        };
        let prompt = match &parsed {
            Some(Command::Prompt(prompt)) => Some(PromptText {
                message: prompt.message.clone(),
                mentions: prompt.mentions,
            }),
            _ => None,
        };
        Self {
            id,
            command,
            line: line.to_vec(),
            is_sent: false,
            is_doubtful: false,
            begins_work: parsed.as_ref().is_some_and(begins_work),
            losses: 0,
            prompt,
            if_lost,
            setting: parsed.filter(is_setting),
            steering,
        }
    }

    /// Returns whether this prompt may be the one that was recorded as `text`.
    pub(super) fn may_be(&self, text: &str) -> bool {
        self.prompt.as_ref().is_some_and(|prompt| {
            text == prompt.message || prompt.mentions && text.starts_with(&prompt.message)
        })
    }

    pub(super) fn is_answered_by(&self, answer: &Answer) -> bool {
        self.command == answer.command && self.id == answer.id
    }
}

fn begins_work(command: &Command) -> bool {
    matches!(
        command,
        Command::Prompt(_) | Command::Compact | Command::InvokeCommand { .. }
    )
}

fn is_setting(command: &Command) -> bool {
    matches!(
        command,
        Command::Hello { .. }
            | Command::Subscribe { .. }
            | Command::SetModel { .. }
            | Command::SetReasoning { .. }
            | Command::SetTools { .. }
            | Command::SetSandbox(_)
            | Command::SetSystemPrompt { .. }
    )
}

fn if_lost(command: &Command) -> IfLost {
    match command {
        Command::Hello { .. }
        | Command::Ping
        | Command::GetState
        | Command::GetMessages { .. }
        | Command::GetModels
        | Command::GetTools
        | Command::GetUsage
        | Command::GetMcp
        | Command::GetCommands
        | Command::Subscribe { .. }
        | Command::SetModel { .. }
        | Command::SetReasoning { .. }
        | Command::SetTools { .. }
        | Command::SetSandbox(_)
        | Command::SetSystemPrompt { .. } => IfLost::Repeat,
        Command::Abort => IfLost::Acknowledge,
        Command::Prompt(prompt) if !prompt.message.is_empty() => IfLost::RepeatUnlessRecorded,
        Command::Prompt(_)
        | Command::Compact
        | Command::Steer(_)
        | Command::Confirm(_)
        | Command::Answer(_)
        // Repeated, these would remove what later commands have recorded.
        | Command::Clear
        | Command::SetMessages { .. }
        | Command::InvokeCommand { .. }
        | Command::ReloadExt
        | Command::PanelKey { .. }
        | Command::PanelResize { .. }
        | Command::PanelClose { .. } => IfLost::Fail,
    }
}

/// Returns a message as events show it.
fn content(message: &str, images: &[ImageInput]) -> Vec<ContentBlock> {
    let text = (!message.is_empty()).then(|| ContentBlock::Text {
        text: message.to_owned(),
    });
    let images = images.iter().map(|image| ContentBlock::Image {
        mime_type: image.mime_type.clone(),
        bytes: decoded_length(&image.data),
    });
    text.into_iter().chain(images).collect()
}

/// Returns how many bytes base64 text stands for.
fn decoded_length(data: &str) -> u64 {
    let digits = data.trim_end_matches('=').len() as u64;
    digits * 3 / 4
}
