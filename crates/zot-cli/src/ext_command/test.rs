//! `zot ext test`.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use zot_sdk::VERSION;
use zot_sdk::extensions::check::{ExaminationOptions, Finding, Verdict, examine};

use super::Failure;
use super::terminal::one_line;
use crate::failure::FAILED;
use crate::output::{Format, say, say_pretty_json};

/// Lines of standard error that are shown; of more, the first ones tell the cause.
const SHOWN_LOG_LINES: usize = 200;

pub(super) async fn run(
    path: &Path,
    tool_timeout: Duration,
    format: Format,
) -> Result<ExitCode, Failure> {
    let directory = std::path::absolute(path)?;
    let options = ExaminationOptions {
        zot_version: VERSION.to_owned(),
        tool_timeout,
    };
    let mut findings: Vec<Finding> = Vec::new();
    let mut log: Vec<String> = Vec::new();
    let mut found = |finding: Finding| {
        if format == Format::Text {
            // Written as it is found: a tool may take a minute.
            let _ = write_finding(&finding);
        }
        findings.push(finding);
    };
    let mut note_log = |line: &str| {
        if log.len() < SHOWN_LOG_LINES {
            log.push(line.to_owned());
        }
    };
    examine(&directory, &options, &mut found, &mut note_log).await;
    let count = |verdict| findings.iter().filter(|f| f.verdict == verdict).count();
    let (fails, warnings) = (count(Verdict::Fail), count(Verdict::Warn));
    if format == Format::Json {
        let findings: Vec<_> = findings
            .iter()
            .map(|finding| {
                json!({
                    "verdict": finding.verdict.as_str().to_lowercase(),
                    "check": finding.check,
                    "message": finding.message,
                    "hint": finding.hint,
                })
            })
            .collect();
        let report = json!({"passed": fails == 0, "findings": findings, "stderr": log});
        say_pretty_json(&report)?;
    } else {
        if !log.is_empty() {
            say(format_args!("\nstandard error:"))?;
            for line in &log {
                say(format_args!("  {line}"))?;
            }
        }
        let fine = count(Verdict::Ok);
        let plural = |count| if count == 1 { "" } else { "s" };
        say(format_args!(
            "\n{fine} ok, {warnings} warning{}, {fails} failure{}",
            plural(warnings),
            plural(fails)
        ))?;
    }
    Ok(match fails {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(FAILED),
    })
}

fn write_finding(finding: &Finding) -> io::Result<()> {
    let verdict = finding.verdict.as_str();
    say(format_args!(
        "{verdict:<4}  {}: {}",
        one_line(&finding.check),
        one_line(&finding.message)
    ))?;
    match &finding.hint {
        Some(hint) => say(format_args!("      → {}", one_line(hint))),
        None => Ok(()),
    }
}
