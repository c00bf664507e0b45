//! Kinds of agents, and how their output is read.
//!
//! A module for each kind turns one JSON object into findings. [`Reader`] does what they share: it splits
//! bytes into lines or frames and detects the kind.

mod acp;
mod app_server;
mod claude_code;
mod codex;
mod detect;
mod fields;
mod gemini;
mod glasspane;
mod goose;
mod opencode;
mod pi;
mod reader;
mod steps;
mod undecided;
mod zino;
mod zot;

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde_json::{Value, json};

pub use claude_code::MAX_CHILDREN;
pub(crate) use fields::http_status;
pub use reader::{MAX_UNKNOWN_LINE_BYTES, Reader};

use crate::{Event, Record, Usage};

/// A kind of agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SourceKind {
    /// `zot rpc` and `zot --json`.
    Zot,
    /// `pi --mode rpc` and `pi --mode json`.
    Pi,
    /// `codex exec --json`.
    Codex,
    /// `codex app-server`: JSON-RPC without its version.
    CodexAppServer,
    /// `claude -p --output-format stream-json --verbose`.
    ClaudeCode,
    /// `gemini -o stream-json`.
    Gemini,
    /// `qwen -o stream-json`.
    Qwen,
    /// `goose run --output-format stream-json`.
    Goose,
    /// `opencode run --format json`.
    Opencode,
    /// The Agent Client Protocol, which many agents support: `gemini --acp`, `goose acp`, `opencode acp`.
    Acp,
    /// Frames of a zino service, their bodies as lines, or the output of `zino cli --stream`.
    Zino,
    /// A log of ours.
    Glasspane,
}

/// Something read from a line.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    Event(Event),
    /// The usage of the agent since it started.
    Usage(Usage),
    /// The identity of the agent.
    Identity(Identity),
    /// A record of a log, of any agent.
    Record(Box<Record>),
    /// About an agent that this one started.
    Child(Box<ChildFinding>),
}

/// What was reported about an agent that another one started.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildFinding {
    /// Identifies it among its siblings.
    pub key: String,
    /// For people.
    pub label: String,
    pub finding: Finding,
}

/// What an agent reports about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// The detected kind.
    pub source: Option<SourceKind>,
    pub model: Option<String>,
    pub cwd: Option<String>,
}

/// Reads the output of one kind of agent. Stateful, because some kinds omit what they have already reported.
trait Dialect: Send {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>);

    /// Handles a line that is not a JSON object; returns `false` if this kind does not print such lines.
    fn read_text(&mut self, _line: &str, _findings: &mut Vec<Finding>) -> bool {
        false
    }

    /// Handles the end of the output.
    fn finish(&mut self, _findings: &mut Vec<Finding>) {}
}

impl SourceKind {
    pub const ALL: [Self; 12] = [
        Self::Zot,
        Self::Pi,
        Self::Codex,
        Self::CodexAppServer,
        Self::ClaudeCode,
        Self::Gemini,
        Self::Qwen,
        Self::Goose,
        Self::Opencode,
        Self::Acp,
        Self::Zino,
        Self::Glasspane,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Zot => "zot",
            Self::Pi => "pi",
            Self::Codex => "codex",
            Self::CodexAppServer => "codex-app-server",
            Self::ClaudeCode => "claude-code",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Goose => "goose",
            Self::Opencode => "opencode",
            Self::Acp => "acp",
            Self::Zino => "zino",
            Self::Glasspane => "glasspane",
        }
    }

    /// Returns the kind of agent that a command suggests: its program, and for some its first argument.
    pub fn of_command<'a>(mut words: impl Iterator<Item = &'a OsStr>) -> Option<Self> {
        let program = Path::new(words.next()?).file_stem()?.to_str()?;
        let argument = words
            .filter_map(OsStr::to_str)
            .find(|word| !word.starts_with('-'));
        Some(match program {
            "zot" => Self::Zot,
            "pi" => Self::Pi,
            "codex" => Self::Codex,
            "claude" => Self::ClaudeCode,
            "gemini" => Self::Gemini,
            "qwen" => Self::Qwen,
            "goose" => Self::Goose,
            "opencode" => Self::Opencode,
            "zino-events" => Self::Glasspane,
            "zino-attach" => Self::Zot,
            "zino" => match argument {
                Some("events") => Self::Glasspane,
                Some("attach") => Self::Zot,
                _ => Self::Zino,
            },
            "zino-cli" => Self::Zino,
            "glasspane" if argument == Some("tail") => Self::Glasspane,
            _ => return None,
        })
    }

    /// Returns the line that sends a prompt to such an agent on its standard input, if it accepts prompts.
    pub fn prompt_line(self, text: &str) -> Option<String> {
        let line = match self {
            Self::Zot | Self::Pi => json!({"id": "glasspane", "type": "prompt", "message": text}),
            Self::ClaudeCode | Self::Qwen => json!({
                "type": "user",
                "message": {"role": "user", "content": [{"type": "text", "text": text}]},
            }),
            _ => return None,
        };
        Some(format!("{line}\n"))
    }

    /// The exit code of an agent that was interrupted without reporting it. Codex exits with 1, as after
    /// failures, but reports every failure before.
    pub fn interrupted_code(self) -> Option<u8> {
        (self == Self::Codex).then_some(1)
    }

    fn dialect(self) -> Box<dyn Dialect> {
        match self {
            Self::Zot => Box::new(zot::Zot::default()),
            Self::Pi => Box::new(pi::Pi::default()),
            Self::Codex => Box::new(codex::Codex::default()),
            Self::CodexAppServer => Box::new(app_server::AppServer::default()),
            Self::ClaudeCode | Self::Qwen => Box::new(claude_code::ClaudeCode::default()),
            Self::Gemini => Box::new(gemini::Gemini::default()),
            Self::Goose => Box::new(goose::Goose::default()),
            Self::Opencode => Box::new(opencode::Opencode::default()),
            Self::Acp => Box::new(acp::Acp::default()),
            Self::Zino => Box::new(zino::Zino::default()),
            Self::Glasspane => Box::new(glasspane::Log),
        }
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// An unknown kind of agent.
#[derive(Debug, thiserror::Error)]
#[error(
    "unknown source {0:?}: expected auto, zot, pi, codex, codex-app-server, claude-code, gemini, qwen, goose, opencode, \
     acp, zino or glasspane (a log of glasspane)"
)]
pub struct UnknownSource(String);

impl FromStr for SourceKind {
    type Err = UnknownSource;

    /// Accepts the names, and aliases for the modes of a program.
    fn from_str(name: &str) -> Result<Self, UnknownSource> {
        Ok(match name {
            "zot" | "zot-rpc" | "zot-json" => Self::Zot,
            "pi" | "pi-rpc" | "pi-json" => Self::Pi,
            "codex" | "codex-exec" => Self::Codex,
            "codex-app-server" | "app-server" => Self::CodexAppServer,
            "claude-code" | "claude" => Self::ClaudeCode,
            "gemini" | "gemini-cli" => Self::Gemini,
            "qwen" | "qwen-code" => Self::Qwen,
            "goose" => Self::Goose,
            "opencode" => Self::Opencode,
            "acp" => Self::Acp,
            "zino" => Self::Zino,
            "glasspane" => Self::Glasspane,
            _ => return Err(UnknownSource(name.to_owned())),
        })
    }
}

/// Parses the name of a source; `None` for `auto`.
pub fn parse_source(name: &str) -> Result<Option<SourceKind>, UnknownSource> {
    match name {
        "auto" => Ok(None),
        name => name.parse().map(Some),
    }
}
