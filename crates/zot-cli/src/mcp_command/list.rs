//! `zot mcp list`.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use zot_sdk::Workspace;
use zot_sdk::extensions::Starting;
use zot_sdk::mcp::{self, EntryOrigin, ListedServer, ServerList, Standing, redaction};
use zot_terminal::Print;

use crate::failure::Failure;
use crate::output::{Format, print, print_pretty_json};
use crate::text::{note, one_line, write_table};
use crate::warn;

pub(super) async fn run(
    workspace: &Workspace,
    starting: Starting,
    patience: Duration,
    format: Format,
) -> Result<ExitCode, Failure> {
    let list = mcp::list(workspace, starting, patience).await;
    match format {
        Format::Json => {
            let servers: Vec<Value> = list.servers.iter().map(as_json).collect();
            let problems: Vec<String> = list.problems.iter().map(ToString::to_string).collect();
            print_pretty_json(&json!({"servers": servers, "problems": problems}))?;
        }
        Format::Text => {
            print(|output| write_servers(output, &list.servers))?;
            warn(&list.problems);
            hint(&list);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn write_servers(output: &mut dyn Print, servers: &[ListedServer]) -> io::Result<()> {
    if servers.is_empty() {
        return writeln!(
            output,
            "no MCP servers: add one with zot mcp add, or zot mcp import"
        );
    }
    let mut rows = vec![["NAME", "STATE", "TOOLS", "SCOPE", "TYPE", "SERVER"].map(str::to_owned)];
    rows.extend(servers.iter().map(|server| {
        let status = server.status.as_ref();
        [
            one_line(&server.written.name),
            state(server),
            status.map_or_else(|| "-".to_owned(), |status| status.tools.to_string()),
            scope(server).to_owned(),
            server.written.address.kind().to_owned(),
            one_line(&redaction::target(&server.written.address)),
        ]
    }));
    write_table(output, &rows)?;
    for server in servers {
        let status = server.status.as_ref();
        if let Some(reason) = status.and_then(|status| status.state.reason()) {
            writeln!(output, "\n{}: {}", server.written.name, one_line(reason))?;
        }
    }
    Ok(())
}

/// Says what to do about servers that do not run.
fn hint(list: &ServerList) {
    let needs_login = list.servers.iter().filter(|server| {
        let status = server.status.as_ref();
        status.is_some_and(|status| status.state.name() == "needs_login")
    });
    for server in needs_login {
        note(format_args!(
            "to log in: zot mcp login {}",
            server.written.name
        ));
    }
    let waits = |server: &ListedServer| server.standing == Standing::NotApproved;
    if let (Some(file), true) = (&list.project, list.servers.iter().any(waits)) {
        note(format_args!(
            "{} is not approved: zot mcp approve shows its servers, and asks",
            file.path.display()
        ));
    }
}

/// Returns the state of a server for people.
pub(super) fn state(server: &ListedServer) -> String {
    let word = match &server.status {
        Some(status) => status.state.name(),
        None => server.standing.name(),
    };
    word.replace('_', " ")
}

/// Returns which of our files describes a server.
pub(super) fn scope(server: &ListedServer) -> &'static str {
    match server.written.origin {
        EntryOrigin::User => "user",
        EntryOrigin::Project => "project",
        EntryOrigin::Program => "given",
    }
}

fn as_json(server: &ListedServer) -> Value {
    let status = server.status.as_ref();
    let state = status.map_or(server.standing.name(), |status| status.state.name());
    let tools = server.tools.iter();
    json!({
        "name": server.written.name,
        "state": state,
        "reason": status.and_then(|status| status.state.reason()),
        "scope": scope(server),
        "file": server.file.as_ref().map(|path| path.display().to_string()),
        "type": server.written.address.kind(),
        "target": redaction::target(&server.written.address),
        "protocol": status.and_then(|status| status.version.clone()),
        "product": status.and_then(|status| status.product.clone()),
        "tools": status.map(|_| tools.map(|tool| tool.name.clone()).collect::<Vec<_>>()),
        "prompts": status.map(|status| status.prompts),
        "resources": status.map(|status| status.resources),
    })
}
