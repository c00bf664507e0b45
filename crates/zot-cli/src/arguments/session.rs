//! The flags about sessions.

use std::path::PathBuf;

use clap::{ArgAction, Args};
use zot_sdk::{Durability, Persistence, Resumption, SessionChoice};

use super::resume::Resume;
use super::values;

#[derive(Args)]
pub(super) struct SessionArguments {
    /// Neither read nor write a session file, overriding all other session flags (rpc writes one only
    /// if asked to)
    #[arg(long, conflicts_with_all = ["fork", "durable"])]
    pub(super) no_session: bool,
    /// Continue the newest session of this directory
    #[arg(short, long = "continue")]
    pub(super) continue_newest: bool,
    /// Resume this session; the beginning of its id is enough. Without an id, pick one from a list. A
    /// value that is neither an id nor a path starts the prompt
    #[arg(short, long, value_name = "ID|PATH", num_args = 0..=1, action = ArgAction::Append)]
    pub(super) resume: Option<Vec<String>>,
    /// Keep the conversation in this file: continue it, or create it. Takes precedence over
    /// --continue, and that over --resume
    #[arg(long, value_name = "PATH", value_parser = values::path())]
    pub(super) session: Option<PathBuf>,
    /// With --continue, --resume or --session: continue in a copy and leave the original unchanged
    #[arg(long)]
    pub(super) fork: bool,
    /// Sync to disk after every turn, so that a session survives a power failure
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
