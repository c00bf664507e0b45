//! `[agents.NAME]`: profiles of the sessions that `zino agent` runs.

use std::path::PathBuf;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use zot_process::sandbox::Level;

use crate::lenient;

/// `[agents.NAME]`, ours.
#[derive(Debug, Clone, Deserialize)]
#[serde(default)]
pub struct Profile {
    /// Where the sessions work.
    pub directory: PathBuf,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub base_url: Option<String>,
    /// How many sessions run at a time in one process; more go to other workers.
    #[serde(deserialize_with = "lenient::read_count")]
    pub sessions: usize,
    /// Confine tools to the directory.
    pub jail: bool,
    /// What tools may do; beside `jail` the stricter of the two.
    #[serde(deserialize_with = "read_level")]
    pub sandbox: Level,
    /// Hosts that commands may connect to in the sandbox, as `host:port`.
    pub connect: Vec<String>,
    /// The tools of the model; all built-in ones when not given.
    pub tools: Option<Vec<String>>,
    /// Which calls a client has to confirm: `never`, `writes` or `always`.
    pub approve: Option<String>,
    /// Start the extensions of the directory and of the user.
    pub extensions: bool,
    /// Read the project's instructions, prompts and skills.
    pub instructions: bool,
    /// Replaces the built-in system prompt.
    pub system_prompt: Option<String>,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            directory: PathBuf::from("."),
            provider: None,
            model: None,
            base_url: None,
            sessions: 256,
            jail: true,
            sandbox: Level::Off,
            connect: Vec::new(),
            tools: None,
            approve: None,
            extensions: false,
            instructions: false,
            system_prompt: None,
        }
    }
}

fn read_level<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Level, D::Error> {
    let word = String::deserialize(deserializer)?;
    word.parse().map_err(D::Error::custom)
}
