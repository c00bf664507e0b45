//! What can happen to the chat.

use std::sync::Arc;

use zot_sdk::context::Part;
use zot_sdk::conversation::Message;
use zot_sdk::{AgentEvent, ApprovalScope, ExtensionNotice};

use super::{Choices, Key, PanelView, Preview, Prompt, ShellOutput, Subject};
use crate::image::Drawing;
use crate::style::Theme;

/// Something happened.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    Key(Key),
    Paste(String),
    /// Typed in a terminal that can do nothing but lines.
    Line(String),
    Resized {
        columns: usize,
        rows: usize,
    },
    /// Where the cursor is on the screen, counted from zero; the answer to a question.
    Cursor {
        row: usize,
        column: usize,
    },
    /// From the agent.
    Agent(AgentEvent),
    /// From an extension.
    Extension(ExtensionNotice),
    /// Of the answer to a question on the side.
    Aside(AgentEvent),
    AsideEnded,
    /// An image of what was told last.
    Image(Drawing),
    /// The prompt or compaction is over, and its stream has ended.
    WorkEnded,
    /// What the agent is like now.
    Info(Info),
    /// Which tool calls wait for the user's word from now on.
    Approval(ApprovalScope),
    /// Time has passed while something is shown that moves.
    Tick,
    /// The files below the working directory, for the picker.
    Files(FileList),
    Models(Vec<String>),
    /// What the user said in this conversation, for `/jump`.
    Prompts(Vec<String>),
    /// What the user said in this conversation, for `/session fork`.
    ForkPoints(Vec<String>),
    /// A session was made of a file, and is at this path.
    Imported(String),
    /// Sessions of this directory, each beginning with its id.
    Sessions(Vec<String>),
    /// What the model can load: name, description.
    Skills(Vec<(String, String)>),
    Themes(Vec<String>),
    /// Providers to log in at, or out of: name, whether there is a key.
    Providers {
        action: LogAction,
        providers: Vec<(String, String)>,
    },
    /// What would become of the files that are mentioned in the editor under these names.
    Mentions {
        names: Vec<String>,
        parts: Vec<Part>,
    },
    /// What became of the files that the prompt which begins with `content` mentions.
    Mentioned {
        content: String,
        parts: Vec<Part>,
    },
    /// What [`Effect::Preview`] asked for.
    Preview {
        subject: Subject,
        preview: Preview,
    },
    /// A provider's key is asked for here, and on a page in a browser where there is one.
    KeyAsked {
        provider: String,
        page: Option<String>,
    },
    /// The key that was given was not kept, and why.
    KeyRefused(String),
    /// The page in the browser takes no key any more.
    KeyPageClosed,
    /// Credentials have changed.
    LoggedIn,
    /// An earlier part of the conversation.
    Earlier {
        title: String,
        messages: Vec<Arc<Message>>,
    },
    /// The commands of extensions: name, description.
    Commands(Vec<(String, String)>),
    /// What the terminal says of its background.
    Background {
        is_light: bool,
    },
    /// The colours that were asked for.
    Theme(Box<Theme>),
    /// What `$EDITOR` was left with.
    Edited(String),
    /// More of what `!command` prints.
    ShellProgress(String),
    /// `!command` is over.
    ShellEnded(ShellOutput),
    /// A line for the user.
    Note {
        text: String,
        is_error: bool,
    },
    /// Text for the editor, by an extension's command.
    Insert(String),
    /// Something panicked and was caught; the terminal has come back.
    Panicked(String),
    /// A command of an extension opens a panel.
    PanelOpened(PanelView),
    /// An extension cannot be told what happens in its panel.
    PanelLost {
        extension: String,
        panel: String,
        reason: String,
    },
    /// A prompt from the command line or by an extension's command.
    Prompt(Prompt),
}

impl Input {
    /// A line for the user.
    pub(crate) fn note(text: impl Into<String>) -> Self {
        Self::Note {
            text: text.into(),
            is_error: false,
        }
    }

    /// Why something was not done.
    pub(crate) fn failure(error: impl ToString) -> Self {
        Self::Note {
            text: error.to_string(),
            is_error: true,
        }
    }
}

/// What is to be done with a provider's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogAction {
    In,
    Out,
}

/// Files to choose from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileList {
    pub(super) files: Choices,
    pub(super) is_whole: bool,
}

impl FileList {
    /// All there are.
    pub(crate) fn whole(files: Choices) -> Self {
        Self {
            files,
            is_whole: true,
        }
    }

    /// Some, until all are known.
    pub(crate) fn first(files: Choices) -> Self {
        Self {
            files,
            is_whole: false,
        }
    }
}

/// What is known of the agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Info {
    pub provider: String,
    pub model: String,
    pub cwd: String,
    pub version: String,
    pub cost_usd: f64,
    pub context_window: u64,
    /// What the last request took of it.
    pub context_used: u64,
    /// Which tool calls wait for the user's word.
    pub approval: ApprovalScope,
    /// Whether the tools are confined to the working directory.
    pub is_jailed: bool,
}

impl Default for Info {
    fn default() -> Self {
        Self {
            provider: String::new(),
            model: String::new(),
            cwd: String::new(),
            version: String::new(),
            cost_usd: 0.0,
            context_window: 0,
            context_used: 0,
            approval: ApprovalScope::Nothing,
            is_jailed: false,
        }
    }
}
