//! What can happen to the chat.

use std::sync::Arc;

use zot_sdk::context::Part;
use zot_sdk::conversation::Message;
use zot_sdk::sandbox::Level;
use zot_sdk::{AgentEvent, ApprovalScope, ExtensionNotice};

use super::{Choices, Key, McpInput, PanelView, Preview, Prompt, ShellOutput, Subject};
use crate::image::Drawing;
use crate::style::Theme;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Input {
    Key(Key),
    Paste(String),
    /// Typed in a terminal that handles only lines.
    Line(String),
    Resized {
        columns: usize,
        rows: usize,
    },
    /// The cursor's position on the screen, counted from zero, reported on request.
    Cursor {
        row: usize,
        column: usize,
    },
    /// The colour of the terminal's background.
    Background {
        is_light: bool,
    },
    /// Time has passed while something moves on the screen.
    Tick,
    Agent(AgentEvent),
    /// The prompt or compaction is over, and its stream has ended.
    WorkEnded,
    /// The answer to a side question.
    Aside(AgentEvent),
    AsideEnded,
    Extension(ExtensionNotice),
    /// The commands of extensions: name, description.
    Commands(Vec<(String, String)>),
    Panel(PanelInput),
    /// An image that belongs to the last item.
    Image(Drawing),
    Info(Info),
    /// Which tool calls need approval from now on.
    Approval(ApprovalScope),
    Listed(Listed),
    Login(LoginInput),
    Mcp(McpInput),
    Shell(ShellInput),
    /// What the mentions in the editor with these names would attach.
    Mentions {
        names: Vec<String>,
        parts: Vec<Part>,
    },
    /// What the mentions in the prompt that begins with `content` attached.
    Mentioned {
        content: String,
        parts: Vec<Part>,
    },
    Preview {
        subject: Subject,
        preview: Preview,
    },
    /// A session was created from a file, at this path.
    Imported(String),
    /// An earlier part of the conversation.
    Earlier {
        title: String,
        messages: Vec<Arc<Message>>,
    },
    /// The colours the user chose.
    Theme(Box<Theme>),
    /// The text that `$EDITOR` saved.
    Edited(String),
    /// Text for the editor.
    Insert(String),
    /// A prompt from the command line or from an extension.
    Prompt(Prompt),
    Note {
        text: String,
        is_error: bool,
    },
    /// A panic was caught, and the terminal is set up again.
    Panicked(String),
}

/// The contents of a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Listed {
    /// The files below the working directory.
    Files(FileList),
    Models(Vec<String>),
    /// The prompts of this conversation, for `/jump`.
    Prompts(Vec<String>),
    /// The prompts of this conversation, for `/session fork`.
    ForkPoints(Vec<String>),
    /// Sessions of this directory, each beginning with its id.
    Sessions(Vec<String>),
    /// Name, description.
    Skills(Vec<(String, String)>),
    Themes(Vec<String>),
    /// Providers to log in to or out of: name, state of its credential.
    Providers {
        action: LogAction,
        providers: Vec<(String, String)>,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LoginInput {
    /// Asks for a provider's key here, and on a page in a browser if there is one.
    KeyRequested {
        provider: String,
        page: Option<String>,
    },
    /// The user has to do this in a browser.
    StepShown { provider: String, step: String },
    /// The user signs in to an MCP server on this page, and may paste where it leads.
    PageShown { server: String, page: String },
    /// The login is over, and nothing restarts.
    Closed,
    /// The key was not stored, for this reason.
    KeyRefused(String),
    /// The page in the browser no longer accepts a key.
    PageClosed,
    /// The login has ended without a credential, for this reason.
    Failed(String),
    /// Credentials have changed.
    LoggedIn,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ShellInput {
    /// More output of the running `!command`.
    Progress(String),
    Ended(ShellOutput),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PanelInput {
    /// A command of an extension opens a panel.
    Opened(PanelView),
    /// The extension of a panel cannot be reached.
    Lost {
        extension: String,
        panel: String,
        reason: String,
    },
}

impl Input {
    /// Creates a note.
    pub(crate) fn note(text: impl Into<String>) -> Self {
        Self::Note {
            text: text.into(),
            is_error: false,
        }
    }

    /// Creates a note that reports an error.
    pub(crate) fn failure(error: impl ToString) -> Self {
        Self::Note {
            text: error.to_string(),
            is_error: true,
        }
    }
}

/// Whether credentials are added or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogAction {
    In,
    Out,
}

/// Files to choose from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FileList {
    pub(super) files: Choices,
    pub(super) is_complete: bool,
}

impl FileList {
    /// Creates a list of all files.
    pub(crate) fn complete(files: Choices) -> Self {
        Self {
            files,
            is_complete: true,
        }
    }

    /// Creates a list of the first files, until all are known.
    pub(crate) fn partial(files: Choices) -> Self {
        Self {
            files,
            is_complete: false,
        }
    }
}

/// What is known about the agent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Info {
    pub provider: String,
    pub model: String,
    pub cwd: String,
    pub version: String,
    pub cost_usd: f64,
    pub context_window: u64,
    /// How much of the window the last request used.
    pub context_used: u64,
    /// Which tool calls need approval.
    pub approval: ApprovalScope,
    /// Whether the tools are confined to the working directory.
    pub is_jailed: bool,
    /// What the tools may do besides.
    pub sandbox: Level,
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
            sandbox: Level::Off,
        }
    }
}
