//! What is known about a run: how things were before it, and what was refused during it.

use std::path::PathBuf;
use std::sync::Arc;

use super::guards::Before;
use super::proxy::{Contact, ContactLog, ContactMark};
use crate::launch::{self, Sweeping};

/// What the sandbox refused during a run, as far as it is known for sure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Obstacles {
    /// Hosts that were refused, without repetition.
    pub hosts: Vec<Contact>,
    /// Protected paths that the run created, and what they are called now.
    pub withheld_files: Vec<(PathBuf, PathBuf)>,
    /// Protected files that were changed, where the system could not prevent it, that somebody outside
    /// replaced, after which it could not either, or that were created and could not be renamed.
    pub changed_files: Vec<PathBuf>,
}

/// How things were when a run began.
#[derive(Debug, Clone)]
pub struct RunMark {
    contacts: ContactMark,
    pub(super) sweeping: Arc<Sweeping>,
    /// The protected files that existed before the run.
    pub(super) compared: Vec<(PathBuf, Before)>,
}

impl RunMark {
    pub(super) fn new(contacts: &ContactLog) -> Self {
        Self {
            contacts: contacts.mark(),
            sweeping: Arc::default(),
            compared: Vec::new(),
        }
    }

    pub(super) fn obstacles(&self, contacts: &ContactLog) -> Obstacles {
        let changed = self
            .compared
            .iter()
            .filter(|(path, before)| before.has_changed(path));
        let mut obstacles = Obstacles {
            hosts: contacts.refused_since(self.contacts),
            withheld_files: Vec::new(),
            changed_files: changed.map(|(path, _)| path.clone()).collect(),
        };
        if !launch::are_unchanged(&self.sweeping.directories) {
            // The supervisor has done it, unless somebody killed the supervisor.
            launch::sweep(&self.sweeping);
            obstacles.withheld_files = self.sweeping.renamed();
            obstacles.changed_files.extend(self.sweeping.left());
        }
        obstacles
    }
}
