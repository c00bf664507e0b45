//! codex: `[mcp_servers.NAME]` in `config.toml`.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use super::super::edit::Scope;
use super::fields::{is_false, number, pairs, required, text, texts};
use super::{ClientServers, Draft, ImportPlaces};
use crate::entry::{Address, Exposure, OAuthSettings};

pub(super) fn collect(places: &ImportPlaces<'_>, servers: &mut ClientServers) {
    let moved = (places.env)("CODEX_HOME").filter(|path| !path.is_empty());
    let user = moved.map_or_else(|| places.home.join(".codex"), PathBuf::from);
    for (directory, scope) in [
        (user, Scope::User),
        (places.cwd.join(".codex"), Scope::Project),
    ] {
        if let Some((path, value)) = servers.read(directory.join("config.toml"), parse) {
            servers.add_all(&value["mcp_servers"], scope, &path, convert);
        }
    }
}

fn parse(text: &str) -> Result<Value, String> {
    toml::from_str(text).map_err(|error| error.message().to_owned())
}

fn convert(name: &str, value: &Value) -> Result<Draft, String> {
    let mut draft = Draft::new(name, address(value)?);
    let entry = &mut draft.entry;
    entry.enabled = !is_false(&value["enabled"]);
    let seconds = number(&value["tool_timeout_sec"]);
    entry.timeout = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let hidden = texts(&value["disabled_tools"]).into_iter();
    entry
        .tool_exposure
        .extend(hidden.map(|tool| (tool, Some(Exposure::Hidden))));
    if value["enabled_tools"].is_array() {
        let shown = texts(&value["enabled_tools"]).into_iter();
        entry.tool_exposure.extend(shown.map(|tool| (tool, None)));
        let rest = ("*".to_owned(), Some(Exposure::Hidden));
        entry.tool_exposure.push(rest);
    }
    let oauth = OAuthSettings {
        client_id: text(&value["oauth"]["client_id"]),
        callback_port: value["oauth"]["callback_port"]
            .as_u64()
            .and_then(|port| u16::try_from(port).ok()),
        scopes: texts(&value["scopes"]),
        ..OAuthSettings::default()
    };
    entry.oauth = (oauth != OAuthSettings::default()).then_some(oauth);
    for (key, meaning) in [
        ("default_tools_approval_mode", "zot asks with --confirm"),
        ("tools", "zot asks with --confirm"),
        ("oauth_resource", "the resource is the server's URL"),
    ] {
        if !value[key].is_null() {
            draft
                .notes
                .push(format!("{key} was not taken over: {meaning}"));
        }
    }
    Ok(draft)
}

fn address(value: &Value) -> Result<Address, String> {
    if value["url"].is_null() {
        let mut env = pairs(&value["env"]);
        for name in texts(&value["env_vars"]) {
            env.insert(name.clone(), format!("${{{name}}}"));
        }
        return Ok(Address::Stdio {
            command: required(value, "command")?,
            args: texts(&value["args"]),
            env,
            cwd: text(&value["cwd"]).map(Into::into),
        });
    }
    let mut headers = pairs(&value["http_headers"]);
    for (header, variable) in pairs(&value["env_http_headers"]) {
        headers.insert(header, format!("${{{variable}}}"));
    }
    if let Some(variable) = text(&value["bearer_token_env_var"]) {
        headers.insert(
            "Authorization".to_owned(),
            format!("Bearer ${{{variable}}}"),
        );
    }
    Ok(Address::Http {
        url: required(value, "url")?,
        headers,
    })
}
