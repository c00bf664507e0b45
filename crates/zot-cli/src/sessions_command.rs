//! `zot sessions`: lists, shows, searches, exports, forks and deletes sessions, and undoes what
//! their tools changed.

mod export;
mod list;
mod search;
mod show;
mod stats;
mod table;
mod tree;
mod undo;

use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use zot_sdk::sessions::{FindError, ForkError, Library, Scope, SessionError, Summary};
use zot_sdk::{UndoError, zot_home};

use crate::command::CommandFailure;
use crate::failure::FAILED;
use crate::output::{Format, say, say_json};

pub(crate) use list::Columns;

/// The conversations on this machine. Without a command: those of this directory.
#[derive(Parser)]
#[command(
    name = "zot sessions",
    bin_name = "zot sessions",
    after_help = "A session is named by its id, the beginning of it, or the path of its file.\n\
                  To go on with one: zot -p --continue PROMPT, or zot -p --resume ID PROMPT.\n\n\
                  Exit codes: 0 done, 1 failed or nothing found, 2 usage."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Args)]
struct ListArguments {
    /// Those of all directories
    #[arg(long, short)]
    all: bool,
    /// Print JSON for programs
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Action {
    /// List the sessions of this directory, the newest first
    List(ListArguments),
    /// Show what was said, with the number of every prompt
    Show {
        id: String,
        /// Only what it is, not what was said
        #[arg(long, conflicts_with = "json")]
        summary: bool,
        #[arg(long)]
        json: bool,
    },
    /// Find messages that have all these words
    Search {
        #[arg(required = true)]
        words: Vec<String>,
        /// In this directory only
        #[arg(long)]
        here: bool,
        /// The most messages to show
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
        #[arg(long)]
        json: bool,
    },
    /// Write a session for others: portable, as Markdown, or as one HTML page
    Export(export::Arguments),
    /// Make a session of this directory from a .zotsession file
    Import {
        file: PathBuf,
        #[arg(long)]
        json: bool,
    },
    /// Begin a new session with the messages before a prompt of another, or with all of them
    Fork {
        id: String,
        /// The number of the prompt, as `show` counts
        #[arg(long, value_name = "N")]
        at: Option<usize>,
        #[arg(long)]
        json: bool,
    },
    /// Draw which session was forked from which
    Tree(ListArguments),
    /// Bring back files that `write` and `edit` changed for the last prompts
    Undo(undo::Arguments),
    /// Delete sessions and what is kept beside them
    Delete {
        #[arg(required = true)]
        ids: Vec<String>,
        #[arg(long)]
        json: bool,
    },
    /// Add up what was said and spent
    Stats(ListArguments),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Fork(#[from] ForkError),
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("cannot write {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Said(String),
    #[error("{0}")]
    Output(#[from] io::Error),
}

impl CommandFailure for Failure {
    fn exit_code(&self) -> u8 {
        FAILED
    }

    fn of_output(&self) -> Option<&io::Error> {
        match self {
            Self::Output(error) => Some(error),
            _ => None,
        }
    }
}

/// The sessions of a directory, the newest first.
pub(crate) fn of_directory(cwd: Option<&Path>) -> Vec<Summary> {
    Place::new(cwd).list(false).unwrap_or_default()
}

/// Shows which sessions there are, beside the output, to someone who has to name one.
pub(crate) fn offer(summaries: &[Summary], columns: Columns) {
    // When even standard error is gone, the exit code is all that is left to say.
    let _ = list::write_table(&mut zot_terminal::stderr(), summaries, columns);
}

/// Where the command is run, and where the sessions are.
struct Place {
    library: Library,
    cwd: String,
}

impl Place {
    fn new(cwd: Option<&Path>) -> Self {
        let home = zot_home(&|name| env::var(name).ok());
        // As the agent spells it: absolute, links left as they are, no slash at the end.
        let cwd = std::path::absolute(cwd.unwrap_or(Path::new(".")))
            .map(|path| path.components().collect::<PathBuf>())
            .unwrap_or_default();
        Self {
            library: Library::new(home.join("sessions")),
            cwd: cwd.display().to_string(),
        }
    }

    fn list(&self, all: bool) -> io::Result<Vec<Summary>> {
        self.library.list(match all {
            true => Scope::All,
            false => Scope::Directory(&self.cwd),
        })
    }
}

pub(crate) fn run(arguments: Arguments) -> Result<ExitCode, Failure> {
    let place = &Place::new(None);
    let action = arguments.action.unwrap_or(Action::List(ListArguments {
        all: false,
        json: false,
    }));
    match action {
        Action::List(arguments) => list::run(place, &arguments)?,
        Action::Show { id, summary, json } => {
            let extent = if summary {
                show::Extent::Summary
            } else {
                show::Extent::Whole
            };
            show::run(place, &id, extent, Format::of(json))?
        }
        Action::Search {
            words,
            here,
            limit,
            json,
        } => return search::run(place, &words.join(" "), here, limit, Format::of(json)),
        Action::Export(arguments) => export::run(place, &arguments)?,
        Action::Import { file, json } => export::import(place, &file, Format::of(json))?,
        Action::Fork { id, at, json } => tree::fork(place, &id, at, Format::of(json))?,
        Action::Tree(arguments) => tree::run(place, &arguments)?,
        Action::Undo(arguments) => return undo::run(place, &arguments),
        Action::Delete { ids, json } => delete(place, &ids, Format::of(json))?,
        Action::Stats(arguments) => stats::run(place, &arguments)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn delete(place: &Place, ids: &[String], format: Format) -> Result<(), Failure> {
    // All of them or none: an id that is wrong may be one of several that are.
    let paths = ids
        .iter()
        .map(|id| place.library.find(id))
        .collect::<Result<Vec<_>, _>>()?;
    for path in &paths {
        place.library.delete(path)?;
        if format == Format::Text {
            say(format_args!("deleted {}", path.display()))?;
        }
    }
    if format == Format::Json {
        say_json(&serde_json::json!({ "deleted": paths }))?;
    }
    Ok(())
}

/// The part of an id that people type.
fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
