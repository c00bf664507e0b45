//! Kinds of agents, and what their lines mean.
//!
//! A module for each kind turns one JSON object into findings. [`Reader`] does what they share: it
//! cuts bytes into lines or frames, and finds out by itself which kind it reads.

mod claude_code;
mod codex;
mod detect;
mod fields;
mod glasspane;
mod pi;
mod reader;
mod zino;
mod zot;

#[cfg(test)]
mod tests;

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde_json::{Value, json};

pub use reader::{DETECTION_LINES, MAX_FOREIGN_BYTES, Reader};

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
    /// `claude -p --output-format stream-json --verbose`.
    ClaudeCode,
    /// Frames of a zino service, their bodies as lines, or what `zino cli --stream` prints.
    Zino,
    /// A log of ours.
    Glasspane,
}

/// What a line told.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    Event(Event),
    /// What the agent has used since it began.
    Usage(Usage),
    /// Who the agent is.
    Identity(Identity),
    /// From a log: it may be of any agent.
    Record(Box<Record>),
}

/// What an agent tells about itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// What kind it turned out to be.
    pub source: Option<SourceKind>,
    pub model: Option<String>,
    pub cwd: Option<String>,
}

/// Understands one kind of agent. Has a memory, because some kinds leave out what was said before.
trait Dialect: Send {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>);

    /// A line that is no JSON object; false if this kind has no use for it.
    fn read_text(&mut self, _line: &str, _findings: &mut Vec<Finding>) -> bool {
        false
    }

    /// Nothing more will come.
    fn finish(&mut self, _findings: &mut Vec<Finding>) {}
}

impl SourceKind {
    pub const ALL: [Self; 6] = [
        Self::Zot,
        Self::Pi,
        Self::Codex,
        Self::ClaudeCode,
        Self::Zino,
        Self::Glasspane,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Zot => "zot",
            Self::Pi => "pi",
            Self::Codex => "codex",
            Self::ClaudeCode => "claude-code",
            Self::Zino => "zino",
            Self::Glasspane => "glasspane",
        }
    }

    /// What the name of a program says about the kind of agent it is.
    pub fn of_program(program: &Path) -> Option<Self> {
        Some(match program.file_stem()?.to_str()? {
            "zot" => Self::Zot,
            "pi" => Self::Pi,
            "codex" => Self::Codex,
            "claude" => Self::ClaudeCode,
            "zino" | "zino-cli" => Self::Zino,
            _ => return None,
        })
    }

    /// The line that hands a prompt to such an agent on its standard input, where it takes any.
    pub fn prompt_line(self, text: &str) -> Option<String> {
        let line = match self {
            Self::Zot | Self::Pi => json!({"id": "glasspane", "type": "prompt", "message": text}),
            Self::ClaudeCode => json!({
                "type": "user",
                "message": {"role": "user", "content": [{"type": "text", "text": text}]},
            }),
            Self::Codex | Self::Zino | Self::Glasspane => return None,
        };
        Some(format!("{line}\n"))
    }

    fn dialect(self) -> Box<dyn Dialect> {
        match self {
            Self::Zot => Box::new(zot::Zot::default()),
            Self::Pi => Box::new(pi::Pi::default()),
            Self::Codex => Box::new(codex::Codex::default()),
            Self::ClaudeCode => Box::new(claude_code::ClaudeCode::default()),
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

/// There is no such kind of agent.
#[derive(Debug, thiserror::Error)]
#[error(
    "no source is called {0:?}: take auto, zot, pi, codex, claude-code, zino or glasspane (a log of ours)"
)]
pub struct UnknownSource(String);

impl FromStr for SourceKind {
    type Err = UnknownSource;

    /// Takes the names, and those that tell the modes of a program apart.
    fn from_str(name: &str) -> Result<Self, UnknownSource> {
        Ok(match name {
            "zot" | "zot-rpc" | "zot-json" => Self::Zot,
            "pi" | "pi-rpc" | "pi-json" => Self::Pi,
            "codex" | "codex-exec" => Self::Codex,
            "claude-code" | "claude" => Self::ClaudeCode,
            "zino" => Self::Zino,
            "glasspane" => Self::Glasspane,
            _ => return Err(UnknownSource(name.to_owned())),
        })
    }
}

/// Reads `auto` as none.
pub fn parse_source(name: &str) -> Result<Option<SourceKind>, UnknownSource> {
    match name {
        "auto" => Ok(None),
        name => name.parse().map(Some),
    }
}
