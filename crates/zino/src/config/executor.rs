//! `[exc]`.

use std::path::PathBuf;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use zot_process::sandbox::{BadHost, ConnectRule, Level, Limits, Rules};

use crate::lenient;

/// Bytes in a MiB.
const MIB: u64 = 1024 * 1024;

/// `[exc]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Executor {
    pub socket: Option<PathBuf>,
    /// In seconds.
    #[serde(deserialize_with = "lenient::read_number")]
    pub timeout: f64,
    /// Ours: how many programs run at a time; more wait.
    #[serde(deserialize_with = "lenient::read_count")]
    pub concurrency: usize,
    /// Ours: how much of each output stream is kept.
    #[serde(deserialize_with = "lenient::read_count")]
    pub max_output_bytes: usize,
    /// Ours: how programs are confined.
    pub sandbox: ExecutorSandbox,
    /// Ours: where programs run; by default the working directory of the service.
    pub working_dir: Option<PathBuf>,
    /// Ours, with `sandbox`: whether programs may use the network.
    pub network: bool,
    /// Ours, with `sandbox`: what else programs may read and write.
    pub read: Vec<PathBuf>,
    pub write: Vec<PathBuf>,
    /// Ours, with `sandbox`: the only programs that may be started, if given.
    pub run: Option<Vec<PathBuf>>,
    /// Ours, with `sandbox`: hosts that programs may connect to, as `host:port`.
    pub connect: Vec<String>,
    /// Ours, with `sandbox`: Unix sockets that programs may connect to.
    pub unix_sockets: Vec<PathBuf>,
    /// Ours: variables that programs get although they are withheld.
    pub environment: Vec<String>,
    /// Ours: what each process of a program may use.
    pub memory_mib: Option<u64>,
    pub processor_seconds: Option<u64>,
    pub open_files: Option<u64>,
    /// Ours: processes and threads at a time.
    pub processes: Option<u64>,
}

/// How programs of `exc` are confined.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ExecutorSandbox {
    /// `false` and `"off"`.
    #[default]
    Off,
    /// `true`: to the working directory and the files of the system, with the environment of `exc`.
    WorkingDirectory,
    /// Any other word.
    Level(Level),
}

impl Default for Executor {
    fn default() -> Self {
        Self {
            socket: None,
            timeout: 30.0,
            concurrency: 16,
            max_output_bytes: 1024 * 1024,
            sandbox: ExecutorSandbox::Off,
            working_dir: None,
            network: false,
            read: Vec::new(),
            write: Vec::new(),
            run: None,
            connect: Vec::new(),
            unix_sockets: Vec::new(),
            environment: Vec::new(),
            memory_mib: None,
            processor_seconds: None,
            open_files: None,
            processes: None,
        }
    }
}

impl Executor {
    /// Returns the keys that were set and matter only in a sandbox, if there is none.
    pub(super) fn keys_without_effect(&self) -> Vec<&'static str> {
        let keys = [
            ("network", self.network),
            ("read", !self.read.is_empty()),
            ("write", !self.write.is_empty()),
            ("run", self.run.is_some()),
            ("connect", !self.connect.is_empty()),
            ("unix_sockets", !self.unix_sockets.is_empty()),
        ];
        let is_off = self.sandbox == ExecutorSandbox::Off;
        let keys = keys.into_iter().filter(|(_, is_set)| is_off && *is_set);
        keys.map(|(key, _)| key).collect()
    }

    /// Returns the exact rules for programs.
    pub fn rules(&self) -> Result<Rules, BadHost> {
        let listed = self.connect.iter().map(|host| host.parse());
        let mut connect: Vec<ConnectRule> = listed.collect::<Result<_, _>>()?;
        if self.network {
            connect.push(ConnectRule::Anywhere);
        }
        Ok(Rules {
            read: self.read.clone(),
            write: self.write.clone(),
            run: self.run.clone(),
            connect,
            unix_sockets: self.unix_sockets.clone(),
            environment: self.environment.clone(),
            inherits_environment: self.sandbox == ExecutorSandbox::WorkingDirectory,
            limits: Limits {
                memory_bytes: self.memory_mib.map(|mib| mib.saturating_mul(MIB)),
                processes: self.processes,
                processor_seconds: self.processor_seconds,
                open_files: self.open_files,
            },
            ..Rules::default()
        })
    }
}

impl<'de> Deserialize<'de> for ExecutorSandbox {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match toml::Value::deserialize(deserializer)? {
            toml::Value::Boolean(false) => Ok(Self::Off),
            toml::Value::Boolean(true) => Ok(Self::WorkingDirectory),
            toml::Value::String(word) => match word.parse() {
                Ok(Level::Off) => Ok(Self::Off),
                Ok(level) => Ok(Self::Level(level)),
                Err(error) => Err(D::Error::custom(error)),
            },
            _ => Err(D::Error::custom(
                "expected true, false, \"off\", \"workspace\" or \"read-only\" for sandbox",
            )),
        }
    }
}
