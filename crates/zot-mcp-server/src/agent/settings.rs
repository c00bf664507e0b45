//! From the arguments of a call to the configuration of a runtime.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use serde_json::Value;
use zot_mcp::{Pool, PoolSettings};
use zot_sdk::configuration::{self, ConfigError};
use zot_sdk::mcp::ProjectServers;
use zot_sdk::sandbox::Level;
use zot_sdk::sessions::{self, Scope};
use zot_sdk::{Budget, Config, Persistence, ReasoningEffort, VERSION, Workspace};

use super::arguments::{ReplyArguments, StartArguments};
use super::spending::Spending;
use super::{REPLY, warn};

/// What all runtimes of the server have in common.
pub(crate) struct AgentSettings {
    /// The configuration of the command line, not yet completed from files.
    base: Config,
    workspace: Workspace,
    /// Whether calls stay in the server's own directory, which confines the tools.
    is_jailed: bool,
    /// The least that confines the tools, wherever a call works.
    level: Level,
    /// The least that confines the programs of MCP servers.
    least_of_servers: Level,
    pub(super) spending: Arc<Spending>,
    /// Runs MCP servers once for all runtimes.
    pool: OnceLock<Arc<Pool>>,
}

/// A prompt that can be run.
pub(super) struct Task {
    pub(super) config: Config,
    pub(super) prompt: String,
    pub(super) budget: Budget,
}

/// Why a call cannot be run. The client's model reads it.
#[derive(Debug, thiserror::Error)]
pub(super) enum TaskError {
    #[error("invalid arguments: {0}")]
    Arguments(#[from] serde_json::Error),
    #[error("prompt: expected a text that is not empty")]
    EmptyPrompt,
    #[error("max_cost_usd must not be negative")]
    NegativeCost,
    #[error("max_steps must be at least 1")]
    NoSteps,
    #[error("reasoning: expected one of {}", ReasoningEffort::ALL.map(ReasoningEffort::as_str).join(", "))]
    Reasoning,
    #[error("cwd: {} is not a directory that can be entered", .0.display())]
    Directory(PathBuf),
    #[error(
        "cwd: {} is outside {}, to which this server is confined (--sandbox or --jail)", .directory.display(), .jail.display()
    )]
    Outside { directory: PathBuf, jail: PathBuf },
    #[error("session_id: unknown session {0:?}; use the session_id of an earlier result")]
    UnknownSession(String),
    #[error("cannot list the sessions: {0}")]
    Sessions(#[source] std::io::Error),
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl AgentSettings {
    /// Takes the configuration of the command line; `is_jailed` is what it says with the files of the
    /// server's own directory.
    pub(crate) fn new(base: Config, workspace: Workspace, completed: &Config) -> Self {
        Self {
            is_jailed: completed.tools.jail,
            least_of_servers: completed.mcp.sandbox,
            level: completed.tools.sandbox.level.unwrap_or_default(),
            spending: Arc::new(Spending::new(completed.budget)),
            base,
            workspace,
            pool: OnceLock::new(),
        }
    }

    /// Ends the MCP servers that the runtimes used.
    pub(crate) async fn close(&self) {
        if let Some(pool) = self.pool.get() {
            pool.shut_down().await;
        }
    }

    /// Returns the pool, if runtimes use MCP servers at all.
    fn pool(&self) -> Option<Arc<Pool>> {
        let choice = &self.base.mcp;
        let is_used = choice.user
            || !matches!(choice.project, ProjectServers::Skip)
            || !choice.given.is_empty()
            || !choice.servers.is_empty();
        let commands = match self.is_jailed {
            true => Level::Workspace,
            false => self.level,
        };
        let pool = || {
            Pool::new(PoolSettings {
                home: self.workspace.zot_home.clone(),
                http: self.base.http.clone().unwrap_or_default(),
                version: VERSION.to_owned(),
                rules: zot_sdk::launch_rules(&self.workspace.zot_home, self.least_of_servers)
                    .beside_commands_at(commands),
            })
        };
        is_used.then(|| Arc::clone(self.pool.get_or_init(pool)))
    }

    pub(super) fn task(&self, tool: &str, arguments: Value) -> Result<Task, TaskError> {
        match tool {
            REPLY => self.reply(read(arguments)?),
            _ => self.start(read(arguments)?),
        }
    }

    fn start(&self, arguments: StartArguments) -> Result<Task, TaskError> {
        let cwd = arguments.cwd.filter(|cwd| !cwd.is_empty());
        let cwd = cwd.map_or_else(
            || self.workspace.cwd.clone(),
            |cwd| self.workspace.cwd.join(cwd),
        );
        self.checked(
            cwd,
            Persistence::SessionFile,
            Wanted {
                prompt: arguments.prompt,
                model: arguments.model,
                reasoning: arguments.reasoning,
                max_steps: arguments.max_steps,
                max_cost_usd: arguments.max_cost_usd,
            },
        )
    }

    /// Only the whole id names a session: the beginning of one could be guessed.
    fn reply(&self, arguments: ReplyArguments) -> Result<Task, TaskError> {
        let known = sessions::list(&self.workspace, Scope::Everywhere);
        let found = known
            .map_err(TaskError::Sessions)?
            .into_iter()
            .find(|session| session.id == arguments.session_id)
            .ok_or(TaskError::UnknownSession(arguments.session_id))?;
        // An imported session has no directory of its own.
        let cwd = match found.cwd.as_str() {
            "" => self.workspace.cwd.clone(),
            cwd => PathBuf::from(cwd),
        };
        self.checked(
            cwd,
            Persistence::File(found.path),
            Wanted {
                prompt: arguments.prompt,
                model: arguments.model,
                reasoning: arguments.reasoning,
                max_steps: arguments.max_steps,
                max_cost_usd: arguments.max_cost_usd,
            },
        )
    }

    fn checked(
        &self,
        cwd: PathBuf,
        persistence: Persistence,
        wanted: Wanted,
    ) -> Result<Task, TaskError> {
        let budget = wanted.budget()?;
        let reasoning = wanted.effort()?;
        if wanted.prompt.trim().is_empty() {
            return Err(TaskError::EmptyPrompt);
        }
        let cwd = self.directory(cwd)?;
        let mut config = self.base.clone();
        let workspace = self.workspace.clone().in_directory(&cwd);
        let layers = configuration::layers(&workspace)?;
        for warning in layers.warnings() {
            warn(&warning.to_string());
        }
        config.session.persistence = persistence;
        config.fill_in(layers.settings());
        config.tools.jail |= self.is_jailed;
        let level = config.tools.sandbox.level.unwrap_or_default();
        config.tools.sandbox.level = Some(level.max(self.level));
        // Questions go to the client, which must not lift what the owner of the server has chosen.
        config.tools.sandbox.is_fixed = true;
        config.budget = self.spending.left();
        config.reasoning = reasoning.or(config.reasoning);
        config.model.model = wanted.model.or(config.model.model);
        config.mcp.pool = self.pool();
        config.home = Some(workspace.zot_home);
        config.cwd = Some(cwd);
        Ok(Task {
            config,
            prompt: wanted.prompt,
            budget,
        })
    }

    /// Returns the directory to work in, if it may be used.
    fn directory(&self, cwd: PathBuf) -> Result<PathBuf, TaskError> {
        let Ok(real) = cwd.join(".").canonicalize() else {
            return Err(TaskError::Directory(cwd));
        };
        if !self.is_jailed && self.level == Level::Off {
            return Ok(cwd);
        }
        let jail = resolved(&self.workspace.cwd);
        match real.starts_with(&jail) {
            // What was checked is what is used.
            true => Ok(real),
            false => Err(TaskError::Outside {
                directory: real,
                jail,
            }),
        }
    }
}

/// What both tools can ask for.
struct Wanted {
    prompt: String,
    model: Option<String>,
    reasoning: Option<String>,
    max_steps: Option<u64>,
    max_cost_usd: Option<f64>,
}

impl Wanted {
    fn budget(&self) -> Result<Budget, TaskError> {
        if self.max_cost_usd.is_some_and(|cost| cost < 0.0) {
            return Err(TaskError::NegativeCost);
        }
        if self.max_steps == Some(0) {
            return Err(TaskError::NoSteps);
        }
        Ok(Budget {
            max_steps: self.max_steps,
            max_cost_usd: self.max_cost_usd,
            ..Budget::default()
        })
    }

    fn effort(&self) -> Result<Option<ReasoningEffort>, TaskError> {
        let name = self.reasoning.as_deref().filter(|name| !name.is_empty());
        name.map(|name| name.parse().map_err(|_| TaskError::Reasoning))
            .transpose()
    }
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, TaskError> {
    Ok(serde_json::from_value(arguments)?)
}

fn resolved(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
