//! Settings: reads and changes `config.json` of the user and the project.
//!
//! Variables (`ZOT_MODEL`, …) override the project's file, which overrides the user's. They are read
//! from the environment of the process.

#[cfg(test)]
mod tests;

use std::env;
use std::fmt;
use std::path::PathBuf;

use serde_json::Value;
use zot_config::SandboxLevel;
use zot_process::sandbox::Level;

use crate::workspace::Workspace;

pub use zot_config::{
    ConfigError, ConfigFile, Item, Key, Kind, Layers, MIN_OPEN_FILES, Origin, Setting, Settings,
    json_schema, set_model,
};

/// Every setting, and remarks about the files.
#[derive(Debug, Clone)]
pub struct SettingList {
    /// All settings, set or not.
    pub settings: Vec<Setting>,
    /// Probable mistakes in the files, including unknown names.
    pub warnings: Vec<String>,
    /// Remarks about valid but surprising content.
    pub notes: Vec<String>,
}

/// A setting that was changed in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangedSetting {
    /// The name of the setting.
    pub name: &'static str,
    /// The new value; `None` if it was unset.
    pub value: Option<Value>,
    /// The changed file.
    pub path: PathBuf,
}

/// Reads both files and the variables.
pub fn layers(workspace: &Workspace) -> Result<Layers, ConfigError> {
    Layers::load(&workspace.zot_home, &workspace.cwd, &|name| {
        env::var(name).ok()
    })
}

/// Returns the least that extensions are confined to by the settings.
pub(crate) fn least_of_extensions(workspace: &Workspace) -> Level {
    least(workspace, |settings| settings.sandbox_extensions)
}

/// Returns the least that programs of MCP servers are confined to by the settings.
pub(crate) fn least_of_servers(workspace: &Workspace) -> Level {
    least(workspace, |settings| settings.sandbox_mcp)
}

fn least(workspace: &Workspace, chosen: fn(&Settings) -> Option<SandboxLevel>) -> Level {
    match layers(workspace) {
        Ok(layers) => chosen(&layers.settings()).map_or(Level::Off, crate::settings::level),
        // What cannot be read must not loosen anything.
        Err(_) => Level::ReadOnly,
    }
}

/// Returns every setting with its value and origin.
pub fn list(workspace: &Workspace) -> Result<SettingList, ConfigError> {
    let layers = layers(workspace)?;
    let warnings = layers.warnings().iter().chain(layers.unknown());
    Ok(SettingList {
        settings: layers.list(),
        warnings: warnings.cloned().collect(),
        notes: layers.notes().to_vec(),
    })
}

/// Returns one setting with its value and origin.
pub fn get(workspace: &Workspace, name: &str) -> Result<Setting, ConfigError> {
    let key = zot_config::key(name)?;
    let settings = layers(workspace)?.list();
    let found = settings.into_iter().find(|setting| setting.key == key);
    Ok(found.unwrap_or(Setting {
        key,
        value: None,
        origin: Origin::Default,
    }))
}

/// Changes a setting in a file. Lists are separated by commas; an empty value unsets it.
pub fn set(
    workspace: &Workspace,
    file: ConfigFile,
    name: &str,
    value: &str,
) -> Result<ChangedSetting, ConfigError> {
    let key = zot_config::key(name)?;
    let path = path(workspace, file);
    let value = match zot_config::set(&path, file, key, value)? {
        Value::Null => None,
        value => Some(value),
    };
    Ok(ChangedSetting {
        name: key.name,
        value,
        path,
    })
}

/// Removes a setting from a file, even if it is unknown.
pub fn unset(workspace: &Workspace, file: ConfigFile, name: &str) -> Result<(), ConfigError> {
    let path = path(workspace, file);
    if !path.exists() {
        return Ok(());
    }
    let known = zot_config::key(name);
    let name = known.map_or(name, |key| key.name);
    zot_config::unset(&path, file, name)
}

/// Returns the path of the user's or the project's file, which need not exist.
pub fn path(workspace: &Workspace, file: ConfigFile) -> PathBuf {
    file.path(&workspace.zot_home, &workspace.cwd)
}

/// Formats the value of a setting as it would be typed.
pub fn typed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            items.join(",")
        }
        other => other.to_string(),
    }
}

impl fmt::Display for ChangedSetting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, path) = (self.name, self.path.display());
        match &self.value {
            None => write!(formatter, "{name} is not set ({path})"),
            Some(value) => write!(formatter, "{name} = {value} ({path})"),
        }
    }
}
