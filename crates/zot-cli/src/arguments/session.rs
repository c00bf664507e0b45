//! The flags about sessions.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use zot_sdk::{Durability, Persistence, Resumption, SessionChoice};

use super::resume::Resume;
use super::values;

#[derive(Args)]
pub(super) struct SessionArguments {
    /// Neither read nor write a session file, whatever else is said about sessions (rpc writes one
    /// only if asked to)
    #[arg(long, conflicts_with_all = ["fork", "durable"])]
    pub(super) no_session: bool,
    /// Go on with the newest session of this directory
    #[arg(short, long = "continue")]
    pub(super) continue_newest: bool,
    /// Go on with this session; the beginning of its id is enough. Without one: pick it from a list.
    /// What can be neither an id nor a path begins the prompt
    #[arg(short, long, value_name = "ID|PATH", num_args = 0..=1, action = ArgAction::Append)]
    pub(super) resume: Option<Vec<String>>,
    /// Keep the conversation in this file: go on with what is in it, or make it. Comes before
    /// --continue, and that before --resume
    #[arg(long, value_name = "PATH", value_parser = values::path())]
    pub(super) session: Option<PathBuf>,
    /// With --continue, --resume or --session: go on in a copy, and leave the original as it is
    #[arg(long)]
    pub(super) fork: bool,
    /// Wait for the disk after every turn, so that a session survives a power failure
    #[arg(long)]
    durable: bool,

    /// What `--resume` means, once that is settled.
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
        }
    }
}
