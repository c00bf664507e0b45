//! An entry as the JSON of a configuration file.

use serde_json::{Value, json};

use crate::entry::{Address, OAuthGrant, OAuthSettings, ServerEntry};

/// Returns `entry` as JSON, with what people look for first in front.
pub fn written(entry: &ServerEntry) -> String {
    let mut fields: Vec<(&str, Value)> = vec![("type", entry.address.kind().into())];
    match &entry.address {
        Address::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            fields.push(("command", json!(command)));
            fields.push(("args", json!(args)));
            if !env.is_empty() {
                fields.push(("env", json!(env)));
            }
            if let Some(cwd) = cwd {
                fields.push(("cwd", json!(cwd)));
            }
        }
        Address::Http { url, headers } | Address::Sse { url, headers } => {
            fields.push(("url", json!(url)));
            if !headers.is_empty() {
                fields.push(("headers", json!(headers)));
            }
        }
    }
    if let Some(timeout) = entry.timeout {
        let milliseconds = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
        fields.push(("timeout", json!(milliseconds)));
    }
    if !entry.enabled {
        fields.push(("enabled", json!(false)));
    }
    if let Some(exposure) = entry.exposure {
        fields.push(("exposure", json!(exposure.name())));
    }
    let protocol = entry.protocol.as_ref();
    fields.extend(protocol.map(|version| ("protocol", json!(version))));
    let sandbox = entry.sandbox;
    fields.extend(sandbox.map(|level| ("sandbox", json!(level.name()))));
    let permissions = entry.permissions.as_ref();
    fields.extend(permissions.map(|granted| ("permissions", granted.to_json())));
    let oauth = entry.oauth.as_ref();
    fields.extend(oauth.map(|oauth| ("oauth", of_oauth(oauth))));
    let mut texts: Vec<(String, String)> = fields
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_string()))
        .collect();
    if !entry.tool_exposure.is_empty() {
        // In its order, because the first match counts.
        let patterns = entry.tool_exposure.iter().map(|(pattern, exposure)| {
            let word = exposure.map_or("auto", |exposure| exposure.name());
            (pattern.clone(), json!(word).to_string())
        });
        let patterns = object(patterns);
        texts.push(("toolExposure".to_owned(), patterns));
    }
    object(texts)
}

fn object(entries: impl IntoIterator<Item = (String, String)>) -> String {
    let entries = entries.into_iter();
    let entries: Vec<String> = entries
        .map(|(key, text)| format!("{}:{text}", Value::from(key)))
        .collect();
    format!("{{{}}}", entries.join(","))
}

fn of_oauth(oauth: &OAuthSettings) -> Value {
    let fields = [
        ("clientId", oauth.client_id.as_ref().map(|id| json!(id))),
        (
            "clientSecret",
            oauth.client_secret.as_ref().map(|secret| json!(secret)),
        ),
        ("callbackPort", oauth.callback_port.map(|port| json!(port))),
        (
            "scopes",
            (!oauth.scopes.is_empty()).then(|| json!(oauth.scopes)),
        ),
        (
            "authServerMetadataUrl",
            oauth.metadata_url.as_ref().map(|url| json!(url)),
        ),
        (
            "clientMetadataUrl",
            oauth.client_metadata_url.as_ref().map(|url| json!(url)),
        ),
        (
            "grant",
            (oauth.grant != OAuthGrant::default()).then(|| json!(oauth.grant.name())),
        ),
    ];
    let fields = fields.into_iter();
    fields
        .filter_map(|(key, value)| Some((key.to_owned(), value?)))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
