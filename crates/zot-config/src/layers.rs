//! Who says what, and who wins.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::document::{self, Document};
use crate::error::{ConfigError, did_you_mean};
use crate::keys::{self, KEYS, Key, Kind, Scope};
use crate::original;
use crate::settings::Settings;

/// Whose file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    User,
    Project,
}

impl Place {
    /// Where the file is, whether or not it exists.
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

/// One setting as it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    pub key: &'static Key,
    /// `None` when nobody set it.
    pub value: Option<Value>,
    pub origin: Origin,
}

/// Everything that was said, the weakest first.
#[derive(Debug, Default)]
pub struct Layers {
    values: BTreeMap<&'static str, (Value, Origin)>,
    /// What is probably a mistake.
    warnings: Vec<String>,
    /// Names in the files that mean nothing here. They may be another program's.
    unknown: Vec<String>,
    /// What is in order, and may surprise people who look.
    notes: Vec<String>,
    /// The file that names a proxy, which only the original uses.
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
        let user = Place::User.path(home, cwd);
        let project = Place::Project.path(home, cwd);
        layers.add_file(&user, Place::User)?;
        // $ZOT_HOME may be the .zot of the directory that is worked in.
        if project.exists() && !is_same_file(&user, &project) {
            layers.add_file(&project, Place::Project)?;
        }
        layers.add_variables(env)?;
        // Going around a proxy may reveal what it is there to hide, so this one is not passed over
        // in silence.
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

    fn add_file(&mut self, path: &Path, place: Place) -> Result<(), ConfigError> {
        let Some(text) = document::read(path)? else {
            return Ok(());
        };
        let document = Document::parse(path, &text)?;
        let found = self.known_settings(path, &document, place)?;
        self.report_other_settings(path, &document);
        let origin = match place {
            Place::User => Origin::User(path.to_owned()),
            Place::Project => Origin::Project(path.to_owned()),
        };
        self.add(found, &origin);
        Ok(())
    }

    /// Returns the valid settings of `document`; one that a project may not set is only warned about.
    fn known_settings(
        &mut self,
        path: &Path,
        document: &Document<'_>,
        place: Place,
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
                .map_err(|_| value_error("cannot be read".to_owned()))?;
            let value = match (key.kind, value.as_str()) {
                (Kind::Choice(_), Some(text)) => original::choice(key.name, text),
                _ => value,
            };
            if original::is_unset(&value) {
                continue;
            }
            key.check(&value).map_err(value_error)?;
            if place == Place::Project && key.scope == Scope::UserOnly {
                self.warnings.push(format!(
                    "{}: {:?} is ignored, because a project may not set it; it belongs in your own \
                     config.json",
                    path.display(),
                    key.name
                ));
                continue;
            }
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
            let complaint = format!(
                "{}, line {}: unknown setting {name:?}{}",
                path.display(),
                document.line(value),
                did_you_mean(&nearest)
            );
            match nearest {
                Some(_) => self.warnings.push(complaint),
                None => self.unknown.push(complaint),
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
                // For example ZOT_REASONING=off: whatever the files say does not count.
                self.values.remove(key.name);
                continue;
            }
            self.add(vec![(key, value)], &Origin::Variable(variable));
        }
        Ok(())
    }

    fn add(&mut self, found: Vec<(&'static Key, Value)>, origin: &Origin) {
        let says = |name: &str| {
            let mut found = found.iter();
            found
                .find(|(key, _)| key.name == name)
                .map(|(_, value)| value)
        };
        // A model belongs to its provider: whoever names another provider means that one's default.
        if let (Some(provider), None) = (says("provider"), says("model"))
            && self.value("provider") != Some(provider)
        {
            self.values.remove("model");
        }
        for (key, value) in found {
            let value = match origin {
                Origin::Project(_) => key.tightened(value, self.value(key.name)),
                _ => value,
            };
            self.values.insert(key.name, (value, origin.clone()));
        }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name).map(|(value, _)| value)
    }

    /// What everything together comes to.
    pub fn settings(&self) -> Settings {
        if self.values.is_empty() {
            return Settings::default();
        }
        let mut settings = self.typed();
        // What a file names lies beside it, wherever zot is started.
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
        // Every value was checked; a test goes through all kinds.
        serde_json::from_value(Value::Object(values)).unwrap_or_default()
    }

    /// Every setting, and where it comes from.
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

    /// What is probably a mistake, for every start.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What means nothing here and is like nothing that does, for people who look.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// What the files hold for the original zot, a line for each file.
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
