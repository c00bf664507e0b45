//! goose: `extensions` in `config.yaml`.

use std::time::Duration;

use serde_json::Value;

use super::super::edit::Scope;
use super::fields::{is_false, number, pairs, required, texts};
use super::{ClientServers, Draft, ImportPlaces, yaml};
use crate::entry::{Address, Exposure};

pub(super) fn collect(places: &ImportPlaces<'_>, servers: &mut ClientServers) {
    let path = places.settings().join("goose/config.yaml");
    if let Some((path, value)) = servers.read(path, yaml::parse) {
        servers.add_all(&value["extensions"], Scope::User, &path, convert);
    }
}

fn convert(name: &str, value: &Value) -> Result<Draft, String> {
    let kind = value["type"].as_str().unwrap_or_default();
    let mut draft = Draft::new(
        name,
        match kind {
            "stdio" => Address::Stdio {
                command: required(value, "cmd")?,
                args: texts(&value["args"]),
                env: pairs(&value["envs"]),
                cwd: None,
            },
            "streamable_http" => Address::Http {
                url: required(value, "uri")?,
                headers: pairs(&value["headers"]),
            },
            "sse" => Address::Sse {
                url: required(value, "uri")?,
                headers: pairs(&value["headers"]),
            },
            "builtin" | "platform" => return Err("is a part of goose".to_owned()),
            other => return Err(format!("is of type {other:?}, which is not a server")),
        },
    );
    let keys = texts(&value["env_keys"]);
    if !keys.is_empty() {
        let names = keys.join(", $");
        let note = format!("goose keeps the value of ${names} elsewhere: set it before zot starts");
        draft.notes.push(note);
    }
    if let Address::Stdio { env, .. } = &mut draft.entry.address {
        for key in keys {
            env.insert(key.clone(), format!("${{{key}}}"));
        }
    }
    draft.entry.enabled = !is_false(&value["enabled"]);
    let seconds = number(&value["timeout"]);
    draft.entry.timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let tools = texts(&value["available_tools"]);
    if !tools.is_empty() {
        let shown = tools.into_iter().map(|tool| (tool, None));
        draft.entry.tool_exposure.extend(shown);
        let rest = ("*".to_owned(), Some(Exposure::Hidden));
        draft.entry.tool_exposure.push(rest);
    }
    Ok(draft)
}
