//! The sources of settings, and which one wins.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::document::{self, Document};
use crate::error::{ConfigError, did_you_mean};
use crate::keys::{self, KEYS, Key, Kind, Scope};
use crate::original;
use crate::settings::Settings;

/// One of the two files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigFile {
    User,
    Project,
}

impl ConfigFile {
    /// Returns the path of the file, which need not exist.
    pub fn path(self, home: &Path, cwd: &Path) -> PathBuf {
        match self {
            Self::User => home.join("config.json"),
            Self::Project => cwd.join(".zot").join("config.json"),
        }
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    Default,
    User(PathBuf),
    Project(PathBuf),
    Variable(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::User(path) | Self::Project(path) => write!(formatter, "{}", path.display()),
            Self::Variable(name) => write!(formatter, "${name}"),
        }
    }
}

/// The effective value of a setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    pub key: &'static Key,
    /// `None` if it is not set.
    pub value: Option<Value>,
    pub origin: Origin,
}

/// The merged settings and what was noticed while reading them.
#[derive(Debug, Default)]
pub struct Layers {
    values: BTreeMap<&'static str, (Value, Origin)>,
    /// Probable mistakes.
    warnings: Vec<String>,
    /// Unknown names in the files, possibly of another program.
    unknown: Vec<String>,
    /// Remarks about valid but surprising content.
    notes: Vec<String>,
    /// The file with a proxy setting, which only the original zot uses.
    ignored_proxy: Option<PathBuf>,
}

impl Layers {
    /// Reads both files and the variables.
    pub fn load(
        home: &Path,
        cwd: &Path,
        env: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, ConfigError> {
        let mut layers = Self::default();
        let user = ConfigFile::User.path(home, cwd);
        let project = ConfigFile::Project.path(home, cwd);
        layers.add_file(&user, ConfigFile::User)?;
        // $ZOT_HOME may be the .zot of the working directory.
        if project.exists() && !is_same_file(&user, &project) {
            layers.add_file(&project, ConfigFile::Project)?;
        }
        layers.add_variables(env)?;
        // Bypassing a proxy may reveal what it is meant to hide, so this needs a warning.
        if let Some(path) = layers.ignored_proxy.take()
            && !original::PROXY_VARIABLES
                .iter()
                .any(|name| env(name).is_some())
        {
            layers.warnings.push(format!(
                "{}: {:?} has no effect here, so requests do not go through that proxy: set \
                 HTTPS_PROXY and HTTP_PROXY",
                path.display(),
                original::PROXY
            ));
        }
        Ok(layers)
    }

    fn add_file(&mut self, path: &Path, file: ConfigFile) -> Result<(), ConfigError> {
        let Some(text) = document::read(path)? else {
            return Ok(());
        };
        let document = Document::parse(path, &text)?;
        let found = self.known_settings(path, &document, file)?;
        self.report_other_settings(path, &document);
        let origin = match file {
            ConfigFile::User => Origin::User(path.to_owned()),
            ConfigFile::Project => Origin::Project(path.to_owned()),
        };
        self.add(found, &origin);
        Ok(())
    }

    /// Returns the valid settings of `document`; a setting that a project may not set causes a warning.
    fn known_settings(
        &mut self,
        path: &Path,
        document: &Document<'_>,
        file: ConfigFile,
    ) -> Result<Vec<(&'static Key, Value)>, ConfigError> {
        let mut found = Vec::new();
        for key in &KEYS {
            let names = [Some(key.name), original::original_name(key.name)];
            let mut entries = names.into_iter().flatten().map(|name| document.get(name));
            let Some(raw) = entries.find_map(|raw| raw) else {
                continue;
            };
            let value_error = |problem| ConfigError::Value {
                path: path.to_owned(),
                line: document.line(raw),
                key: key.name,
                problem,
            };
            let value: Value = serde_json::from_str(raw.get())
                .map_err(|_| value_error("is not valid JSON".to_owned()))?;
            let value = match (key.kind, value.as_str()) {
                (Kind::Choice(_), Some(text)) => original::choice(key.name, text),
                _ => value,
            };
            if original::is_unset(&value) {
                continue;
            }
            if file == ConfigFile::Project && key.scope == Scope::UserOnly {
                self.warnings.push(format!(
                    "{}: {:?} is ignored, because a project may not set it; it belongs in your own \
                     config.json",
                    path.display(),
                    key.name
                ));
                continue;
            }
            key.check(&value).map_err(value_error)?;
            found.push((key, value));
        }
        Ok(found)
    }

    /// Notes the settings of `document` that have no effect: those of the original, and unknown ones.
    fn report_other_settings(&mut self, path: &Path, document: &Document<'_>) {
        let mut originals = Vec::new();
        for (name, value) in &document.entries {
            if name == "$schema"
                || KEYS.iter().any(|key| key.name == name)
                || original::our_name(name).is_some()
            {
                continue;
            }
            if original::is_without_counterpart(name) {
                originals.push(name.as_str());
                let value: Value = serde_json::from_str(value.get()).unwrap_or_default();
                if name == original::PROXY && !original::is_unset(&value) {
                    self.ignored_proxy = Some(path.to_owned());
                }
                continue;
            }
            let nearest = keys::nearest(name);
            let message = format!(
                "{}, line {}: unknown setting {name:?}{}",
                path.display(),
                document.line(value),
                did_you_mean(&nearest)
            );
            match nearest {
                Some(_) => self.warnings.push(message),
                None => self.unknown.push(message),
            }
        }
        if !originals.is_empty() {
            self.notes.push(format!(
                "{}: settings of the original zot that have no effect here, and are kept: {}",
                path.display(),
                originals.join(", ")
            ));
        }
    }

    fn add_variables(&mut self, env: &dyn Fn(&str) -> Option<String>) -> Result<(), ConfigError> {
        for key in &KEYS {
            let variable = key.variable();
            let Some(text) = env(&variable).filter(|text| !text.trim().is_empty()) else {
                continue;
            };
            let value = key.parse(&text).map_err(|problem| ConfigError::Variable {
                variable: variable.clone(),
                problem,
            })?;
            if value.is_null() {
                // For example ZOT_REASONING=off, which overrides the files.
                self.values.remove(key.name);
                continue;
            }
            self.add(vec![(key, value)], &Origin::Variable(variable));
        }
        Ok(())
    }

    fn add(&mut self, found: Vec<(&'static Key, Value)>, origin: &Origin) {
        let value_of = |name: &str| {
            let mut found = found.iter();
            found
                .find(|(key, _)| key.name == name)
                .map(|(_, value)| value)
        };
        // A model belongs to its provider: another provider implies that one's default.
        if let (Some(provider), None) = (value_of("provider"), value_of("model"))
            && self.value("provider") != Some(provider)
        {
            self.values.remove("model");
        }
        for (key, value) in found {
            let value = match origin {
                Origin::Project(_) => key.tightened(value, self.value(key.name)),
                _ => value,
            };
            // A project that changes nothing is not where the value comes from.
            if key.scope == Scope::ProjectTightens && self.value(key.name) == Some(&value) {
                continue;
            }
            self.values.insert(key.name, (value, origin.clone()));
        }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name).map(|(value, _)| value)
    }

    /// Returns the merged settings.
    pub fn settings(&self) -> Settings {
        if self.values.is_empty() {
            return Settings::default();
        }
        let mut settings = self.typed();
        // Relative paths in a file start at its directory, wherever zot is started.
        if let (Some(paths), Some((_, Origin::User(file)))) = (
            &mut settings.extension_paths,
            self.values.get("extension_paths"),
        ) {
            let directory = file.parent().unwrap_or(Path::new("."));
            for path in paths {
                *path = directory.join(&*path);
            }
        }
        settings
    }

    fn typed(&self) -> Settings {
        let values: Map<String, Value> = self
            .values
            .iter()
            .map(|(name, (value, _))| ((*name).to_owned(), value.clone()))
            .collect();
        // Every value was checked before; a test covers all kinds.
        serde_json::from_value(Value::Object(values)).unwrap_or_default()
    }

    /// Returns every setting and its origin.
    pub fn list(&self) -> Vec<Setting> {
        KEYS.iter()
            .map(|key| match self.values.get(key.name) {
                Some((value, origin)) => Setting {
                    key,
                    value: Some(value.clone()),
                    origin: origin.clone(),
                },
                None => Setting {
                    key,
                    value: None,
                    origin: Origin::Default,
                },
            })
            .collect()
    }

    /// Returns probable mistakes, to be shown at every start.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns unknown names that resemble no setting.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// Returns the settings of the original zot that have no effect, one line per file.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }
}

fn is_same_file(left: &Path, right: &Path) -> bool {
    match (left.canonicalize(), right.canonicalize()) {
        (Ok(left), Ok(right)) => left == right,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
