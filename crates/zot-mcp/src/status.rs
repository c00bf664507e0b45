//! What is known about the servers of a set, for people and for front ends.

use std::path::PathBuf;

use zot_conversation::{ContentBlock, Role};

use crate::entry::EntryOrigin;

/// Whether a server can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerState {
    /// Its entry says so.
    Disabled,
    Starting,
    Ready,
    /// It is reachable, and wants a login.
    NeedsLogin,
    /// It has gone, and is started again after a pause. Its tools are still listed; calls wait.
    Restarting {
        reason: String,
    },
    /// It is not started again unless asked to.
    Failed {
        reason: String,
    },
}

impl ServerState {
    /// Returns whether its start has come to an end, be it a good one. A server that restarts is settled: what is
    /// wrong with it is known, and it may take minutes.
    pub fn is_settled(&self) -> bool {
        !matches!(self, Self::Starting)
    }

    /// Returns the word for it, as front ends and the pipe show it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::NeedsLogin => "needs_login",
            Self::Restarting { .. } => "restarting",
            Self::Failed { .. } => "failed",
        }
    }

    /// Returns why it is restarting or has failed.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Restarting { reason } | Self::Failed { reason } => Some(reason),
            Self::Disabled | Self::Starting | Self::Ready | Self::NeedsLogin => None,
        }
    }
}

/// A server of a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStatus {
    /// The key in `mcpServers`.
    pub name: String,
    pub origin: EntryOrigin,
    pub state: ServerState,
    /// The revision of the protocol that is spoken.
    pub version: Option<String>,
    /// What the server calls itself, for people only.
    pub product: Option<String>,
    /// What the server says about its use, cut at 2 KiB.
    pub instructions: Option<String>,
    pub tools: usize,
    pub prompts: usize,
    pub resources: usize,
    /// What was left out of its lists, and why.
    pub notes: Vec<String>,
    /// Where its standard error and log messages are.
    pub log: PathBuf,
}

/// A prompt that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptInfo {
    pub server: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub arguments: Vec<PromptArgument>,
}

/// A value that a prompt is filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptArgument {
    pub name: String,
    pub description: Option<String>,
    pub required: bool,
}

/// A message of a prompt. The role is user or assistant.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptMessage {
    pub role: Role,
    pub content: Vec<ContentBlock>,
}

/// A resource that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceInfo {
    pub server: String,
    pub uri: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime_type: Option<String>,
    pub size: Option<u64>,
}

/// A family of resources whose address has gaps (RFC 6570).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceTemplate {
    pub server: String,
    pub uri_template: String,
    pub name: String,
    pub title: Option<String>,
    pub description: Option<String>,
    pub mime_type: Option<String>,
}
