//! `zot sessions list`.

use std::io;

use zot_sdk::Workspace;
use zot_sdk::sessions::{self, Scope, Summary, short_id};
use zot_terminal::Print;

use super::ListArguments;
use super::table::{self, Align, shortened, shortened_path};
use crate::failure::Failure;
use crate::output::{print, print_json, print_line};

const MAX_SHOWN_TITLE: usize = 60;
const MAX_PATH: usize = 32;
const MAX_MODEL: usize = 24;

/// The columns that identify a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Columns {
    Here,
    /// With a number to choose it by.
    Numbered,
    /// With its directory.
    Everywhere,
}

pub(super) fn run(workspace: &Workspace, arguments: &ListArguments) -> Result<(), Failure> {
    let scope = arguments.scope();
    let summaries = sessions::list(workspace, scope)?;
    if arguments.json {
        return print_json(&summaries);
    }
    if summaries.is_empty() {
        let location = match scope {
            Scope::Everywhere => String::new(),
            Scope::Here => format!(" in {}", workspace.cwd.display()),
        };
        return print_line(format_args!("there are no sessions{location} yet"));
    }
    let columns = match scope {
        Scope::Everywhere => Columns::Everywhere,
        Scope::Here => Columns::Here,
    };
    print(|output| write_table(output, &summaries, columns))
}

pub(super) fn write_table(
    output: &mut dyn Print,
    summaries: &[Summary],
    columns: Columns,
) -> io::Result<()> {
    let mut headings = match columns {
        Columns::Numbered => vec![("#", Align::Right)],
        Columns::Here | Columns::Everywhere => Vec::new(),
    };
    headings.extend([
        ("ID", Align::Left),
        ("CHANGED", Align::Left),
        ("MODEL", Align::Left),
        ("PROMPTS", Align::Right),
        ("COST", Align::Right),
    ]);
    if columns == Columns::Everywhere {
        headings.push(("DIRECTORY", Align::Left));
    }
    headings.push(("TITLE", Align::Left));
    let rows: Vec<Vec<String>> = summaries
        .iter()
        .zip(1..)
        .map(|(summary, number): (_, usize)| {
            let mut row = match columns {
                Columns::Numbered => vec![number.to_string()],
                Columns::Here | Columns::Everywhere => Vec::new(),
            };
            row.extend([
                short_id(&summary.id).to_owned(),
                minute(summary),
                shortened(&summary.model, MAX_MODEL),
                summary.prompts.to_string(),
                format!("${:.4}", summary.cost_usd),
            ]);
            if columns == Columns::Everywhere {
                row.push(shortened_path(&summary.cwd, MAX_PATH));
            }
            row.push(title(summary));
            row
        })
        .collect();
    table::write(output, &headings, &rows)
}

/// Returns the time of the last change, in UTC as in the files.
pub(super) fn minute(summary: &Summary) -> String {
    summary.modified.strftime("%Y-%m-%d %H:%M").to_string()
}

pub(super) fn title(summary: &Summary) -> String {
    let mark = if summary.damaged { "(damaged) " } else { "" };
    format!("{mark}{}", shortened(&summary.title, MAX_SHOWN_TITLE))
}
