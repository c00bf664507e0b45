//! The seven services.

/// A service, by the name it has on the wire, in the configuration and as a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServiceKind {
    /// `daemon`: answers clients with the help of the others.
    Daemon,
    /// `rtr`: asks the model.
    Router,
    /// `agr`: the loop of model responses and tool calls.
    AgentLoop,
    /// `sys`: the system prompt.
    SystemPrompt,
    /// `exc`: runs code.
    Executor,
    /// `mem`: histories and memories.
    Memory,
    /// `ctx`: what goes between the system prompt and the user's message.
    Context,
}

impl ServiceKind {
    pub const ALL: [Self; 7] = [
        Self::Router,
        Self::SystemPrompt,
        Self::Executor,
        Self::Memory,
        Self::Context,
        Self::AgentLoop,
        Self::Daemon,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Daemon => "daemon",
            Self::Router => "rtr",
            Self::AgentLoop => "agr",
            Self::SystemPrompt => "sys",
            Self::Executor => "exc",
            Self::Memory => "mem",
            Self::Context => "ctx",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}
