//! Combines the settings of flags, variables and files.

use std::env;
use std::path::{Path, PathBuf};

use zot_sdk::configuration::{ConfigError, Layers, Settings};
use zot_sdk::sandbox::{Level, Rules};
use zot_sdk::{Config, Persistence, Workspace};

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::warn;

const NO_EFFECT: &str = "--sandbox-read, -write, -run, -connect and -unix-socket have no effect while the \
                         sandbox is off: add --sandbox workspace";

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
    let has_rules = allows_more(&config.tools.sandbox.rules);
    config.fill_in(settings.clone());
    if has_rules {
        warn_without_effect(config.tools.policy().level);
    }
    Ok((config, settings))
}

/// Tells the user that rules of the command line have no effect at `level`, if so.
pub(crate) fn warn_without_effect(level: Level) {
    if level == Level::Off {
        warn(&[NO_EFFECT]);
    }
}

/// Returns whether `rules` allow something that [`Level::Off`] allows anyway.
pub(crate) fn allows_more(rules: &Rules) -> bool {
    rules.run.is_some()
        || !rules.connect.is_empty()
        || [&rules.read, &rules.write, &rules.unix_sockets]
            .iter()
            .any(|paths| !paths.is_empty())
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
