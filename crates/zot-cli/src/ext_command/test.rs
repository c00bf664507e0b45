//! `zot ext test`.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use zot_sdk::extensions::check::{Finding, Verdict};
use zot_sdk::extensions::{ExaminationReport, examine};
use zot_terminal::Print;

use crate::failure::{FAILED, Failure};
use crate::output::{Format, print, print_pretty_json};
use crate::text::one_line;

pub(super) async fn run(
    path: &Path,
    tool_timeout: Duration,
    format: Format,
) -> Result<ExitCode, Failure> {
    let directory = std::path::absolute(path)?;
    let mut found = |finding: &Finding| {
        if format == Format::Text {
            // Printed immediately: a tool may take a minute.
            let _ = print(|output| write_finding(output, finding));
        }
    };
    let report = examine(&directory, tool_timeout, &mut found).await;
    match format {
        Format::Json => print_pretty_json(&as_json(&report))?,
        Format::Text => print(|output| write_summary(output, &report))?,
    }
    Ok(match report.passed() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(FAILED),
    })
}

fn as_json(report: &ExaminationReport) -> Value {
    let findings = report.findings.iter().map(|finding| {
        json!({
            "verdict": finding.verdict.as_str().to_lowercase(),
            "check": finding.check,
            "message": finding.message,
            "hint": finding.hint,
        })
    });
    json!({
        "passed": report.passed(),
        "findings": findings.collect::<Vec<_>>(),
        "stderr": report.log,
    })
}

fn write_summary(output: &mut dyn Print, report: &ExaminationReport) -> io::Result<()> {
    if !report.log.is_empty() {
        writeln!(output, "\nstandard error:")?;
        for line in &report.log {
            writeln!(output, "  {line}")?;
        }
    }
    let [ok, warnings, failures] =
        [Verdict::Ok, Verdict::Warn, Verdict::Fail].map(|verdict| report.count(verdict));
    let plural = |count| if count == 1 { "" } else { "s" };
    writeln!(
        output,
        "\n{ok} ok, {warnings} warning{}, {failures} failure{}",
        plural(warnings),
        plural(failures)
    )
}

fn write_finding(output: &mut dyn Print, finding: &Finding) -> io::Result<()> {
    let verdict = finding.verdict.as_str();
    writeln!(
        output,
        "{verdict:<4}  {}: {}",
        one_line(&finding.check),
        one_line(&finding.message)
    )?;
    match &finding.hint {
        Some(hint) => writeln!(output, "      → {}", one_line(hint)),
        None => Ok(()),
    }
}
