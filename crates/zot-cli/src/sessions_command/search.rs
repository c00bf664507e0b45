//! `zot sessions search`.

use std::io;
use std::process::ExitCode;

use serde_json::{Value, json};
use zot_sdk::Workspace;
use zot_sdk::conversation::Role;
use zot_sdk::sessions::{self, Hit, Scope, SessionMatches, short_id};
use zot_terminal::Print;

use super::list::{minute, title};
use crate::failure::{FAILED, Failure};
use crate::output::{Format, print, print_json};

pub(super) fn run(
    workspace: &Workspace,
    query: &str,
    scope: Scope,
    limit: usize,
    format: Format,
) -> Result<ExitCode, Failure> {
    let found = sessions::search(workspace, query, scope)?;
    match format {
        Format::Json => print_json(&as_json(&found, limit))?,
        Format::Text => print(|output| write(output, &found, limit))?,
    }
    Ok(match found.is_empty() {
        true => ExitCode::from(FAILED),
        false => ExitCode::SUCCESS,
    })
}

fn as_json(found: &[SessionMatches], limit: usize) -> Vec<Value> {
    let hits = found.iter().flat_map(|SessionMatches { session, hits }| {
        hits.iter().map(|hit| {
            json!({
                "id": session.id,
                "path": hit.path,
                "message": hit.message,
                "role": role(hit),
                "excerpt": hit.excerpt,
            })
        })
    });
    hits.take(limit).collect()
}

fn write(output: &mut dyn Print, found: &[SessionMatches], limit: usize) -> io::Result<()> {
    let mut left = limit;
    for SessionMatches { session, hits } in found {
        if left == 0 {
            break;
        }
        let title = title(session);
        writeln!(
            output,
            "{}  {}  {}",
            short_id(&session.id),
            minute(session),
            output.cell(&title)
        )?;
        for hit in hits.iter().take(left) {
            let excerpt = output.cell(&hit.excerpt);
            writeln!(output, "    {:>9}  {excerpt}", role(hit))?;
        }
        left = left.saturating_sub(hits.len());
    }
    let all: usize = found.iter().map(|session| session.hits.len()).sum();
    if all > limit {
        let more = all - limit;
        writeln!(output, "{more} more messages; --limit N shows more")?;
    }
    Ok(())
}

fn role(hit: &Hit) -> &'static str {
    match hit.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}
