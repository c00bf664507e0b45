//! `zot sessions search`.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;
use zot_sdk::sessions::conversation::Role;
use zot_sdk::sessions::{Hit, Summary, search};
use zot_terminal::Print;

use super::list::{minute, title};
use super::{Failure, Place, short};
use crate::failure::FAILED;
use crate::output::{Format, say_json};

pub(super) fn run(
    place: &Place,
    query: &str,
    here: bool,
    limit: usize,
    format: Format,
) -> Result<ExitCode, Failure> {
    let summaries = place.list(!here)?;
    let files: Vec<PathBuf> = summaries
        .iter()
        .map(|summary| summary.path.clone())
        .collect();
    let hits = search(&files, query);
    let by_path: HashMap<_, &Summary> = summaries
        .iter()
        .map(|summary| (&summary.path, summary))
        .collect();
    let shown = hits.get(..limit.min(hits.len())).unwrap_or_default();
    if format == Format::Json {
        let hits: Vec<_> = shown
            .iter()
            .map(|hit| {
                json!({
                    "id": by_path.get(&hit.path).map(|summary| &summary.id),
                    "path": hit.path,
                    "message": hit.message,
                    "role": role(hit),
                    "excerpt": hit.excerpt,
                })
            })
            .collect();
        say_json(&hits)?;
    } else {
        let mut output = zot_terminal::buffered_stdout();
        let mut last = None;
        for hit in shown {
            if last != Some(&hit.path)
                && let Some(summary) = by_path.get(&hit.path)
            {
                let title = title(summary);
                writeln!(
                    output,
                    "{}  {}  {}",
                    short(&summary.id),
                    minute(summary),
                    output.cell(&title)
                )?;
            }
            last = Some(&hit.path);
            writeln!(
                output,
                "    {:>9}  {}",
                role(hit),
                output.cell(&hit.excerpt)
            )?;
        }
        if hits.len() > shown.len() {
            writeln!(
                output,
                "{} more messages; --limit N shows more",
                hits.len() - shown.len()
            )?;
        }
        output.flush()?;
    }
    Ok(match hits.is_empty() {
        true => ExitCode::from(FAILED),
        false => ExitCode::SUCCESS,
    })
}

fn role(hit: &Hit) -> &'static str {
    match hit.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}
