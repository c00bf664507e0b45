//! `zot context`: shows what every request begins with, and how many tokens each part takes.

use std::io;
use std::process::ExitCode;

use serde_json::{Value, json};
use zot_sdk::Persistence;
use zot_sdk::context::{self, ContextKind, ContextReport};
use zot_stdio::executor;
use zot_terminal::Print;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::text::{one_line, write_table};
use crate::warn;

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let as_json = arguments.is_json();
    let config = arguments.config(Persistence::Never);
    let report = executor::run(|_| context::measure(config))??;
    if as_json {
        print_json(&report_as_json(&report))?;
    } else {
        warn(&report.warnings);
        print(|output| write(output, &report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn report_as_json(report: &ContextReport) -> Value {
    let parts = report.parts.iter().map(|part| {
        json!({
            "kind": part.kind.as_str(),
            "name": part.name,
            "path": part.path.as_ref().map(|path| path.display().to_string()),
            "extension": part.extension,
            "server": part.server,
            "bytes": part.bytes,
            "tokens": part.tokens,
        })
    });
    json!({
        "parts": parts.collect::<Vec<_>>(),
        "bytes": report.bytes(),
        "tokens": report.tokens(),
        "warnings": report.warnings,
    })
}

fn write(output: &mut dyn Print, report: &ContextReport) -> io::Result<()> {
    let mut rows = vec![["PART", "TOKENS", "FROM"].map(str::to_owned)];
    for part in &report.parts {
        let name = match part.kind {
            ContextKind::Tool => format!("tool {}", part.name),
            kind => kind.as_str().replace('_', " "),
        };
        let from = match (&part.path, &part.extension, part.kind) {
            _ if let Some(server) = &part.server => format!("MCP server {server}"),
            (Some(path), ..) => path.display().to_string(),
            (None, Some(extension), _) => format!("extension {extension}"),
            (None, None, ContextKind::Tool) => "built in".to_owned(),
            (None, None, _) => part.name.clone(),
        };
        rows.push([name, part.tokens.to_string(), one_line(&from)]);
    }
    rows.push(["total", &report.tokens().to_string(), ""].map(str::to_owned));
    write_table(output, &rows)?;
    writeln!(
        output,
        "Estimated at four bytes per token. Every request begins with this."
    )
}
