//! Tools and skills, read from their files.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use zot_wire::zino::Message;

use crate::lenient;
use crate::logging::Log;

/// The longest definition file.
///
/// Limit: the tool or skill is ignored.
pub(crate) const MAX_DEFINITION_BYTES: u64 = 4 << 20;

/// The part of a definition about the program that runs code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Meta {
    pub executor: Option<String>,
    pub file_extension: Option<String>,
    /// The original only tests its truthiness.
    #[serde(deserialize_with = "lenient::read_optional_text")]
    pub static_analysis: Option<String>,
}

/// One way to run code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutorDefinition {
    /// Its name, which is also the program that runs the code.
    pub name: String,
    pub file_extension: String,
    pub static_analysis: Option<String>,
}

impl ExecutorDefinition {
    /// The function that the model calls.
    pub fn function(&self) -> String {
        format!("execute_{}", self.name)
    }
}

/// A skill: two conversations that turn a request into code.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Skill {
    pub meta: Meta,
    pub interpreter: Vec<Message>,
    pub fabricator: Vec<Message>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ToolFile {
    meta: Meta,
}

/// Loads the executors that the tools in a directory name, sorted by file name; the first of
/// several with the same name wins. Files that cannot be read are logged and skipped.
pub fn load_executors(directory: &Path, log: Log) -> Vec<ExecutorDefinition> {
    let mut executors: Vec<ExecutorDefinition> = Vec::new();
    for (stem, path) in json_files(directory, log) {
        let Some(ToolFile { meta }) = read(&path, log) else {
            continue;
        };
        let name = meta.executor.unwrap_or(stem);
        if executors.iter().any(|known| known.name == name) {
            continue;
        }
        executors.push(ExecutorDefinition {
            name,
            file_extension: meta.file_extension.unwrap_or_default(),
            static_analysis: meta.static_analysis,
        });
    }
    executors
}

/// Loads the skills in a directory, by file name.
pub fn load_skills(directory: &Path, log: Log) -> BTreeMap<String, Skill> {
    json_files(directory, log)
        .into_iter()
        .filter_map(|(stem, path)| Some((stem, read(&path, log)?)))
        .collect()
}

/// Lists the `.json` files of a directory with their names, sorted. A missing directory is empty.
fn json_files(directory: &Path, log: Log) -> Vec<(String, PathBuf)> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => {
            if error.kind() != io::ErrorKind::NotFound {
                log.warning(format_args!("{}: {error}", directory.display()));
            }
            return Vec::new();
        }
    };
    let mut files: Vec<(String, PathBuf)> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .filter_map(|path| {
            let stem = path.file_stem()?.to_str()?.to_owned();
            Some((stem, path))
        })
        .collect();
    files.sort();
    files
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path, log: Log) -> Option<T> {
    let parsed = zot_files::read_existing(path, MAX_DEFINITION_BYTES)
        .map_err(|error| error.to_string())
        .and_then(|text| serde_json::from_slice(&text).map_err(|error| error.to_string()));
    match parsed {
        Ok(value) => Some(value),
        Err(error) => {
            log.error(format_args!("ignoring {}: {error}", path.display()));
            None
        }
    }
}
