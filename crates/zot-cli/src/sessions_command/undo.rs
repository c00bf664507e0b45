//! `zot sessions undo`.

use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use zot_sdk::Workspace;
use zot_sdk::sessions::{self, FileOutcome, IfChanged, UndoReport};

use crate::failure::{FAILED, Failure};
use crate::output::{print, print_json};

#[derive(Args)]
pub(super) struct Arguments {
    /// How many prompts to undo; prompts that changed no file do not count
    #[arg(value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    prompts: u32,
    /// The session; by default, the newest of this directory
    #[arg(long, value_name = "ID|PATH")]
    session: Option<String>,
    /// Also restore files that have changed since; a copy of their current content is kept
    #[arg(long)]
    force: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let if_changed = match arguments.force {
        true => IfChanged::Overwrite,
        false => IfChanged::Refuse,
    };
    let (session, prompts) = (arguments.session.as_deref(), arguments.prompts as usize);
    let report = sessions::undo(workspace, session, prompts, if_changed)?;
    match arguments.json {
        true => print_json(&value(&report))?,
        false => print(|output| write!(output, "{report}"))?,
    }
    Ok(match report.is_complete() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(FAILED),
    })
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
