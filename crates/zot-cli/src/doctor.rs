//! `zot doctor`.

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use serde_json::{Value, json};
use zot_sdk::doctor::{self, Depth, Report, Screen};
use zot_sdk::sandbox::ContactedHost;
use zot_sdk::{Persistence, VERSION};
use zot_stdio::executor;
use zot_terminal::Print;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::text::write_table;

pub(crate) fn run(arguments: Arguments, depth: Depth) -> Result<ExitCode, Failure> {
    let is_json = arguments.is_json();
    let config = arguments.config(Persistence::Never);
    let screen = match io::stdout().is_terminal() {
        true => Screen::Terminal,
        false => Screen::None,
    };
    let report = executor::run(|_| doctor::examine(config, depth, screen))?;
    let written = match is_json {
        true => print_json(&as_json(&report)),
        false => print(|output| write(output, &report, depth)),
    };
    match (written, report.is_healthy()) {
        (Err(failure), _) if !failure.is_closed_pipe() => Err(failure),
        (_, true) => Ok(ExitCode::SUCCESS),
        (_, false) => Ok(ExitCode::FAILURE),
    }
}

fn write(output: &mut dyn Print, report: &Report, depth: Depth) -> io::Result<()> {
    writeln!(output, "zot {VERSION}")?;
    for check in &report.checks {
        let state = check.state.as_str();
        writeln!(output, "{state:<8} {:<10} {}", check.name, check.found)?;
        if let Some(fix) = &check.fix {
            writeln!(output, "{:<8} {:<10} → {fix}", "", "")?;
        }
    }
    if let Some(plan) = &report.network {
        writeln!(output, "{plan}")?;
    }
    if depth != Depth::Configuration {
        write_contacts(output, &report.contacts)?;
    }
    for step in &report.probe {
        let milliseconds = step.took.as_millis();
        match &step.outcome {
            Ok(found) => writeln!(output, "{}: {found} ({milliseconds} ms)", step.stage)?,
            Err(problem) => writeln!(output, "{}: failed: {problem}", step.stage)?,
        }
    }
    Ok(())
}

/// Lists the hosts that were asked for in a sandbox.
fn write_contacts(output: &mut dyn Print, contacts: &[ContactedHost]) -> io::Result<()> {
    if contacts.is_empty() {
        return writeln!(output, "Contacted in a sandbox: nothing");
    }
    writeln!(output, "Contacted in a sandbox:")?;
    let mut rows = vec![["HOST", "PORT", "", "TIMES", "LAST", "BY", "IN"].map(str::to_owned)];
    for contact in contacts {
        let outcome = match contact.is_allowed {
            true => "allowed",
            false => "refused",
        };
        rows.push([
            contact.host.clone(),
            contact.port.to_string(),
            outcome.to_owned(),
            contact.times.to_string(),
            contact.last.clone(),
            contact
                .caller
                .program
                .as_deref()
                .unwrap_or("bash")
                .to_owned(),
            contact.caller.directory.clone(),
        ]);
    }
    write_table(output, &rows)
}

fn as_json(report: &Report) -> Value {
    let checks = report.checks.iter().map(|check| {
        json!({
            "name": check.name,
            "state": check.state.as_str(),
            "found": check.found,
            "fix": check.fix,
        })
    });
    let network = report.network.as_ref().map(|plan| {
        json!({
            "provider": plan.provider,
            "base_url": plan.base_url,
            "request_url": plan.request_url,
            "host": plan.host,
            "port": plan.port,
            "encrypted": plan.secure,
            "proxy": plan.proxy.as_ref().map(ToString::to_string),
        })
    });
    let probe = report.probe.iter().map(|step| {
        let milliseconds = u64::try_from(step.took.as_millis()).unwrap_or(u64::MAX);
        json!({
            "stage": step.stage.to_string(),
            "ok": step.outcome.is_ok(),
            "found": step.outcome.as_ref().unwrap_or_else(|problem| problem),
            "milliseconds": milliseconds,
        })
    });
    let contacts = report.contacts.iter().map(|contact| {
        json!({
            "host": contact.host,
            "port": contact.port,
            "allowed": contact.is_allowed,
            "times": contact.times,
            "last": contact.last,
            "program": contact.caller.program,
            "directory": contact.caller.directory,
            "session": contact.caller.session,
        })
    });
    json!({
        "version": VERSION,
        "ok": report.is_healthy(),
        "checks": checks.collect::<Vec<_>>(),
        "network": network,
        "contacts": contacts.collect::<Vec<_>>(),
        "probe": probe.collect::<Vec<_>>(),
    })
}
