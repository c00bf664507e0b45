//! opencode: `mcp` in `opencode.json`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::super::edit::Scope;
use super::fields::{is_false, number, pairs, required, text, texts};
use super::{ClientServers, Draft, ImportPlaces, parse_json};
use crate::entry::{Address, OAuthSettings};

pub(super) fn collect(places: &ImportPlaces<'_>, servers: &mut ClientServers) {
    let user = places.settings().join("opencode");
    for (directory, scope) in [(user.as_path(), Scope::User), (places.cwd, Scope::Project)] {
        for name in ["opencode.json", "opencode.jsonc"] {
            if let Some((path, value)) = servers.read(directory.join(name), parse_json) {
                servers.add_all(&value["mcp"], scope, &path, convert);
            }
        }
    }
}

fn convert(name: &str, value: &Value) -> Result<Draft, String> {
    let address = match value["type"].as_str() {
        Some("remote") => Address::Http {
            url: with_variables(&required(value, "url")?)?,
            headers: all_with_variables(pairs(&value["headers"]))?,
        },
        Some("local") => {
            let words = texts(&value["command"]);
            let words: Result<Vec<String>, String> =
                words.iter().map(|word| with_variables(word)).collect();
            let mut words = words?.into_iter();
            Address::Stdio {
                command: words.next().ok_or("\"command\" is missing")?,
                args: words.collect(),
                env: all_with_variables(pairs(&value["environment"]))?,
                cwd: text(&value["cwd"]).map(Into::into),
            }
        }
        _ => return Err("its \"type\" is neither local nor remote".to_owned()),
    };
    let mut draft = Draft::new(name, address);
    draft.entry.enabled = !is_false(&value["enabled"]);
    let milliseconds = number(&value["timeout"]);
    draft.entry.timeout = milliseconds
        .and_then(|milliseconds| Duration::try_from_secs_f64(milliseconds / 1000.0).ok());
    if let Value::Object(_) = &value["oauth"] {
        let oauth = &value["oauth"];
        let scopes = text(&oauth["scope"]).unwrap_or_default();
        draft.entry.oauth = Some(OAuthSettings {
            client_id: text(&oauth["clientId"]),
            client_secret: text(&oauth["clientSecret"])
                .map(|secret| with_variables(&secret))
                .transpose()?,
            callback_port: oauth["callbackPort"]
                .as_u64()
                .and_then(|port| u16::try_from(port).ok()),
            scopes: scopes.split_whitespace().map(str::to_owned).collect(),
            ..OAuthSettings::default()
        });
    }
    Ok(draft)
}

fn all_with_variables(pairs: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, String> {
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, value)| Ok((name, with_variables(&value)?)))
        .collect()
}

/// Returns `text` with `{env:NAME}` as `${NAME}`.
fn with_variables(text: &str) -> Result<String, String> {
    if text.contains("{file:") {
        return Err(
            "refers to the content of a file ({file:…}), which is not supported".to_owned(),
        );
    }
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{env:") {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        result.push_str(before);
        result.push_str(&format!("${{{name}}}"));
        rest = after;
    }
    Ok(result + rest)
}
