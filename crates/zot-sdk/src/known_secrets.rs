//! Collects all known secrets of all providers, to keep them out of cassettes, and the names of the
//! variables that hold them, to keep those from programs.

#[cfg(test)]
mod tests;

use std::path::Path;

use serde_json::Value;
use zot_extension_contract::{LaunchRules, Level};
use zot_files::read_limited;
use zot_provider::Providers;

use crate::tables::Tables;

/// The files that may hold keys, below zot's home.
const FILES: [&str; 3] = ["auth.json", "models.json", "providers.json"];

/// The largest file that is searched.
///
/// Limit: a larger file is not searched for keys.
const MAX_SECRETS_FILE_BYTES: u64 = 4 << 20;

/// Parts of the names of fields that hold secrets, in lower case. `access` and `refresh` are the
/// original's names for the tokens of a login.
const SECRET_NAMES: [&str; 8] = [
    "key",
    "token",
    "secret",
    "password",
    "access",
    "refresh",
    "authorization",
    "credential",
];

/// Returns the secrets in the files below `home` and in the variables that may hold a provider's key.
pub(crate) fn known_secrets(
    home: &Path,
    providers: &Providers,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut secrets = in_files(home);
    let variables = providers.iter().flat_map(|entry| &entry.key_variables);
    secrets.extend(variables.filter_map(|name| variable(name)));
    secrets
}

/// Returns the variables with keys of model providers and logins, which programs get only if they are named:
/// those of the built-in providers, and of the user's in `zot_home`.
pub fn withheld_variables(zot_home: &Path) -> Vec<String> {
    match Tables::load(zot_home) {
        Ok(tables) => tables.providers.secret_variables(),
        Err(_) => Providers::builtin().secret_variables(),
    }
}

/// Returns what applies to every extension, or every MCP server, of this user: at least `minimum`.
pub fn launch_rules(zot_home: &Path, minimum: Level) -> LaunchRules {
    LaunchRules {
        withheld: withheld_variables(zot_home),
        minimum,
        zot_home: Some(zot_home.to_owned()),
        ..LaunchRules::default()
    }
}

/// Returns the secrets in files. Unreadable files are reported where they are used.
fn in_files(home: &Path) -> Vec<String> {
    let mut secrets = Vec::new();
    for name in FILES {
        let text = read_limited(&home.join(name), MAX_SECRETS_FILE_BYTES);
        let value = text.ok().flatten().map(|text| serde_json::from_str(&text));
        if let Some(Ok(value)) = value {
            // In `auth.json`, a text next to the name of a provider is its key.
            collect(&value, name == FILES[0], &mut secrets);
        }
    }
    secrets
}

fn collect(value: &Value, is_secret: bool, secrets: &mut Vec<String>) {
    match value {
        Value::String(text) if is_secret && may_be_secret(text) => secrets.push(text.clone()),
        Value::Array(values) => values
            .iter()
            .for_each(|value| collect(value, is_secret, secrets)),
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = name.to_ascii_lowercase();
                let is_named = SECRET_NAMES.iter().any(|part| name.contains(part));
                // Custom headers often carry a key under a custom name.
                let is_header = name.contains("header");
                let is_key = is_secret && is_plain_entry(&name, value);
                collect(value, is_named || is_header || is_key, secrets);
            }
        }
        _ => {}
    }
}

/// Returns whether a text can be a key: not a word such as `optional`, a variable's name or an address.
fn may_be_secret(text: &str) -> bool {
    let is_variable = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let is_word = text.len() < 20 && !text.bytes().any(|byte| byte.is_ascii_digit());
    !is_word && !text.bytes().all(is_variable) && !text.contains("://")
}

/// Returns whether an entry of `auth.json` may be a key itself, not a description of one.
fn is_plain_entry(name: &str, value: &Value) -> bool {
    let describes = ["type", "expires", "scope", "url", "email", "account", "id"];
    let is_description = describes.iter().any(|part| name.contains(part)) && value.is_string();
    !is_description
}
