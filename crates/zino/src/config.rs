//! `ZINO.toml`.

pub mod address;
pub mod agents;
mod bus;
mod executor;
mod keys;
pub mod network;
mod operating;
mod store;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use zot_process::sandbox;
use zot_wire::MAX_FRAME_BYTES;

use crate::kind::ServiceKind;
use crate::lenient;
use crate::logging::Level;

pub use bus::{BUS_IDENTITY_VARIABLE, BUS_URL_VARIABLE, Bus, BusUrl};
pub use executor::{Executor, ExecutorSandbox};
pub use operating::Metrics;
pub use store::{STORE_URL_VARIABLE, Store, StoreUrl};

/// The configuration of all services. Relative paths start at the working directory.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Config {
    pub api: Api,
    pub service: Model,
    pub agent: Agent,
    pub daemon: Daemon,
    pub rtr: Router,
    pub agr: AgentLoop,
    pub sys: SystemPrompt,
    pub exc: Executor,
    pub mem: Memory,
    pub ctx: Context,
    pub tools: Directory,
    pub skills: Directory,
    pub logging: Logging,
    pub wire: Wire,
    pub store: Store,
    pub listen: network::Listen,
    pub peers: network::Peers,
    pub tls: network::Tls,
    pub allow: network::Allow,
    pub bus: Bus,
    pub agents: BTreeMap<String, agents::Profile>,
    pub metrics: Metrics,
    /// The directory of the file; `None` when the configuration does not come from a file.
    #[serde(skip)]
    pub directory: Option<PathBuf>,
    /// The file itself.
    #[serde(skip)]
    pub file: Option<PathBuf>,
}

/// `[api]`: where the model is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Api {
    pub base_url: Option<String>,
    /// `LLM_API_KEY` when not given.
    #[serde(deserialize_with = "lenient::read_optional_text")]
    pub key: Option<String>,
    /// Ours: a provider of `zot` instead of an OpenAI-compatible server; `offline` needs nothing.
    pub provider: Option<String>,
    /// Ours: other servers to try, in order, when this one cannot be reached.
    pub fallback: Vec<Endpoint>,
}

/// One of `[[api.fallback]]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Endpoint {
    pub base_url: Option<String>,
    pub key: Option<String>,
    pub provider: Option<String>,
    pub model: Option<String>,
}

/// `[service]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Model {
    pub model: Option<String>,
}

/// `[agent]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Agent {
    #[serde(deserialize_with = "lenient::read_number")]
    pub temperature: f64,
    #[serde(deserialize_with = "lenient::read_number")]
    pub top_p: f64,
    /// For the system prompt only; the loop uses `[agr] max_iterations`.
    #[serde(deserialize_with = "lenient::read_shown")]
    pub max_iterations: String,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            temperature: 0.7,
            top_p: 1.0,
            max_iterations: "5".to_owned(),
        }
    }
}

/// `[daemon]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Daemon {
    pub socket: Option<PathBuf>,
}

/// `[rtr]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Router {
    pub socket: Option<PathBuf>,
    #[serde(deserialize_with = "lenient::read_truth")]
    pub streaming: bool,
    /// Ours: the longest a whole response may take, in seconds.
    #[serde(deserialize_with = "lenient::read_number")]
    pub timeout: f64,
}

impl Default for Router {
    fn default() -> Self {
        Self {
            socket: None,
            streaming: true,
            timeout: 600.0,
        }
    }
}

/// `[agr]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct AgentLoop {
    pub socket: Option<PathBuf>,
    #[serde(deserialize_with = "lenient::read_count")]
    pub max_iterations: u64,
}

impl Default for AgentLoop {
    fn default() -> Self {
        Self {
            socket: None,
            max_iterations: 5,
        }
    }
}

/// `[sys]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct SystemPrompt {
    pub socket: Option<PathBuf>,
    pub template: PathBuf,
    pub personality: String,
    pub soft_memory: String,
}

impl Default for SystemPrompt {
    fn default() -> Self {
        Self {
            socket: None,
            template: PathBuf::from("SYSTEM.md"),
            personality: String::new(),
            soft_memory: String::new(),
        }
    }
}

/// `[mem]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Memory {
    pub socket: Option<PathBuf>,
    pub data_dir: PathBuf,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            socket: None,
            data_dir: PathBuf::from("data/mem"),
        }
    }
}

/// `[ctx]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Context {
    pub socket: Option<PathBuf>,
    #[serde(deserialize_with = "lenient::read_integer")]
    pub history_limit: i64,
    #[serde(deserialize_with = "lenient::read_integer")]
    pub hard_memory_top_k: i64,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            socket: None,
            history_limit: 50,
            hard_memory_top_k: 3,
        }
    }
}

/// `[tools]` and `[skills]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Directory {
    pub dir: Option<PathBuf>,
}

/// `[logging]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Logging {
    pub level: Option<String>,
}

/// `[wire]`, ours.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Wire {
    #[serde(deserialize_with = "lenient::read_count")]
    pub max_frame_bytes: usize,
    /// How long `sys`, `ctx` and `mem` may take to respond, in seconds; then the caller continues without
    /// them.
    #[serde(deserialize_with = "lenient::read_number")]
    pub answer_timeout: f64,
    /// How long `agr` and `exc` may be silent, in seconds; see [`Config::idle_limit`].
    #[serde(deserialize_with = "lenient::read_optional_number")]
    pub idle_timeout: Option<f64>,
    /// How long running requests may take after SIGTERM, in seconds; see [`Config::drain_timeout`].
    #[serde(deserialize_with = "lenient::read_optional_number")]
    pub drain_timeout: Option<f64>,
}

impl Default for Wire {
    fn default() -> Self {
        Self {
            max_frame_bytes: MAX_FRAME_BYTES,
            answer_timeout: ANSWER_TIMEOUT_SECONDS,
            idle_timeout: None,
            drain_timeout: None,
        }
    }
}

/// How long `sys`, `ctx` (twice that) and `mem` may take, unless `[wire] answer_timeout` says otherwise.
///
/// Limit: the caller continues without what it asked for.
const ANSWER_TIMEOUT_SECONDS: f64 = 5.0;

/// How much longer a caller waits than the service itself may take.
///
/// Limit: a service that is silent in a response for this long beyond `[rtr] timeout` is an error.
const IDLE_GRACE: Duration = Duration::from_secs(10);

fn duration(seconds: f64) -> Option<Duration> {
    let duration = Duration::try_from_secs_f64(seconds).ok();
    duration.filter(|duration| !duration.is_zero())
}

/// Why the configuration could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error(
        "no configuration at {}: `zino init` writes one, --config FILE names another", .0.display()
    )]
    Missing(PathBuf),
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{} is invalid: {error}", .path.display())]
    Invalid { path: PathBuf, error: String },
}

/// The longest configuration.
///
/// Limit: a larger `ZINO.toml` is refused.
const MAX_ZINO_CONFIG_BYTES: u64 = 1 << 20;

/// A configuration and warnings about it.
#[derive(Debug)]
pub struct Loaded {
    pub config: Config,
    pub warnings: Vec<String>,
}

/// Describes an error with the line it is in, unless that line may hold a key or a password.
fn without_secrets(error: &toml::de::Error, text: &str) -> String {
    let start = error.span().map_or(0, |span| span.start);
    let before = text.get(..start).unwrap_or_default();
    let number = before.matches('\n').count();
    let line = text.lines().nth(number).unwrap_or_default();
    if !line.contains("key") && !line.contains("://") {
        return error.to_string();
    }
    let name = line.split_once('=').map_or("", |(name, _)| name.trim());
    format!("line {}: {name}: {}", number + 1, error.message())
}

impl Config {
    /// The path of the configuration when no argument names one.
    pub fn default_path() -> PathBuf {
        env::var_os("ZINO_CONFIG")
            .filter(|path| !path.is_empty())
            .map_or_else(|| PathBuf::from("ZINO.toml"), PathBuf::from)
    }

    pub fn load(path: &Path) -> Result<Loaded, ConfigError> {
        let text = match zot_files::read_existing_text(path, MAX_ZINO_CONFIG_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ConfigError::Missing(path.to_owned()));
            }
            Err(source) => {
                return Err(ConfigError::Unreadable {
                    path: path.to_owned(),
                    source,
                });
            }
        };
        let mut loaded = Self::parse(&text).map_err(|error| ConfigError::Invalid {
            path: path.to_owned(),
            error,
        })?;
        loaded.config.directory = path.parent().map(Path::to_owned);
        loaded.config.file = Some(path.to_owned());
        Ok(loaded)
    }

    pub fn parse(text: &str) -> Result<Loaded, String> {
        let table: toml::Table = text
            .parse()
            .map_err(|error| without_secrets(&error, text))?;
        let mut warnings = keys::unknown(&table);
        let config: Self = toml::from_str(text).map_err(|error| without_secrets(&error, text))?;
        if let Some(level) = &config.logging.level
            && Level::named(level).is_none()
        {
            warnings.push(format!(
                "[logging] level {level:?} is unknown (DEBUG, INFO, WARNING, ERROR): INFO is used"
            ));
        }
        let streaming = table
            .get("rtr")
            .and_then(|section| section.get("streaming"));
        if let Some(toml::Value::String(text)) = streaming
            && config.rtr.streaming
            && ["false", "no", "off", "0"].contains(&text.to_ascii_lowercase().as_str())
        {
            warnings.push(format!(
                "[rtr] streaming = {text:?} counts as true, like every non-empty string: write \
                 streaming = false"
            ));
        }
        warnings.extend(config.rules_without_effect());
        let given = [
            ("answer_timeout", Some(config.wire.answer_timeout)),
            ("idle_timeout", config.wire.idle_timeout),
            ("drain_timeout", config.wire.drain_timeout),
        ];
        for (key, seconds) in given {
            if let Some(seconds) = seconds.filter(|seconds| duration(*seconds).is_none()) {
                return Err(format!(
                    "[wire] {key} must be more than 0 seconds, not {seconds}"
                ));
            }
        }
        config.check_network()?;
        Ok(Loaded { config, warnings })
    }

    /// Returns warnings about rules of sandboxes that are off.
    fn rules_without_effect(&self) -> Vec<String> {
        let keys = self.exc.keys_without_effect();
        let executor = keys.into_iter().map(|key| format!("[exc] {key}"));
        let profiles = self.agents.iter();
        let profiles = profiles.filter(|(_, profile)| {
            profile.sandbox == sandbox::Level::Off && !profile.connect.is_empty()
        });
        let profiles = profiles.map(|(name, _)| format!("[agents.{name}] connect"));
        let rules = executor.chain(profiles);
        rules
            .map(|rule| format!("{rule} has no effect while sandbox is off"))
            .collect()
    }

    pub fn socket(&self, kind: ServiceKind) -> PathBuf {
        let given = match kind {
            ServiceKind::Daemon => &self.daemon.socket,
            ServiceKind::Router => &self.rtr.socket,
            ServiceKind::AgentLoop => &self.agr.socket,
            ServiceKind::SystemPrompt => &self.sys.socket,
            ServiceKind::Executor => &self.exc.socket,
            ServiceKind::Memory => &self.mem.socket,
            ServiceKind::Context => &self.ctx.socket,
        };
        given
            .clone()
            .unwrap_or_else(|| PathBuf::from(format!("/run/zino/{}.sock", kind.name())))
    }

    pub fn tools_dir(&self) -> &Path {
        self.tools.dir.as_deref().unwrap_or(Path::new("tools"))
    }

    pub fn skills_dir(&self) -> &Path {
        self.skills.dir.as_deref().unwrap_or(Path::new("skills"))
    }

    /// Whether several services may write to the same channel, so that a turn has to hold it.
    pub fn holds_channels(&self) -> bool {
        self.store_url().is_some()
            || self.peer_addresses(ServiceKind::Memory).is_some()
            || self.bus_url().is_some()
    }

    /// How long a service that only looks something up may take.
    pub fn answer_limit(&self) -> Duration {
        duration(self.wire.answer_timeout).unwrap_or(Duration::MAX)
    }

    /// How long `rtr` may be silent: it ends a response itself at its own limit.
    pub fn router_limit(&self) -> Duration {
        duration(self.rtr.timeout)
            .unwrap_or(Duration::MAX)
            .saturating_add(IDLE_GRACE)
    }

    /// How long services that run programs and ask the model may be silent. By default the longest an
    /// iteration of the loop can take: three responses, of which two are a skill's, and a program.
    pub fn idle_limit(&self) -> Duration {
        match self.wire.idle_timeout {
            Some(seconds) => duration(seconds).unwrap_or(Duration::MAX),
            None => self
                .router_limit()
                .saturating_mul(3)
                .saturating_add(duration(self.exc.timeout).unwrap_or(Duration::MAX)),
        }
    }

    /// `ZINO_LOG_LEVEL`, then `[logging] level`, then INFO.
    pub fn log_level(&self) -> Level {
        env::var("ZINO_LOG_LEVEL")
            .ok()
            .as_deref()
            .and_then(Level::named)
            .or_else(|| self.logging.level.as_deref().and_then(Level::named))
            .unwrap_or_default()
    }
}
