//! `zot sessions`: lists, shows, searches, exports, forks and deletes sessions, and undoes the
//! changes their tools made.

mod export;
mod list;
mod search;
mod show;
mod stats;
mod table;
mod tree;
mod undo;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use zot_sdk::Workspace;
use zot_sdk::sessions::{self, Scope, Summary};

use crate::failure::Failure;
use crate::output::{Format, print_json, print_line};

pub(crate) use list::Columns;

/// List, show, search, export, fork, undo and delete sessions
#[derive(Parser)]
#[command(
    name = "zot sessions",
    bin_name = "zot sessions",
    after_help = "Without a command: the sessions of this directory.\n\
                  Name a session by its id, the beginning of its id, or the path of its file.\n\
                  To resume one: zot -p --continue PROMPT, or zot -p --resume ID PROMPT.\n\n\
                  Exit codes: 0 done, 1 failed or nothing found, 2 usage."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Args)]
struct ListArguments {
    /// Include the sessions of all directories
    #[arg(long, short)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// List the sessions of this directory, newest first
    List(ListArguments),
    /// Show the messages of a session, with a number for each prompt
    Show {
        /// The session
        id: String,
        /// Show only the metadata, not the messages
        #[arg(long, conflicts_with = "json")]
        summary: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Find messages that contain all these words
    Search {
        /// What to look for
        #[arg(required = true)]
        words: Vec<String>,
        /// Search only the sessions of this directory
        #[arg(long)]
        here: bool,
        /// Show at most N messages
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Export a session as a portable file, Markdown, or a single HTML page
    Export(export::Arguments),
    /// Import a .zotsession file as a session of this directory
    Import {
        /// The file to import
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Start a new session with the messages of another, up to a prompt or all of them
    Fork {
        /// The session to copy
        id: String,
        /// Copy only the messages before this prompt, numbered as in `show`
        #[arg(long, value_name = "N")]
        at: Option<usize>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show which session was forked from which
    Tree(ListArguments),
    /// Restore the files that `write` and `edit` changed for the last prompts
    Undo(undo::Arguments),
    /// Delete sessions and the files kept with them
    Delete {
        /// The sessions to delete
        #[arg(required = true)]
        ids: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add up messages, tokens and cost
    Stats(ListArguments),
}

impl ListArguments {
    fn scope(&self) -> Scope {
        match self.all {
            true => Scope::Everywhere,
            false => Scope::Here,
        }
    }
}

/// Returns the sessions of a directory, newest first.
pub(crate) fn of_directory(cwd: Option<&Path>) -> Vec<Summary> {
    let workspace = Workspace::of_process().in_directory(cwd.unwrap_or(Path::new(".")));
    sessions::list(&workspace, Scope::Here).unwrap_or_default()
}

/// Lists sessions on standard error, for a user who has to name one.
pub(crate) fn offer(summaries: &[Summary], columns: Columns) {
    // If standard error is closed, only the exit code can report the problem.
    let _ = list::write_table(&mut zot_terminal::stderr(), summaries, columns);
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let workspace = &Workspace::of_process();
    let action = arguments.action.unwrap_or(Action::List(ListArguments {
        all: false,
        json: false,
    }));
    match action {
        Action::List(arguments) => list::run(workspace, &arguments)?,
        Action::Show { id, summary, json } => {
            let extent = match summary {
                true => show::Extent::Summary,
                false => show::Extent::Whole,
            };
            show::run(workspace, &id, extent, Format::of(json))?;
        }
        Action::Search {
            words,
            here,
            limit,
            json,
        } => {
            let scope = match here {
                true => Scope::Here,
                false => Scope::Everywhere,
            };
            return search::run(workspace, &words.join(" "), scope, limit, Format::of(json));
        }
        Action::Export(arguments) => export::run(workspace, &arguments)?,
        Action::Import { file, json } => export::import(workspace, &file, Format::of(json))?,
        Action::Fork { id, at, json } => tree::fork(workspace, &id, at, Format::of(json))?,
        Action::Tree(arguments) => tree::run(workspace, &arguments)?,
        Action::Undo(arguments) => return undo::run(workspace, &arguments),
        Action::Delete { ids, json } => delete(workspace, &ids, Format::of(json))?,
        Action::Stats(arguments) => stats::run(workspace, &arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn delete(workspace: &Workspace, ids: &[String], format: Format) -> Result<(), Failure> {
    let outcome = sessions::delete(workspace, ids);
    let deleted = match &outcome {
        Ok(deleted) => deleted,
        Err(error) => &error.deleted,
    };
    match format {
        Format::Text => {
            for path in deleted {
                print_line(format_args!("deleted {}", path.display()))?;
            }
        }
        Format::Json if outcome.is_ok() => {
            print_json(&serde_json::json!({ "deleted": deleted }))?;
        }
        Format::Json => {}
    }
    outcome?;
    Ok(())
}
