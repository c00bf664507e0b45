//! The flags about sessions.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use zot_sdk::{Durability, Persistence, Resumption, SessionChoice};

use super::resume::Resume;
use super::{heading, values};

#[derive(Args)]
#[command(next_help_heading = heading::SESSIONS)]
pub(super) struct SessionArguments {
    /// Neither read nor write a session file, whatever the other session options say
    #[arg(long, conflicts_with_all = ["fork", "durable"])]
    pub(super) no_session: bool,
    /// Continue the newest session of this directory
    #[arg(short, long = "continue", help_heading = heading::COMMON, display_order = 3)]
    pub(super) continue_newest: bool,
    /// Resume a session by its id or the beginning of it; without an id, choose one from a list
    #[arg(short, long, value_name = "ID|PATH", num_args = 0..=1, action = ArgAction::Append, help_heading = heading::COMMON, display_order = 4)]
    pub(super) resume: Option<Vec<String>>,
    /// Continue the session in this file, or create it (overrides --continue and --resume)
    #[arg(long, value_name = "PATH", value_parser = values::path())]
    pub(super) session: Option<PathBuf>,
    /// Continue in a copy of the session and leave the session itself unchanged
    #[arg(long)]
    pub(super) fork: bool,
    /// Sync the session to disk after every turn, so that it survives a power failure
    #[arg(long)]
    durable: bool,

    /// What `--resume` means, once it is resolved.
    #[arg(skip)]
    pub(super) resumes: Resume,
}

impl SessionArguments {
    pub(super) fn unset_empty(&mut self) {
        values::unset_empty_path(&mut self.session);
    }

    /// Returns the session to use; `default` applies where no flag names one.
    pub(super) fn choice(self, default: Persistence) -> SessionChoice {
        SessionChoice {
            persistence: match (self.session, self.resumes) {
                _ if self.no_session => Persistence::Never,
                (Some(path), _) => Persistence::File(path),
                (None, _) if self.continue_newest => Persistence::Continue,
                (None, Resume::Session(wanted)) => Persistence::Resume(wanted),
                (None, Resume::New | Resume::Pick) => default,
            },
            durability: match self.durable {
                true => Durability::PowerLoss,
                false => Durability::ProcessEnd,
            },
            resumption: match self.fork {
                true => Resumption::Fork,
                false => Resumption::Append,
            },
            ..SessionChoice::default()
        }
    }
}
