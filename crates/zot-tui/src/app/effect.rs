//! What the chat wants done outside of its state.

use zot_sdk::credentials::KeyProbe;
use zot_sdk::login::LoginPreference;
use zot_sdk::sessions::IfChanged;
use zot_sdk::{ApprovalScope, Decision};

use super::{LogAction, ShellOutput, Subject};
use crate::editor::Draft;
use crate::typed_secret::TypedSecret;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Effect {
    Agent(AgentEffect),
    Session(SessionEffect),
    Login(LoginEffect),
    Query(Query),
    Extension(ExtensionEffect),
    Settings(SettingsEffect),
    Terminal(TerminalEffect),
    Shell(ShellEffect),
    /// Adds a prompt to the history on disk.
    Remember(Draft),
    Quit,
}

/// For the agent of this conversation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AgentEffect {
    Prompt(Prompt),
    Steer(Prompt),
    Cancel,
    Compact,
    Clear,
    /// Asks a side question.
    Aside(String),
    CancelAside,
    /// Is answered with `Input::Approval`, unless a named tool does not exist.
    SetApproval(ApprovalScope),
    SetModel(String),
    /// Confines the tools to the working directory.
    Jail,
    Unjail,
    Confirm {
        id: String,
        decision: Decision,
    },
    /// The running prompt may take this many more steps; none ends it.
    AllowSteps(u64),
}

/// For the sessions on disk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SessionEffect {
    /// Is answered with `Listed::Sessions`.
    List,
    /// Restarts the chat with another conversation, or with this one (`None`).
    Resume { session: Option<String> },
    /// Is answered with `Listed::ForkPoints`.
    ListForkPoints,
    /// Restarts the chat with a copy of this conversation: of all of it, or of what was said before
    /// the prompt with this index.
    Fork { before: Option<usize> },
    /// Shows which session was forked from which.
    Tree,
    /// Describes the session of this conversation.
    Describe,
    /// Restores the files that the last prompts changed.
    Undo {
        prompts: usize,
        if_changed: IfChanged,
    },
    /// Writes the conversation to this file, or to one with a free name (empty).
    Export(String),
    /// Makes a session from this file; is answered with `Input::Imported`.
    Import(String),
}

/// For credentials.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LoginEffect {
    /// Is answered with `Listed::Providers`.
    ListProviders(LogAction),
    /// Is answered with `LoginInput::KeyAsked` or `LoginInput::StepShown`.
    LogIn(LoginRequest),
    /// Forgets the credentials of a provider, or of all (`None`).
    LogOut { provider: Option<String> },
    /// Tries the key that was asked for, and keeps it.
    TryKey(TypedSecret),
    /// Ends the login that is open.
    Abandon,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoginRequest {
    pub(crate) provider: String,
    pub(crate) preference: LoginPreference,
    pub(crate) probe: KeyProbe,
    pub(crate) opens_browser: bool,
}

/// What comes back as an input, or is shown as a note.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Query {
    /// Is answered with `Listed::Files`, twice.
    Files,
    Models,
    /// The prompts of this conversation.
    Prompts,
    Skills,
    Themes,
    /// Shows the tools.
    Tools,
    /// Shows what the context is used for.
    Context,
    /// Is answered with `Input::Mentions`.
    Mentions {
        text: String,
        names: Vec<String>,
    },
    /// Is answered with `Input::Preview`.
    Preview(Subject),
    /// Is answered with `Input::Earlier`: the prompt with this index and what came of it.
    Reprint(usize),
}

/// For extensions and their panels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExtensionEffect {
    Invoke {
        name: String,
        arguments: String,
    },
    Reload,
    PanelKey {
        extension: String,
        panel: String,
        key: String,
        text: String,
    },
    /// The lines of a panel have this much room.
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
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SettingsEffect {
    /// Keeps a setting in the user's configuration.
    Keep { name: &'static str, value: String },
    /// Loads and keeps a theme; is answered with `Input::Theme`.
    LoadTheme(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TerminalEffect {
    /// Is answered with `Input::Edited`.
    OpenEditor(String),
    Copy(String),
    Suspend,
}

/// For commands of the user.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ShellEffect {
    Run(String),
    Cancel,
}

/// Lets a component return its own kind of effect.
macro_rules! effect_from {
    ($($kind:ident => $variant:ident),*) => {
        $(impl From<$kind> for Effect {
            fn from(effect: $kind) -> Self {
                Self::$variant(effect)
            }
        })*
    };
}

effect_from!(AgentEffect => Agent, SessionEffect => Session, LoginEffect => Login, Query => Query,
    ExtensionEffect => Extension, SettingsEffect => Settings, TerminalEffect => Terminal,
    ShellEffect => Shell);

/// What the agent is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub text: String,
    /// The user typed it and may have mentioned files. Text from elsewhere mentions none.
    pub typed: bool,
    /// The part that can mention files, when it is not all of the text.
    pub mentions: Option<String>,
    /// Output of the user's commands that goes with it.
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

    /// A prompt that the user did not type.
    pub(crate) fn made(text: String) -> Self {
        Self {
            typed: false,
            ..Self::typed(text)
        }
    }
}
