//! The paths that a child must not create, and what they are called once they were renamed.

use std::ffi::{CString, OsStr, OsString};
use std::fs::Metadata;
use std::hash::{BuildHasher as _, RandomState};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// More than the steps in which the clocks of file systems move.
const CLOCK_STEP_NANOSECONDS: i128 = 20_000_000;

/// More than the longest of these steps, that of FAT.
const SETTLED_NANOSECONDS: i128 = 4_000_000_000;

/// What is done about the paths that a child must not create.
#[derive(Debug, Default)]
pub(crate) struct Sweeping {
    pub(crate) swept: Arc<[Swept]>,
    /// The directories that the paths are in, as they were. Where none has changed, nothing was created.
    pub(crate) directories: Arc<[(CString, Option<FileIdentity>)]>,
    suffixes: Suffixes,
    /// How often what is at each path was renamed by this process. The supervisor of the child does not
    /// see it.
    rounds: Box<[AtomicU32]>,
}

/// A path that a child must not create. What is there when it has ended is renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Swept {
    /// The directory it is in, without links.
    pub(crate) directory: CString,
    pub(crate) name: CString,
    /// What was there before, which stays.
    pub(crate) before: Option<FileIdentity>,
}

/// Whether something was renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Renamed {
    Yes,
    /// Another file has that name.
    NameIsTaken,
    No,
}

impl Sweeping {
    pub(crate) fn new(
        swept: Arc<[Swept]>,
        directories: Arc<[(CString, Option<FileIdentity>)]>,
    ) -> Self {
        Self {
            rounds: swept.iter().map(|_| AtomicU32::new(0)).collect(),
            suffixes: Suffixes::default(),
            swept,
            directories,
        }
    }

    /// Renames what is at a path with `rename`, which gets a suffix. A program that runs on sees each name
    /// that was used, and can occupy it, but not the next.
    pub(crate) fn rename(&self, position: usize, rename: impl Fn(&[u8]) -> Renamed) {
        let Some(used) = self.rounds.get(position) else {
            return;
        };
        for round in used.load(Ordering::Relaxed)..u32::MAX {
            match rename(&self.suffixes.of(position, round)) {
                Renamed::NameIsTaken => {}
                Renamed::Yes => return used.store(round.saturating_add(1), Ordering::Relaxed),
                Renamed::No => return,
            }
        }
    }

    /// Returns the paths that were created, and what they are called now, also if the supervisor renamed them.
    pub(crate) fn renamed(&self) -> Vec<(PathBuf, PathBuf)> {
        let mut renamed = Vec::new();
        for (position, (swept, used)) in self.swept.iter().zip(&self.rounds).enumerate() {
            let used = used.load(Ordering::Relaxed);
            for round in 0..u32::MAX {
                let path = swept.with_suffix(&self.suffixes.of(position, round));
                let is_there = path.symlink_metadata().is_ok();
                if is_there {
                    renamed.push((swept.path(), path));
                } else if round >= used {
                    break;
                }
            }
        }
        renamed
    }

    /// Returns the paths that were created and could not be renamed.
    pub(crate) fn left(&self) -> Vec<PathBuf> {
        let paths = self.swept.iter().filter_map(|swept| {
            let path = swept.path();
            let found = FileIdentity::from(&path.symlink_metadata().ok()?);
            (Some(found) != swept.before).then_some(path)
        });
        paths.collect()
    }
}

impl Swept {
    pub(crate) fn path(&self) -> PathBuf {
        let directory = Path::new(OsStr::from_bytes(self.directory.to_bytes()));
        directory.join(OsStr::from_bytes(self.name.to_bytes()))
    }

    /// Returns the beginning of the new name: as much of the old one as leaves room for the suffix.
    pub(crate) fn kept_name(&self) -> &[u8] {
        let name = self.name.to_bytes();
        let most = LINUX_NAME_LENGTH - SUFFIX_LENGTH;
        name.get(..most).unwrap_or(name)
    }

    fn with_suffix(&self, suffix: &[u8]) -> PathBuf {
        let mut name = self.kept_name().to_vec();
        name.extend(suffix);
        self.path().with_file_name(OsString::from_vec(name))
    }
}

/// What is appended to the names of what was swept. A program that knows some of them cannot guess the others: they
/// are keyed hashes. Nothing is allocated for one.
#[derive(Debug, Default)]
struct Suffixes(RandomState);

/// The longest name that Linux has.
const LINUX_NAME_LENGTH: usize = 255;

const SUFFIX_LENGTH: usize = ".withheld-".len() + 16;

impl Suffixes {
    fn of(&self, position: usize, round: u32) -> [u8; SUFFIX_LENGTH] {
        let number = self.0.hash_one((position, round));
        let mut bytes = *b".withheld-0000000000000000";
        let (_, digits) = bytes.split_at_mut(SUFFIX_LENGTH - 16);
        for (position, digit) in digits.iter_mut().rev().enumerate() {
            let nibble = (number >> (4 * position)) as u8 & 15;
            *digit = b"0123456789abcdef"[usize::from(nibble)];
        }
        bytes
    }
}

/// Tells a file from one that replaced it. The time of the last change is part of it, because numbers
/// of inodes are used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) changed: (i64, i64),
}

impl FileIdentity {
    /// Returns whether a change could have left the time as it is: clocks of file systems move in steps.
    pub(crate) fn may_hide_changes(&self) -> bool {
        // Whole milliseconds are those of a clock with steps of up to two seconds, or one that stands still.
        if self.changed.1 % 1_000_000 == 0 {
            return true;
        }
        self.age() < CLOCK_STEP_NANOSECONDS
    }

    /// Returns whether the last change was longer ago than the steps of any clock that moves.
    pub(crate) fn is_settled(&self) -> bool {
        self.age() > SETTLED_NANOSECONDS
    }

    fn age(&self) -> i128 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| now.as_nanos() as i128);
        let (seconds, nanoseconds) = self.changed;
        now - (i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds))
    }
}

impl From<&Metadata> for FileIdentity {
    fn from(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

/// Returns whether nothing was created in, renamed to or removed from any of `directories`.
pub(crate) fn are_unchanged(directories: &[(CString, Option<FileIdentity>)]) -> bool {
    directories.iter().all(|(path, before)| {
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        let now = path.symlink_metadata();
        before.is_some() && now.is_ok_and(|now| *before == Some(FileIdentity::from(&now)))
    })
}
