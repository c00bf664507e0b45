//! `.env`: variables for `rtr`, above all the key, as the original reads them with python-dotenv.
//!
//! They are looked up where the environment would be and never put into it, so no program that `exc`
//! runs can see them.

mod parse;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

use crate::config::Config;

const NAME: &str = ".env";

/// The longest `.env` file.
///
/// Limit: a larger `.env` is ignored, with a warning.
const MAX_ENVIRONMENT_FILE_BYTES: u64 = 1024 * 1024;

/// The variables of a file; none when there is no file.
#[derive(Debug, Default)]
pub struct EnvironmentFile {
    path: Option<PathBuf>,
    variables: BTreeMap<String, String>,
}

impl EnvironmentFile {
    /// Returns where a file is looked for.
    pub fn places(config: &Config) -> Vec<PathBuf> {
        let Some(directory) = &config.directory else {
            return Vec::new();
        };
        vec![directory.join(NAME), PathBuf::from(NAME)]
    }

    /// Reads the first `.env` found: beside the configuration, then in the working directory, where an
    /// installation of the original has its programs. Problems are returned as warnings.
    pub fn beside(config: &Config) -> (Self, Vec<String>) {
        let mut warnings = Vec::new();
        for path in Self::places(config) {
            match read(&path) {
                Ok(None) => {}
                Ok(Some(text)) => {
                    let (file, problems) = Self::from_text(&path, &text);
                    warnings.extend(problems);
                    return (file, warnings);
                }
                Err(error) => {
                    warnings.push(format!("ignoring {}: {error}", path.display()));
                    return (Self::default(), warnings);
                }
            }
        }
        (Self::default(), warnings)
    }

    fn from_text(path: &Path, text: &str) -> (Self, Vec<String>) {
        let parsed = parse::parse(text, &|name| env::var(name).ok());
        let problems = parsed.bad_lines.iter().map(|line| {
            format!(
                "{} line {line} is ignored: expected NAME=VALUE",
                path.display()
            )
        });
        let problems = problems.collect();
        let file = Self {
            path: Some(path.to_owned()),
            variables: parsed.variables,
        };
        (file, problems)
    }

    /// The path of the file.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Looks up a variable in the environment of the process, then in the file. One that is set but
    /// empty counts as set, as in the original.
    pub fn variable(&self, name: &str) -> Option<String> {
        match env::var_os(name) {
            Some(value) => value.into_string().ok(),
            None => self.variables.get(name).cloned(),
        }
    }

    /// Whether a variable comes from the file.
    pub fn provides(&self, name: &str) -> bool {
        env::var_os(name).is_none() && self.variables.contains_key(name)
    }
}

fn read(path: &Path) -> Result<Option<String>, String> {
    // A directory of this name is often a Python environment.
    if path.is_dir() {
        return Ok(None);
    }
    let bytes = zot_files::read_bytes(path, MAX_ENVIRONMENT_FILE_BYTES)
        .map_err(|error| error.to_string())?;
    match bytes.map(String::from_utf8).transpose() {
        Ok(text) => Ok(text),
        Err(_) => Err("not valid UTF-8".to_owned()),
    }
}
