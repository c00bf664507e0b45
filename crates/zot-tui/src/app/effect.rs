//! What the chat wants done.

use zot_sdk::{ApprovalScope, Decision};

use super::{LogAction, ShellOutput, Subject};
use crate::editor::Draft;
use crate::secret::Secret;

/// Stands for the file of the conversation among the words of [`Effect::Zot`].
pub(crate) const SESSION: &str = "SESSION";

/// Something has to be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    Prompt(Prompt),
    Steer(Prompt),
    Cancel,
    Compact,
    /// Asks something on the side.
    Aside(String),
    CancelAside,
    /// Asks for [`Input::Approval`], unless a tool that is named does not exist.
    SetApproval(ApprovalScope),
    /// Confines the tools to the working directory.
    Jail,
    Unjail,
    Confirm {
        id: String,
        decision: Decision,
    },
    /// The running prompt may have so many more steps; none ends it.
    AllowSteps(u64),
    SetModel(String),
    Clear,
    /// Asks for [`Input::Files`].
    ListFiles,
    ListModels,
    /// Asks for [`Input::Prompts`].
    ListPrompts,
    /// Asks for [`Input::Sessions`].
    ListSessions,
    /// Another conversation, or this one (`None`) anew.
    Resume {
        session: Option<String>,
    },
    /// Asks for [`Input::ForkPoints`].
    ListForkPoints,
    /// Goes on in a copy: of all of this conversation, or of what was said before the prompt with
    /// this index.
    Fork {
        before: Option<usize>,
    },
    /// Keeps a setting in the user's configuration.
    KeepSetting {
        name: &'static str,
        value: String,
    },
    /// Runs zot itself about this session and shows what it prints; [`SESSION`] stands for its file.
    Zot(Vec<String>),
    /// Writes the conversation to this file, or to one that gets a name (empty).
    Export(String),
    /// Makes a session of this file.
    Import(String),
    /// Logs in or out with the words of `zot login`: asks for a key with [`Input::KeyAsked`], or runs
    /// zot itself in the terminal.
    LogIn(Vec<String>),
    /// Tries the key that was asked for, and keeps it.
    TryKey(Secret),
    /// The key is not wanted any more.
    EndKeyEntry,
    /// Asks for [`Input::Earlier`]: a prompt, by its number, and what came of it.
    Reprint(usize),
    ShowContext,
    /// Asks for [`Input::Skills`].
    ListSkills,
    ShowTools,
    /// Asks for [`Input::Themes`].
    ListThemes,
    /// Asks for [`Input::Providers`].
    ListProviders(LogAction),
    /// Asks for [`Input::Mentions`].
    InspectMentions {
        text: String,
        names: Vec<String>,
    },
    /// Asks for [`Input::Preview`].
    Preview(Subject),
    /// Asks for [`Input::Theme`].
    LoadTheme(String),
    Invoke {
        name: String,
        arguments: String,
    },
    ReloadExtensions,
    PanelKey {
        extension: String,
        panel: String,
        key: String,
        text: String,
    },
    /// There is this much room for the lines of a panel.
    PanelResize {
        extension: String,
        panel: String,
        width: usize,
        height: usize,
    },
    PanelClose {
        extension: String,
        panel: String,
    },
    Shell(String),
    CancelShell,
    OpenEditor(String),
    Copy(String),
    Remember(Draft),
    Suspend,
    Quit,
}

/// What the agent is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub text: String,
    /// The user has typed it, and may have mentioned files. What others wrote can mention nothing.
    pub typed: bool,
    /// The part that can mention files, when it is not all of the text.
    pub mentions: Option<String>,
    /// What the user has run goes along.
    pub attached: Vec<ShellOutput>,
}

impl Prompt {
    pub(crate) fn typed(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            typed: true,
            mentions: None,
            attached: Vec::new(),
        }
    }

    pub(crate) fn made(text: String) -> Self {
        Self {
            typed: false,
            ..Self::typed(text)
        }
    }
}
