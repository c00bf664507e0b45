//! The agents named on the command line.

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Failure;
use crate::Hub;
use crate::attach::{Ended, FileFeed, Launch, Listener, accept_agents, default_socket, run_agent};
use crate::record::Attached;
use crate::source::{SourceKind, UnknownSource, parse_source};

/// The value of `--socket` and `--connect` without a path.
pub(super) const DEFAULT_SOCKET: &str = "default";

/// A kind of agent; `None` to detect it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceArgument(pub Option<SourceKind>);

impl FromStr for SourceArgument {
    type Err = UnknownSource;

    fn from_str(name: &str) -> Result<Self, UnknownSource> {
        parse_source(name).map(Self)
    }
}

/// Agents to start.
#[derive(Debug, Clone, Default, Args)]
pub struct StartArguments {
    /// Start an agent with sh; may be repeated
    #[arg(long = "agent", visible_alias = "run", value_name = "[LABEL=]COMMAND")]
    pub agents: Vec<String>,
    /// The label of the agent after --
    #[arg(long)]
    pub label: Option<String>,
    /// The kind of agents: zot, pi, codex, codex-app-server, claude-code, gemini, qwen, goose, opencode, acp,
    /// zino, glasspane
    #[arg(long, default_value = "auto")]
    pub source: SourceArgument,
    /// Prompt agents that read prompts from standard input (zot rpc, pi --mode rpc, claude, qwen); may be repeated
    #[arg(long, value_name = "TEXT")]
    pub prompt: Vec<String>,
    /// An agent to start, without a shell
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Agents to start, to read from files, and to accept.
#[derive(Debug, Clone, Default, Args)]
pub struct AgentArguments {
    #[command(flatten)]
    pub start: StartArguments,
    /// Read a file of events or a log and follow it as it grows; may be repeated
    #[arg(long = "file", value_name = "FILE", num_args = 1..)]
    pub files: Vec<PathBuf>,
    /// Let agents attach over a Unix socket, by default below $XDG_RUNTIME_DIR
    #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = DEFAULT_SOCKET)]
    pub socket: Option<PathBuf>,
}

impl StartArguments {
    /// The agents to start.
    pub fn launches(&self) -> Result<Vec<Launch>, Failure> {
        let mut launches = Vec::new();
        if !self.command.is_empty() {
            launches.push(Launch {
                label: self.label.clone().unwrap_or_default(),
                command: self.command.clone(),
                kind: self.source.0,
                prompts: self.prompt.clone(),
                ..Launch::default()
            });
        }
        for agent in &self.agents {
            let launch = Launch::shell(agent).map_err(|error| Failure::Usage(error.to_string()))?;
            launches.push(Launch {
                kind: self.source.0,
                prompts: self.prompt.clone(),
                ..launch
            });
        }
        Ok(launches)
    }
}

impl AgentArguments {
    /// The socket that agents may attach to, if any.
    pub fn socket_path(&self) -> Option<PathBuf> {
        let path = self.socket.clone()?;
        Some(if path.as_os_str() == DEFAULT_SOCKET {
            default_socket()
        } else {
            path
        })
    }

    /// Whether no agents are named.
    pub fn is_empty(&self) -> bool {
        self.start.command.is_empty()
            && self.start.agents.is_empty()
            && self.files.is_empty()
            && self.socket.is_none()
    }
}

/// How something attached has ended.
#[derive(Debug)]
pub enum Outcome {
    Ended(Ended),
    /// Could not be started or read, and why.
    Failed(String),
    /// A file was read, or the socket closed.
    Over,
}

/// Everything that is attached; ended by [`shutdown`](Self::shutdown).
#[derive(Debug)]
pub struct Attachments {
    tasks: JoinSet<Outcome>,
    cancel: CancellationToken,
}

/// Whether files are read once or followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Files {
    Once,
    Follow,
}

impl Attachments {
    /// Starts, opens and listens. Must be called inside a tokio runtime.
    pub fn start(hub: &Hub, arguments: &AgentArguments) -> Result<Self, Failure> {
        Self::start_with(hub, arguments, Files::Follow)
    }

    pub(super) fn start_with(
        hub: &Hub,
        arguments: &AgentArguments,
        files: Files,
    ) -> Result<Self, Failure> {
        let mut this = Self {
            tasks: JoinSet::new(),
            cancel: CancellationToken::new(),
        };
        // Steps that can fail come first, before anything is started.
        let launches = arguments.start.launches()?;
        if let Some(path) = arguments.socket_path() {
            let listener = Listener::bind(&path).map_err(Failure::failed)?;
            let (hub, cancel) = (hub.clone(), this.cancel.clone());
            this.tasks.spawn(async move {
                accept_agents(hub, listener, cancel).await;
                Outcome::Over
            });
        }
        for path in &arguments.files {
            let attached = Attached {
                label: path
                    .file_name()
                    .unwrap_or(path.as_os_str())
                    .to_string_lossy()
                    .into_owned(),
                ..Attached::default()
            };
            let file = FileFeed::new(hub, path, attached, arguments.start.source.0)
                .map_err(Failure::failed)?;
            let cancel = this.cancel.clone();
            this.tasks.spawn(async move {
                let read = match files {
                    Files::Once => file.read_once().await,
                    Files::Follow => file.follow(cancel).await,
                };
                read.map_or_else(
                    |error| Outcome::Failed(error.to_string()),
                    |()| Outcome::Over,
                )
            });
        }
        this.launch(hub, launches);
        Ok(this)
    }

    pub(super) fn launch_only(hub: &Hub, launches: Vec<Launch>) -> Self {
        let mut this = Self {
            tasks: JoinSet::new(),
            cancel: CancellationToken::new(),
        };
        this.launch(hub, launches);
        this
    }

    fn launch(&mut self, hub: &Hub, launches: Vec<Launch>) {
        for launch in launches {
            let (hub, cancel) = (hub.clone(), self.cancel.clone());
            self.tasks.spawn(async move {
                match run_agent(&hub, launch, cancel).await {
                    Ok(ended) => Outcome::Ended(ended),
                    Err(error) => Outcome::Failed(error.to_string()),
                }
            });
        }
    }

    /// Waits for the next outcome; `None` when there are no more. Cancel-safe.
    pub async fn next(&mut self) -> Option<Outcome> {
        let joined = self.tasks.join_next().await?;
        Some(joined.unwrap_or_else(|error| Outcome::Failed(error.to_string())))
    }

    /// Asks everything to end; [`next`](Self::next) reports when it has.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Ends everything, including all processes that started agents have started.
    pub async fn shutdown(mut self) {
        self.cancel();
        while self.next().await.is_some() {}
    }
}
