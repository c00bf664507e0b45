//! The table of settings: their values, and which sources may set them.

use serde_json::Value;
use zot_process::sandbox::ConnectRule;

use crate::error::ConfigError;
use crate::original;

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub scope: Scope,
    /// The default, in words.
    pub default: &'static str,
}

/// The values that a setting takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// One of these words. If a project may only tighten the setting, the last one is the strictest.
    Choice(&'static [&'static str]),
    Count {
        min: u64,
        max: u64,
    },
    /// A number that is not negative.
    Amount,
    Switch,
    /// A list of strings; comma-separated on the command line and in variables.
    List(Item),
}

/// The entries of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    Text,
    Path,
    /// A host that may be connected to, as `host:port`.
    Host,
    /// The name of an environment variable; `PREFIX_*` names many.
    Variable,
}

/// Who may set a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    Anyone,
    /// A project may set it, but only more strictly than the user.
    ProjectTightens,
    /// Only the user: a project could run programs, write files or spend money with it.
    UserOnly,
}

const fn entry(name: &'static str, kind: Kind, scope: Scope, default: &'static str) -> Key {
    Key {
        name,
        kind,
        scope,
        default,
    }
}

const ANY_COUNT: Kind = Kind::Count {
    min: 0,
    max: u64::MAX,
};

const fn limit(min: u64) -> Kind {
    Kind::Count {
        min,
        max: u32::MAX as u64,
    }
}

/// With fewer open files, no program could start.
///
/// Limit: a lower `open_files` is refused.
pub const MIN_OPEN_FILES: u64 = 16;

/// Every setting, in the order in which they are listed.
pub const KEYS: [Key; 34] = [
    entry(
        "provider",
        Kind::Text,
        Scope::Anyone,
        "the first with a key",
    ),
    entry("model", Kind::Text, Scope::Anyone, "the provider's default"),
    entry("fallback", Kind::List(Item::Text), Scope::Anyone, "none"),
    entry(
        "wire",
        Kind::Choice(&["openai", "openai-responses"]),
        Scope::Anyone,
        "what the model needs",
    ),
    entry(
        "reasoning",
        Kind::Choice(&["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
        Scope::Anyone,
        "the provider's default",
    ),
    entry(
        "max_steps",
        Kind::Count {
            min: 1,
            max: u32::MAX as u64,
        },
        Scope::ProjectTightens,
        "no limit",
    ),
    entry(
        "max_process_steps",
        ANY_COUNT,
        Scope::ProjectTightens,
        "no limit",
    ),
    entry(
        "max_cost_usd",
        Kind::Amount,
        Scope::ProjectTightens,
        "no limit",
    ),
    entry("max_tokens", ANY_COUNT, Scope::ProjectTightens, "no limit"),
    entry("timeout_ms", ANY_COUNT, Scope::ProjectTightens, "no limit"),
    entry(
        "tools",
        Kind::List(Item::Text),
        Scope::ProjectTightens,
        "all",
    ),
    entry(
        "tool_dialect",
        Kind::Choice(&["native", "hermes"]),
        Scope::Anyone,
        "the model's own",
    ),
    entry("jail", Kind::Switch, Scope::ProjectTightens, "false"),
    entry(
        "sandbox",
        Kind::Choice(&["off", "workspace", "read-only"]),
        Scope::ProjectTightens,
        "off",
    ),
    entry(
        "sandbox_read",
        Kind::List(Item::Path),
        Scope::UserOnly,
        "none",
    ),
    entry(
        "sandbox_write",
        Kind::List(Item::Path),
        Scope::UserOnly,
        "none",
    ),
    entry(
        "sandbox_run",
        Kind::List(Item::Path),
        Scope::UserOnly,
        "every program",
    ),
    entry(
        "sandbox_connect",
        Kind::List(Item::Host),
        Scope::UserOnly,
        "none",
    ),
    entry(
        "sandbox_unix_sockets",
        Kind::List(Item::Path),
        Scope::UserOnly,
        "none",
    ),
    entry(
        "sandbox_environment",
        Kind::List(Item::Variable),
        Scope::UserOnly,
        "none",
    ),
    entry(
        "sandbox_memory_mib",
        limit(1),
        Scope::ProjectTightens,
        "no limit",
    ),
    entry(
        "sandbox_processes",
        limit(1),
        Scope::ProjectTightens,
        "no limit",
    ),
    entry(
        "sandbox_processor_seconds",
        limit(1),
        Scope::ProjectTightens,
        "no limit",
    ),
    entry(
        "sandbox_open_files",
        limit(MIN_OPEN_FILES),
        Scope::ProjectTightens,
        "no limit",
    ),
    entry(
        "sandbox_extensions",
        Kind::Choice(&["off", "workspace", "read-only"]),
        Scope::ProjectTightens,
        "off",
    ),
    entry(
        "sandbox_mcp",
        Kind::Choice(&["off", "workspace", "read-only"]),
        Scope::ProjectTightens,
        "off",
    ),
    entry("extensions", Kind::Switch, Scope::UserOnly, "true"),
    entry(
        "extension_paths",
        Kind::List(Item::Text),
        Scope::UserOnly,
        "none",
    ),
    entry("session", Kind::Switch, Scope::UserOnly, "true"),
    entry("durable", Kind::Switch, Scope::UserOnly, "false"),
    entry("live_models", Kind::Switch, Scope::UserOnly, "true"),
    entry(
        "theme",
        Kind::Text,
        Scope::UserOnly,
        "as the terminal's background",
    ),
    entry("keep_scrollback", Kind::Switch, Scope::UserOnly, "true"),
    entry(
        "inline_images_enabled",
        Kind::Switch,
        Scope::UserOnly,
        "where the terminal can",
    ),
];

/// Returns the setting `name`, or an error that suggests the nearest one.
pub fn key(name: &str) -> Result<&'static Key, ConfigError> {
    // Flags and prose use hyphens.
    let wanted = name.replace('-', "_");
    KEYS.iter()
        .find(|key| key.name == wanted)
        .ok_or_else(|| ConfigError::UnknownKey {
            name: name.to_owned(),
            nearest: nearest(name),
            known: KEYS.map(|key| key.name).join(", "),
        })
}

/// Returns the setting that was probably meant.
pub(crate) fn nearest(name: &str) -> Option<&'static str> {
    let wanted = name.to_lowercase().replace('-', "_");
    // Two swapped letters count twice.
    let limit = wanted.chars().count().div_ceil(3);
    KEYS.iter()
        .map(|key| (strsim::levenshtein(&wanted, key.name), key.name))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, name)| name)
}

impl Key {
    /// Returns the environment variable that sets it.
    pub fn variable(&self) -> String {
        format!("ZOT_{}", self.name.to_ascii_uppercase())
    }

    /// Parses the text of an argument or a variable; `null` means unset.
    pub(crate) fn parse(&self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        // An empty list is a value: no tools at all.
        if text.is_empty() && !matches!(self.kind, Kind::List(_)) {
            return Ok(Value::Null);
        }
        let value = match self.kind {
            Kind::Choice(_) => original::choice(self.name, text),
            Kind::Text => Value::from(text),
            Kind::List(_) if text.starts_with('[') => {
                serde_json::from_str(text).map_err(|_| self.expectation())?
            }
            Kind::List(_) => text
                .split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .map(Value::from)
                .collect(),
            Kind::Switch => match text {
                "1" | "yes" | "on" => Value::Bool(true),
                "0" | "no" | "off" => Value::Bool(false),
                _ => serde_json::from_str(text).map_err(|_| self.expectation())?,
            },
            Kind::Count { .. } | Kind::Amount => {
                serde_json::from_str(text).map_err(|_| self.expectation())?
            }
        };
        if !value.is_null() {
            self.check(&value)?;
        }
        Ok(value)
    }

    /// Checks that `value` is allowed.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        let fits = match self.kind {
            Kind::Text => value.as_str().is_some_and(|text| !text.trim().is_empty()),
            Kind::Choice(choices) => value.as_str().is_some_and(|text| choices.contains(&text)),
            Kind::Count { min, max } => value
                .as_u64()
                .is_some_and(|count| (min..=max).contains(&count)),
            Kind::Amount => value.as_f64().is_some_and(|amount| amount >= 0.0),
            Kind::Switch => value.is_boolean(),
            Kind::List(item) => {
                let items = value.as_array().ok_or_else(|| self.expectation())?;
                return items.iter().try_for_each(|value| match value.as_str() {
                    Some(text) => item
                        .check(text)
                        .map_err(|problem| format!("has a wrong entry: {problem}")),
                    None => Err(self.expectation()),
                });
            }
        };
        if fits {
            Ok(())
        } else {
            Err(self.expectation())
        }
    }

    fn expectation(&self) -> String {
        match self.kind {
            Kind::Text => "must be a string".to_owned(),
            Kind::Choice(choices) => format!("must be one of {}", choices.join(", ")),
            Kind::Count { min: 0, .. } => "must be a whole number".to_owned(),
            Kind::Count { min, .. } => format!("must be a whole number of at least {min}"),
            Kind::Amount => "must be a number of at least 0".to_owned(),
            Kind::Switch => "must be true or false".to_owned(),
            Kind::List(_) => "must be a list of strings".to_owned(),
        }
    }

    /// Returns a project's `value` restricted by the user's value `users`.
    pub(crate) fn tightened(&self, value: Value, users: Option<&Value>) -> Value {
        let (Scope::ProjectTightens, Some(users)) = (self.scope, users) else {
            return value;
        };
        match (&value, users) {
            (Value::Array(wanted), Value::Array(allowed)) => tightened_list(wanted, allowed),
            // All switches of this scope are restrictions.
            (Value::Bool(wanted), Value::Bool(already)) => Value::Bool(*wanted || *already),
            (Value::String(wanted), Value::String(already)) => match self.kind {
                Kind::Choice(choices) => {
                    let strictness =
                        |word: &String| choices.iter().position(|choice| choice == word);
                    match strictness(wanted) < strictness(already) {
                        true => users.clone(),
                        false => value,
                    }
                }
                _ => value,
            },
            _ => match (value.as_f64(), users.as_f64()) {
                (Some(wanted), Some(allowed)) if allowed < wanted => users.clone(),
                _ => value,
            },
        }
    }
}

impl Item {
    /// Checks that `text` can be an entry.
    pub fn check(self, text: &str) -> Result<(), String> {
        match self {
            Self::Text => Ok(()),
            Self::Path if text.trim().is_empty() => Err("expected a path, got nothing".to_owned()),
            Self::Path => Ok(()),
            Self::Host => match text.parse::<ConnectRule>() {
                Ok(_) => Ok(()),
                Err(problem) => Err(problem.to_string()),
            },
            Self::Variable if is_variable(text) => Ok(()),
            Self::Variable => Err(format!(
                "{text:?} is not the name of a variable: write NAME or PREFIX_*"
            )),
        }
    }
}

/// Returns whether `text` names an environment variable, or many of them with a `*` at its end. A `*`
/// alone would name the keys of model providers.
fn is_variable(text: &str) -> bool {
    let name = text.strip_suffix('*').unwrap_or(text);
    !name.is_empty() && !name.contains(['=', '*', '\0', ' '])
}

/// Returns the names in both lists, without those that either removes with a leading `-`. A list of
/// removals only allows every other name; an empty list allows none.
fn tightened_list(wanted: &[Value], allowed: &[Value]) -> Value {
    if wanted.is_empty() || allowed.is_empty() {
        return Value::Array(Vec::new());
    }
    let is_removal = |name: &&Value| name.as_str().is_some_and(|name| name.starts_with('-'));
    let names = |list: &[Value]| -> Vec<Value> {
        let names = list.iter().filter(|name| !is_removal(name));
        names.cloned().collect()
    };
    let (wanted_names, allowed_names) = (names(wanted), names(allowed));
    let mut kept = match (wanted_names.is_empty(), allowed_names.is_empty()) {
        (_, true) => wanted_names,
        (true, false) => allowed_names,
        (false, false) => {
            let both = wanted_names
                .iter()
                .filter(|name| allowed_names.contains(name));
            let both: Vec<Value> = both.cloned().collect();
            match both.is_empty() && wanted.iter().chain(allowed).any(|name| is_removal(&name)) {
                // Nothing is left, which a list of removals only would not express.
                true => {
                    let removed = wanted_names.iter().filter_map(Value::as_str);
                    let removed = removed.map(|name| Value::from(format!("-{name}")));
                    wanted_names
                        .iter()
                        .cloned()
                        .chain(removed.collect::<Vec<_>>())
                        .collect()
                }
                false => both,
            }
        }
    };
    for removal in wanted.iter().chain(allowed).filter(is_removal) {
        if !kept.contains(removal) {
            kept.push(removal.clone());
        }
    }
    Value::Array(kept)
}

#[cfg(test)]
mod tests;
