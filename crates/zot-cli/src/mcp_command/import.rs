//! `zot mcp import`.

use std::io;
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use zot_sdk::Workspace;
use zot_sdk::mcp::{self, Client, ImportMode, ImportOutcome, ImportReport, OnConflict, Scope};
use zot_terminal::Print;

use super::scopes;
use crate::failure::{FAILED, Failure};
use crate::output::print;
use crate::text::{note, one_line};

/// Take over the servers of another client
#[derive(Args)]
#[command(
    after_help = "Without a client: shows what all of them have, and writes nothing.\n\
                  What a client has for you goes into $ZOT_HOME/mcp.json, what it has in this project into .mcp.json, which \
                  you approve before it starts anything. Files of the client are not changed, and logins are not taken over."
)]
pub(super) struct ImportArguments {
    /// The client: claude (also its desktop application), codex, opencode, goose or vscode
    #[arg(value_parser = clients())]
    client: Option<Client>,
    /// The file that everything goes into: user or project
    #[arg(long, short, value_name = "SCOPE", value_parser = scopes())]
    scope: Option<Scope>,
    /// Replace servers of the same name
    #[arg(long)]
    force: bool,
    /// Show what would be imported, and write nothing
    #[arg(long)]
    dry_run: bool,
}

fn clients() -> impl TypedValueParser<Value = Client> {
    PossibleValuesParser::new(Client::ALL.map(Client::name)).map(|word| {
        let named = Client::ALL.into_iter().find(|client| client.name() == word);
        named.unwrap_or(Client::Claude)
    })
}

pub(super) fn run(workspace: &Workspace, arguments: &ImportArguments) -> Result<ExitCode, Failure> {
    let on_conflict = match arguments.force {
        true => OnConflict::Replace,
        false => OnConflict::Refuse,
    };
    let mode = match arguments.dry_run || arguments.client.is_none() {
        true => ImportMode::Preview,
        false => ImportMode::Write,
    };
    let clients = match arguments.client {
        Some(client) => vec![client],
        None => Client::ALL.to_vec(),
    };
    let mut failed = false;
    for client in &clients {
        let report = mcp::import(workspace, *client, arguments.scope, on_conflict, mode);
        print(|output| write_report(output, &report, mode))?;
        failed |= !report.unreadable.is_empty();
        failed |= report
            .servers
            .iter()
            .any(|server| matches!(server.outcome, ImportOutcome::Failed { .. }));
        hint(&report, mode);
    }
    if arguments.client.is_none() {
        note(format_args!(
            "nothing was written: name a client to import its servers"
        ));
    }
    Ok(match failed {
        true => ExitCode::from(FAILED),
        false => ExitCode::SUCCESS,
    })
}

fn write_report(output: &mut dyn Print, report: &ImportReport, mode: ImportMode) -> io::Result<()> {
    let client = report.client.name();
    if report.files.is_empty() && report.unreadable.is_empty() {
        return writeln!(output, "{client}: no file with servers found");
    }
    for (path, reason) in &report.unreadable {
        writeln!(
            output,
            "{client}: {} cannot be used: {}",
            path.display(),
            one_line(reason)
        )?;
    }
    if report.servers.is_empty() && report.left_out.is_empty() && report.unreadable.is_empty() {
        let files: Vec<String> = report
            .files
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        return writeln!(output, "{client}: no servers in {}", files.join(", "));
    }
    for server in &report.servers {
        let (name, target) = (one_line(&server.name), one_line(&server.target));
        let into = server.into.display();
        match (&server.outcome, mode) {
            (ImportOutcome::Imported, ImportMode::Write) => {
                writeln!(output, "{client}: {name} is in {into} now: {target}")?;
            }
            (ImportOutcome::Imported, ImportMode::Preview) => {
                writeln!(output, "{client}: {name} would go into {into}: {target}")?;
            }
            (ImportOutcome::Exists, _) => {
                writeln!(
                    output,
                    "{client}: {name} is in {into} already (--force replaces it)"
                )?;
            }
            (ImportOutcome::Failed { reason }, _) => {
                writeln!(output, "{client}: {name} failed: {}", one_line(reason))?;
            }
        }
        for note in &server.notes {
            writeln!(output, "  {}", one_line(note))?;
        }
    }
    for server in &report.left_out {
        let (name, reason) = (one_line(&server.name), one_line(&server.reason));
        writeln!(output, "{client}: {name} is left out: it {reason}")?;
    }
    Ok(())
}

/// Says that a project's file needs an approval.
fn hint(report: &ImportReport, mode: ImportMode) {
    let is_new = |server: &mcp::ImportedServer| {
        server.scope == Scope::Project && server.outcome == ImportOutcome::Imported
    };
    if mode == ImportMode::Write && report.servers.iter().any(is_new) {
        note(format_args!(
            "to start the project's servers: zot mcp approve"
        ));
    }
}
