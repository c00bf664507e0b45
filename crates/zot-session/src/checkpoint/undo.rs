//! Brings files back.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use zot_conversation::Timestamp;

use super::{Change, Checkpoints, Record, digest_of};

/// What to do with a file that someone else changed after the tools did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfChanged {
    /// Leave it alone.
    Refuse,
    /// Bring it back, and keep what is there now.
    Overwrite,
}

/// What an undo did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Undone {
    /// The times of the prompts whose changes were looked at, the newest first.
    pub prompts: Vec<Timestamp>,
    pub files: Vec<UndoneFile>,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneFile {
    pub path: PathBuf,
    /// How many changes of it were to be undone.
    pub changes: usize,
    pub outcome: FileOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOutcome {
    Restored,
    /// There was none before.
    Removed,
    /// It was what it had been.
    Unchanged,
    /// Brought back over something else, which is kept here.
    Overwritten {
        kept: PathBuf,
    },
    /// Left alone: it is not what the tools made it.
    ChangedSince,
    /// Left alone: what it was is not known.
    NotKept,
    Failed {
        reason: String,
    },
}

impl FileOutcome {
    /// Whether the change is dealt with.
    pub fn is_done(&self) -> bool {
        matches!(
            self,
            Self::Restored | Self::Removed | Self::Unchanged | Self::Overwritten { .. }
        )
    }
}

/// The changes of one file that are to be undone together.
struct Span {
    first: Change,
    last: Change,
    numbers: Vec<u64>,
}

impl Checkpoints {
    /// Undoes the changes of the last `prompts` prompts that changed anything.
    ///
    /// `replace` writes a file the way the tools do.
    pub fn undo(
        &self,
        prompts: usize,
        if_changed: IfChanged,
        replace: impl Fn(&Path, &[u8]) -> Result<(), String>,
    ) -> io::Result<Undone> {
        let changes = self.changes()?;
        let mut times: Vec<Timestamp> = Vec::new();
        for change in changes.iter().rev() {
            if !times.contains(&change.prompt) {
                times.push(change.prompt);
            }
        }
        times.truncate(prompts);
        let mut order: Vec<PathBuf> = Vec::new();
        let mut spans: HashMap<PathBuf, Span> = HashMap::new();
        for change in changes {
            if !times.contains(&change.prompt) {
                continue;
            }
            match spans.get_mut(&change.path) {
                Some(span) => {
                    span.numbers.push(change.number);
                    span.last = change;
                }
                None => {
                    order.push(change.path.clone());
                    let span = Span {
                        first: change.clone(),
                        numbers: vec![change.number],
                        last: change,
                    };
                    spans.insert(span.first.path.clone(), span);
                }
            }
        }
        let mut undone = Undone {
            prompts: times,
            files: Vec::new(),
        };
        for path in order {
            let Some(span) = spans.remove(&path) else {
                continue;
            };
            let outcome = self
                .bring_back(&span, if_changed, &replace)
                .unwrap_or_else(|error| FileOutcome::Failed {
                    reason: error.to_string(),
                });
            if outcome.is_done() {
                self.append(&Record::Undone {
                    numbers: span.numbers.clone(),
                    time: Timestamp::now(),
                })?;
            }
            undone.files.push(UndoneFile {
                path,
                changes: span.numbers.len(),
                outcome,
            });
        }
        Ok(undone)
    }

    fn bring_back(
        &self,
        span: &Span,
        if_changed: IfChanged,
        replace: impl Fn(&Path, &[u8]) -> Result<(), String>,
    ) -> io::Result<FileOutcome> {
        let path = &span.first.path;
        if !span.first.kept {
            return Ok(FileOutcome::NotKept);
        }
        let present = match fs::read(path) {
            Ok(content) => Some(content),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let digest = present.as_deref().map(digest_of);
        if digest == span.first.before {
            return Ok(FileOutcome::Unchanged);
        }
        let mut outcome = match span.first.before {
            Some(_) => FileOutcome::Restored,
            None => FileOutcome::Removed,
        };
        if digest.as_ref() != Some(&span.last.after) {
            if if_changed == IfChanged::Refuse {
                return Ok(FileOutcome::ChangedSince);
            }
            if let Some(present) = &present {
                let kept = self.folder.join(super::OBJECTS).join(self.store(present)?);
                outcome = FileOutcome::Overwritten { kept };
            }
        }
        match &span.first.before {
            Some(before) => {
                let content = self.load(before)?;
                replace(path, &content).map_err(io::Error::other)?;
            }
            None => fs::remove_file(path)?,
        }
        Ok(outcome)
    }
}
