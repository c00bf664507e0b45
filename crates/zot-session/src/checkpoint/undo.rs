//! Restores files.
//!
//! Every path is walked without following links and must lead to the file that was changed; the
//! file that is checked is the one that is replaced. A refused file does not prevent the others
//! from being restored.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

use zot_conversation::Timestamp;
use zot_files::{Replacement, WalkError, WalkedFile};

use super::{Change, Checkpoints, MAX_CHECKPOINT_BYTES, Made, Record, digest_of};

/// What to do with a file that someone else changed after the tools did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfChanged {
    /// Leave it unchanged.
    Refuse,
    /// Restore it, and keep a copy of its current content.
    Overwrite,
}

/// What an undo did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Undone {
    /// The times of the prompts whose changes were undone, newest first.
    pub prompts: Vec<Timestamp>,
    pub files: Vec<UndoneFile>,
}

/// The outcome for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UndoneFile {
    pub path: PathBuf,
    /// How many of its changes the undo covers.
    pub changes: usize,
    pub outcome: FileOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileOutcome {
    Restored,
    /// Removed, because it did not exist before.
    Removed,
    /// It already had its earlier content.
    Unchanged,
    /// Restored over other content, which is kept here.
    Overwritten {
        kept: PathBuf,
    },
    /// Left unchanged: it was changed after the tools did.
    ChangedSince,
    /// Left unchanged: its earlier content is not known.
    NotKept,
    /// Left unchanged in any case: the path is now a link, or not a regular file, or a hard link to
    /// another file.
    Refused {
        reason: String,
    },
    Failed {
        reason: String,
    },
}

impl FileOutcome {
    /// Returns whether the change is undone.
    pub fn is_done(&self) -> bool {
        matches!(
            self,
            Self::Restored | Self::Removed | Self::Unchanged | Self::Overwritten { .. }
        )
    }
}

/// The changes of one file that are undone together.
struct Span {
    first: Change,
    last: Change,
    numbers: Vec<u64>,
    /// The identity of the file after the last change, if it was recorded.
    made: Option<Made>,
}

impl Checkpoints {
    /// Undoes the changes of the last `prompts` prompts that changed anything.
    pub fn undo(&self, prompts: usize, if_changed: IfChanged) -> io::Result<Undone> {
        let changes = self.changes()?;
        let made = self.records()?.made;
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
                    span.made = made.get(&change.number).copied();
                    span.last = change;
                }
                None => {
                    order.push(change.path.clone());
                    let span = Span {
                        first: change.clone(),
                        numbers: vec![change.number],
                        made: made.get(&change.number).copied(),
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
            let outcome = self.restore(&span, if_changed).unwrap_or_else(failed);
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

    fn restore(&self, span: &Span, if_changed: IfChanged) -> Result<FileOutcome, WalkError> {
        if !span.first.kept {
            return Ok(FileOutcome::NotKept);
        }
        let mut file = WalkedFile::find(&span.first.path)?;
        let present = match file.content(MAX_CHECKPOINT_BYTES) {
            // No tool writes files this large, and a copy could not be kept.
            Err(WalkError::TooLarge { .. }) if if_changed == IfChanged::Refuse => {
                return Ok(FileOutcome::ChangedSince);
            }
            content => content?,
        };
        let digest = present.as_deref().map(digest_of);
        if digest == span.first.before {
            return Ok(FileOutcome::Unchanged);
        }
        let replacement = match replacement(&file, span.made) {
            Some(replacement) => replacement,
            None if if_changed == IfChanged::Overwrite => Replacement::Rename,
            None => {
                return Ok(FileOutcome::Refused {
                    reason: HARD_LINK.to_owned(),
                });
            }
        };
        let mut outcome = match span.first.before {
            Some(_) => FileOutcome::Restored,
            None => FileOutcome::Removed,
        };
        if digest.as_ref() != Some(&span.last.after) {
            if if_changed == IfChanged::Refuse {
                return Ok(FileOutcome::ChangedSince);
            }
            if let Some(present) = &present {
                let kept = self
                    .directory
                    .join(super::OBJECTS)
                    .join(self.store(present)?);
                outcome = FileOutcome::Overwritten { kept };
            }
        }
        match &span.first.before {
            Some(before) => {
                let content = self.load(before)?;
                file.replace(&content, replacement, span.made.map(|made| made.mode))?;
            }
            None => file.remove()?,
        }
        Ok(outcome)
    }
}

const HARD_LINK: &str = "it is a hard link to another file than the one that was changed; --force \
                         replaces this name only";

/// Returns how the file may be written; `None` if it is another file with several hard links.
///
/// A file that had several hard links when it was changed is restored under all of them. Links that
/// were added since keep their content.
fn replacement(file: &WalkedFile, made: Option<Made>) -> Option<Replacement> {
    if file.links() <= 1 {
        return Some(Replacement::Rename);
    }
    let made = made.filter(|made| file.identity() == Some(made.identity()))?;
    Some(match made.links > 1 {
        true => Replacement::InPlace,
        false => Replacement::Rename,
    })
}

fn failed(error: WalkError) -> FileOutcome {
    let reason = error.to_string();
    match error.is_another_file() {
        true => FileOutcome::Refused { reason },
        false => FileOutcome::Failed { reason },
    }
}
