//! Brings files back.
//!
//! Every file is walked to without following a link and must be the one that was changed; what is
//! checked and what is replaced is the same open file. Files that are refused do not keep the others
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
    /// Left alone, whatever was asked for: a link, or something that is not a regular file, stands
    /// where the file was, or it has become another file's second name.
    Refused {
        reason: String,
    },
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
    /// The file that the last change left, if that was noted.
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
            let outcome = self.bring_back(&span, if_changed).unwrap_or_else(failed);
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

    fn bring_back(&self, span: &Span, if_changed: IfChanged) -> Result<FileOutcome, WalkError> {
        if !span.first.kept {
            return Ok(FileOutcome::NotKept);
        }
        let mut file = WalkedFile::find(&span.first.path)?;
        let present = match file.content(MAX_CHECKPOINT_BYTES) {
            // No tool made it as large, and it could not be kept.
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

/// How the file may be written to; `None` when it is another file that has further names.
///
/// A file that had several names when it was changed was changed under all of them, and is restored
/// so. Names that were added since keep what they hold.
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
