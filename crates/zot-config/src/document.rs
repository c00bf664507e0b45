//! A settings file as text: changing one entry keeps the order and the formatting of the others.

use std::fmt;
use std::path::Path;

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use zot_files::Lock;

use crate::error::ConfigError;
use crate::keys::{Key, Scope};
use crate::layers::ConfigFile;

/// The largest `config.json`.
///
/// Limit: a larger `config.json` is a configuration error.
pub(crate) const MAX_CONFIG_FILE_BYTES: u64 = 1 << 20;

/// The user's file is private.
const USER_MODE: u32 = 0o600;
/// A project's file is shared.
const PROJECT_MODE: u32 = 0o644;

pub(crate) struct Document<'a> {
    text: &'a str,
    pub(crate) entries: Vec<(String, &'a RawValue)>,
}

impl<'a> Document<'a> {
    pub(crate) fn parse(path: &Path, text: &'a str) -> Result<Self, ConfigError> {
        // A file that was created but not written yet.
        if text.trim().is_empty() {
            return Ok(Self {
                text,
                entries: Vec::new(),
            });
        }
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let parsed = deserializer
            .deserialize_map(Entries)
            .and_then(|entries| deserializer.end().map(|()| entries));
        match parsed {
            Ok(entries) => Ok(Self { text, entries }),
            Err(error) => Err(malformed(path, &error)),
        }
    }

    /// Returns the line on which the value of an entry begins.
    pub(crate) fn line(&self, value: &RawValue) -> usize {
        let before = self.text.get(..self.offset(value)).unwrap_or(self.text);
        before.matches('\n').count() + 1
    }

    /// Returns the last entry of that name, which wins as in most JSON readers.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let mut entries = self.entries.iter().rev();
        entries
            .find(|(key, _)| key == name)
            .map(|(_, value)| *value)
    }

    /// Returns the text with another value for `name`, or without it. The rest keeps its formatting
    /// where that is possible without guessing.
    fn with(&self, name: &str, value: Option<&Value>) -> String {
        let mut entries = self.entries.iter().filter(|(key, _)| key == name);
        let spliced = match (value, entries.next(), entries.next()) {
            (Some(value), Some((_, old)), None) => self.replaced(old, value),
            (Some(value), None, _) => self.inserted(name, value),
            (None, None, _) => Some(self.text.to_owned()),
            _ => None,
        };
        spliced
            .filter(|text| !text.trim().is_empty())
            .unwrap_or_else(|| self.rewritten(name, value))
    }

    fn replaced(&self, old: &RawValue, value: &Value) -> Option<String> {
        let start = self.offset(old);
        let before = self.text.get(..start)?;
        let after = self.text.get(start + old.get().len()..)?;
        Some(format!("{before}{value}{after}"))
    }

    /// Appends an entry, on a separate line if the first one has that.
    fn inserted(&self, name: &str, value: &Value) -> Option<String> {
        let (_, last) = self.entries.last()?;
        let end = self.offset(last) + last.get().len();
        let (before, after) = (self.text.get(..end)?, self.text.get(end..)?);
        let opening = self.text.trim_start().strip_prefix('{')?;
        let blanks: String = opening
            .chars()
            .take_while(|letter| letter.is_whitespace())
            .collect();
        let blanks = match blanks.contains('\n') {
            true => blanks.as_str(),
            false => " ",
        };
        Some(format!(
            "{before},{blanks}{}: {value}{after}",
            Value::from(name)
        ))
    }

    fn rewritten(&self, name: &str, value: Option<&Value>) -> String {
        let mut lines = Vec::new();
        let mut add = |name: &str, value: &str| {
            lines.push(format!("  {}: {value}", Value::from(name)));
        };
        let mut written = false;
        for (key, old) in &self.entries {
            if key != name {
                add(key, old.get());
            } else if let (Some(value), false) = (value, written) {
                written = true;
                add(key, &value.to_string());
            }
        }
        if let (Some(value), false) = (value, written) {
            add(name, &value.to_string());
        }
        match lines.is_empty() {
            true => "{}\n".to_owned(),
            false => format!("{{\n{}\n}}\n", lines.join(",\n")),
        }
    }

    /// Returns the offset of the value of an entry.
    fn offset(&self, value: &RawValue) -> usize {
        (value.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize)
    }
}

/// Writes `text` as the value of `key` to the file and returns the value. An empty text unsets the key
/// and returns `null`.
pub fn set(path: &Path, file: ConfigFile, key: &Key, text: &str) -> Result<Value, ConfigError> {
    if file == ConfigFile::Project && key.scope == Scope::UserOnly {
        return Err(ConfigError::UserOnly { key: key.name });
    }
    let value = key.parse(text).map_err(|problem| ConfigError::Given {
        key: key.name,
        problem,
    })?;
    let written = Some(&value).filter(|value| !value.is_null());
    change(path, file, &[(key.name, written)])?;
    Ok(value)
}

/// Removes `name` from the file, even if it is not a known setting.
pub fn unset(path: &Path, file: ConfigFile, name: &str) -> Result<(), ConfigError> {
    change(path, file, &[(name, None)])
}

/// Makes `model` of `provider` the user's default, in one change.
pub fn set_model(path: &Path, provider: &str, model: &str) -> Result<(), ConfigError> {
    let (provider, model) = (Value::from(provider), Value::from(model));
    let changes = [("provider", Some(&provider)), ("model", Some(&model))];
    change(path, ConfigFile::User, &changes)
}

fn change(
    path: &Path,
    file: ConfigFile,
    changes: &[(&str, Option<&Value>)],
) -> Result<(), ConfigError> {
    let unwritable = |source| ConfigError::Unwritable {
        path: path.to_owned(),
        source,
    };
    let directory = path.parent().unwrap_or(Path::new("."));
    match file {
        ConfigFile::User => zot_files::create_private_directory(directory),
        ConfigFile::Project => std::fs::create_dir_all(directory),
    }
    .map_err(unwritable)?;
    let _lock = match file {
        ConfigFile::User => Lock::acquire(&path.with_extension("json.lock")).map(Some),
        // A lock file would end up in a repository.
        ConfigFile::Project => Lock::acquire_directory(directory),
    }
    .map_err(|error| unwritable(error.into()))?;
    let mut changed = read(path)?.unwrap_or_default();
    for (name, value) in changes {
        changed = Document::parse(path, &changed)?.with(name, *value);
    }
    let mode = match file {
        ConfigFile::User => USER_MODE,
        ConfigFile::Project => PROJECT_MODE,
    };
    zot_files::replace(path, changed.as_bytes(), mode).map_err(unwritable)
}

pub(crate) fn read(path: &Path) -> Result<Option<String>, ConfigError> {
    zot_files::read_limited(path, MAX_CONFIG_FILE_BYTES).map_err(|source| ConfigError::Unreadable {
        path: path.to_owned(),
        source,
    })
}

fn malformed(path: &Path, error: &serde_json::Error) -> ConfigError {
    // The position comes first in our message.
    let text = error.to_string();
    let problem = text
        .split(" at line ")
        .next()
        .unwrap_or_default()
        .to_owned();
    ConfigError::Malformed {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
        problem,
    }
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of settings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(entries)
    }
}

#[cfg(test)]
mod tests;
