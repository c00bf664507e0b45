//! Combines the settings of flags, variables and files.

use std::env;
use std::path::{Path, PathBuf};

use zot_sdk::configuration::{ConfigError, Layers, Settings};
use zot_sdk::{Config, Persistence, Workspace};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::warn;

/// Returns the configuration of the command line, completed from files and variables.
pub(crate) fn read(arguments: Arguments, persistence: Persistence) -> Result<Config, Failure> {
    Ok(read_with_settings(arguments, persistence)?.0)
}

/// As [`read`], with the settings for the front end.
pub(crate) fn read_with_settings(
    arguments: Arguments,
    persistence: Persistence,
) -> Result<(Config, Settings), Failure> {
    let mut config = arguments.config(persistence);
    let layers = layers(config.cwd.as_deref())?;
    warn(layers.warnings());
    let settings = layers.settings();
    config.fill_in(settings.clone());
    Ok((config, settings))
}

/// Reads the settings of files and variables for `cwd`.
pub(crate) fn layers(cwd: Option<&Path>) -> Result<Layers, ConfigError> {
    Layers::load(&home(), cwd.unwrap_or(Path::new(".")), &variable)
}

pub(crate) fn home() -> PathBuf {
    Workspace::of_process().zot_home
}

pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}
