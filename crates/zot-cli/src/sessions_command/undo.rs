//! `zot sessions undo`.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use zot_sdk::sessions::{FileOutcome, UndoneFile};
use zot_sdk::{IfChanged, UndoReport, undo};

use super::table::shortened;
use super::{Failure, Place};
use crate::failure::FAILED;
use crate::output::say_json;

const MAX_COMMAND: usize = 100;

#[derive(Args)]
pub(super) struct Arguments {
    /// How many prompts to go back; those that changed no file do not count
    #[arg(value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    prompts: u32,
    /// The session: the newest of this directory when not given
    #[arg(long, value_name = "ID|PATH")]
    session: Option<String>,
    /// Bring back files that were changed since, too; what is there now is kept
    #[arg(long)]
    force: bool,
    #[arg(long)]
    json: bool,
}

pub(super) fn run(place: &Place, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let path = match &arguments.session {
        Some(wanted) => place.library.find(wanted)?,
        None => place.library.newest(&place.cwd)?.ok_or_else(|| {
            Failure::Said(format!(
                "there is no session in {}; name one with --session ID",
                place.cwd
            ))
        })?,
    };
    let if_changed = match arguments.force {
        true => IfChanged::Overwrite,
        false => IfChanged::Refuse,
    };
    let report = undo(&path, arguments.prompts as usize, if_changed)?;
    match arguments.json {
        true => say_json(&value(&report))?,
        false => write(&report)?,
    }
    let done = report
        .undone
        .files
        .iter()
        .all(|file| file.outcome.is_done());
    Ok(match done && !report.undone.files.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(FAILED),
    })
}

fn write(report: &UndoReport) -> io::Result<()> {
    let mut output = zot_terminal::buffered_stdout();
    if report.undone.files.is_empty() {
        writeln!(
            output,
            "nothing to undo: no file was changed by write or edit"
        )?;
    }
    for UndoneFile { path, outcome, .. } in &report.undone.files {
        let path = path.display();
        match outcome {
            FileOutcome::Restored => writeln!(output, "restored  {path}")?,
            FileOutcome::Removed => writeln!(output, "removed   {path} (it was new)")?,
            FileOutcome::Unchanged => writeln!(output, "unchanged {path}")?,
            FileOutcome::Overwritten { kept } => writeln!(
                output,
                "put back  {path} as it was (what was there is kept in {})",
                kept.display()
            )?,
            FileOutcome::ChangedSince => writeln!(
                output,
                "left      {path}: it was changed since; --force brings it back nevertheless"
            )?,
            FileOutcome::NotKept => writeln!(
                output,
                "left      {path}: it was too large to be kept, or not readable"
            )?,
            FileOutcome::Refused { reason } => writeln!(output, "refused   {path}: {reason}")?,
            FileOutcome::Failed { reason } => writeln!(output, "failed    {path}: {reason}")?,
        }
    }
    for command in &report.not_covered {
        let command = shortened(command, MAX_COMMAND);
        writeln!(
            output,
            "not covered: bash {}",
            command.replace(['\n', '\t'], " ")
        )?;
    }
    output.flush()
}

fn value(report: &UndoReport) -> serde_json::Value {
    let files = report.undone.files.iter().map(|file| {
        let (outcome, detail) = match &file.outcome {
            FileOutcome::Restored => ("restored", None),
            FileOutcome::Removed => ("removed", None),
            FileOutcome::Unchanged => ("unchanged", None),
            FileOutcome::Overwritten { kept } => ("overwritten", Some(kept.display().to_string())),
            FileOutcome::ChangedSince => ("changed_since", None),
            FileOutcome::NotKept => ("not_kept", None),
            FileOutcome::Refused { reason } => ("refused", Some(reason.clone())),
            FileOutcome::Failed { reason } => ("failed", Some(reason.clone())),
        };
        json!({
            "path": file.path,
            "changes": file.changes,
            "outcome": outcome,
            "detail": detail,
        })
    });
    json!({
        "files": files.collect::<Vec<_>>(),
        "not_covered": report.not_covered,
    })
}
