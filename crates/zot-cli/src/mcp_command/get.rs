//! `zot mcp get`.

use std::collections::BTreeMap;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value, json};
use zot_sdk::Workspace;
use zot_sdk::extensions::{Level, Starting, summary};
use zot_sdk::mcp::{self, Address, ListedServer, LoginSummary, redaction};
use zot_terminal::Print;

use super::list::{scope, state};
use crate::ext_command::permissions;
use crate::failure::Failure;
use crate::output::{Format, print, print_pretty_json};
use crate::text::one_line;

pub(super) async fn run(
    workspace: &Workspace,
    name: String,
    format: Format,
) -> Result<ExitCode, Failure> {
    let server = mcp::find(workspace, &name, Starting::Skip, Duration::ZERO).await?;
    let login = mcp::login_of(workspace, &server);
    match format {
        Format::Json => print_pretty_json(&as_json(&server, login.as_ref()))?,
        Format::Text => print(|output| write_server(output, &server, login.as_ref()))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn write_server(
    output: &mut dyn Print,
    server: &ListedServer,
    login: Option<&LoginSummary>,
) -> io::Result<()> {
    let entry = &server.written;
    writeln!(output, "{}:", entry.name)?;
    let mut line = |label: &str, text: &str| writeln!(output, "  {label:<11} {}", one_line(text));
    line("state", &state(server))?;
    if let Some(file) = &server.file {
        line("scope", &format!("{} ({})", scope(server), file.display()))?;
    }
    line("type", entry.address.kind())?;
    let (label, pairs_label, pairs) = parts(&entry.address);
    line(label, &redaction::target(&entry.address))?;
    for (name, value) in pairs {
        line(pairs_label, &format!("{name}={}", redaction::value(value)))?;
    }
    if let Address::Stdio { cwd: Some(cwd), .. } = &entry.address {
        line("directory", &cwd.display().to_string())?;
    }
    if let Some(timeout) = entry.timeout {
        line("timeout", &format!("{} s", timeout.as_secs_f64()))?;
    }
    let exposure = entry.exposure.map_or("auto", |exposure| exposure.name());
    line("exposure", exposure)?;
    for (pattern, exposure) in &entry.tool_exposure {
        let exposure = exposure.map_or("auto", |exposure| exposure.name());
        line("", &format!("{pattern}: {exposure}"))?;
    }
    if let Some(protocol) = &entry.protocol {
        line("protocol", protocol)?;
    }
    if entry.sandbox.is_some() || entry.permissions.is_some() {
        let allowed = summary(entry.sandbox, entry.permissions.as_ref());
        line("permissions", &allowed)?;
    }
    if let Some(oauth) = &entry.oauth {
        if let Some(id) = &oauth.client_id {
            line("client id", id)?;
        }
        if !oauth.scopes.is_empty() {
            line("scopes", &oauth.scopes.join(" "))?;
        }
    }
    if let Some(login) = login {
        let scopes = login.scopes.join(" ");
        let renewal = match login.is_renewable {
            true => "",
            false => ", cannot be renewed",
        };
        line("login", &format!("{} {scopes}{renewal}", login.issuer))?;
    }
    Ok(())
}

/// Returns the names of a server's address and of its variables or headers, and those.
fn parts(address: &Address) -> (&'static str, &'static str, &BTreeMap<String, String>) {
    match address {
        Address::Stdio { env, .. } => ("command", "variable", env),
        Address::Http { headers, .. } | Address::Sse { headers, .. } => ("url", "header", headers),
    }
}

fn as_json(server: &ListedServer, login: Option<&LoginSummary>) -> Value {
    let entry = &server.written;
    let (_, key, pairs) = parts(&entry.address);
    let pairs: Map<String, Value> = pairs
        .iter()
        .map(|(name, value)| (name.clone(), redaction::value(value).into()))
        .collect();
    let tool_exposure = entry.tool_exposure.iter().map(|(pattern, exposure)| {
        json!({"pattern": pattern, "exposure": exposure.map_or("auto", |exposure| exposure.name())})
    });
    let mut value = json!({
        "name": entry.name,
        "state": server.standing.name(),
        "scope": scope(server),
        "file": server.file.as_ref().map(|path| path.display().to_string()),
        "type": entry.address.kind(),
        "target": redaction::target(&entry.address),
        "timeout": entry.timeout.map(|timeout| timeout.as_millis()),
        "enabled": entry.enabled,
        "exposure": entry.exposure.map_or("auto", |exposure| exposure.name()),
        "tool_exposure": tool_exposure.collect::<Vec<_>>(),
        "protocol": entry.protocol,
        "login": login.map(|login| json!({"issuer": login.issuer, "scopes": login.scopes, "is_renewable": login.is_renewable})),
        "sandbox": entry.sandbox.map(Level::name),
        "permissions": permissions::as_json(entry.sandbox, entry.permissions.as_ref()),
    });
    let key = match key {
        "header" => "headers",
        _ => "env",
    };
    if let Some(fields) = value.as_object_mut() {
        fields.insert(key.to_owned(), pairs.into());
    }
    value
}
