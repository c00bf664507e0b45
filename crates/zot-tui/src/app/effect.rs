//! Work that the chat requests from outside its state.

use zot_sdk::credentials::KeyProbe;
use zot_sdk::login::LoginPreference;
use zot_sdk::sandbox::Level;
use zot_sdk::sessions::IfChanged;
use zot_sdk::{Answer, ApprovalScope, Decision, QuestionId};

use super::{LogAction, ProjectAnswer, ShellOutput, Subject};
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
    Mcp(McpEffect),
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
    /// Results in `Input::Approval`, unless a named tool does not exist.
    SetApproval(ApprovalScope),
    SetModel(String),
    /// Changes what the tools may do; without a level, only says what they may.
    Sandbox(Option<Level>),
    /// Confines the tools to the working directory.
    Jail,
    Unjail,
    Confirm {
        id: String,
        decision: Decision,
    },
    /// Answers the question of a tool.
    Answer {
        id: QuestionId,
        answer: Answer,
    },
    /// Allows the running prompt this many more steps; zero ends it.
    AllowSteps(u64),
}

/// For the sessions on disk.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SessionEffect {
    /// Results in `Listed::Sessions`.
    List,
    /// Restarts the chat with another conversation, or with this one (`None`).
    Resume { session: Option<String> },
    /// Results in `Listed::ForkPoints`.
    ListForkPoints,
    /// Restarts the chat with a copy of this conversation: all of it, or what came before the prompt
    /// with this index.
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
    /// Writes the conversation to this file, or to an unused name if it is empty.
    Export(String),
    /// Creates a session from this file; results in `Input::Imported`.
    Import(String),
}

/// For credentials.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum LoginEffect {
    /// Results in `Listed::Providers`.
    ListProviders(LogAction),
    /// Results in `LoginInput::KeyRequested` or `LoginInput::StepShown`.
    LogIn(LoginRequest),
    /// Forgets the credentials of a provider, or of all (`None`).
    LogOut { provider: Option<String> },
    /// Checks the key that the user entered, and stores it.
    CheckKey(TypedSecret),
    /// Cancels the open login.
    Cancel,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoginRequest {
    pub(crate) provider: String,
    pub(crate) preference: LoginPreference,
    pub(crate) probe: KeyProbe,
    pub(crate) opens_browser: bool,
}

/// A question whose result arrives as an input or a note.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Query {
    /// Results in `Listed::Files`, twice.
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
    /// Results in `Input::Mentions`.
    Mentions {
        text: String,
        names: Vec<String>,
    },
    /// Results in `Input::Preview`.
    Preview(Subject),
    /// Results in `Input::Earlier`: the prompt with this index and the response to it.
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
    /// Reports the room for a panel's lines.
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
    /// Saves a setting in the user's configuration.
    Save { name: &'static str, value: String },
    /// Loads and saves a theme; results in `Input::Theme`.
    LoadTheme(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TerminalEffect {
    /// Results in `Input::Edited`.
    OpenEditor(String),
    Copy(String),
    /// Opens a web page in a browser.
    OpenPage(String),
    Suspend,
}

/// For `!commands`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ShellEffect {
    Run(String),
    Cancel,
}

/// For MCP servers.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum McpEffect {
    /// Tells how servers are added, and which were not started.
    DescribeNone,
    /// Shows what a server offers.
    ShowTools(String),
    /// Shows the end of a server's log.
    ShowLog(String),
    Restart(String),
    Enable(String),
    Disable(String),
    /// Results in `LoginInput::StepShown`.
    SignIn(String),
    SignOut(String),
    /// Continues the login with the address that the browser was sent to.
    Redirected(TypedSecret),
    /// Results in `McpInput::ProjectFound`, if the project has servers.
    AskAboutProject,
    /// Results in `McpInput::ProjectSettled`.
    AnswerProject(ProjectAnswer),
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
    ShellEffect => Shell, McpEffect => Mcp);

/// A prompt for the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub text: String,
    /// Whether the user typed it, so that it may mention files.
    pub is_typed: bool,
    /// The part that can mention files, when it is not all of the text.
    pub mentions: Option<String>,
    /// Output of `!commands` sent with it.
    pub attached: Vec<ShellOutput>,
}

impl Prompt {
    pub(crate) fn typed(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            is_typed: true,
            mentions: None,
            attached: Vec::new(),
        }
    }

    /// Creates a prompt that the user did not type.
    pub(crate) fn generated(text: String) -> Self {
        Self {
            is_typed: false,
            ..Self::typed(text)
        }
    }
}
