//! A file that holds a JSON array and grows at its end.
//!
//! Both programs write `[\n  …,\n  …\n]`. An append puts `,\n  …\n]` over the last two bytes with one
//! write, under a lock on the file; whatever replaces a file does so by renaming, under a lock on the
//! directory. The other program takes no locks: a file that has changed is examined again.

mod repair;
#[cfg(test)]
mod tests;
mod unfinished;

use std::fs::{File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::array::{Scanner, Shape};
use crate::memory::element::{CLOSING, Elements, OPENING, SEPARATOR};
use crate::memory::error::StoreError;

pub(super) use repair::{create, is_torn, normalise, repair_torn, replace, with_canonical_lines};

/// Conversations are private to the owner, whatever the umask.
pub(super) const FILE_MODE: u32 = 0o600;

/// How much is read at a time.
const BLOCK_BYTES: usize = 64 * 1024;

/// The smallest page there is.
const PAGE_BYTES: u64 = 4096;

/// The longest file that is replaced where a write in place could be cut off.
///
/// Limit: an append to a longer file is written in place even where it could be cut off.
const MAX_REPLACED_BYTES: u64 = 128 * 1024;

/// How often to retry when others replace the file between two steps.
///
/// Limit: a file that others keep replacing is `busy`.
pub(super) const MAX_REPLACED_FILE_ATTEMPTS: usize = 100;

/// Identifies a version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    pub(super) length: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Append,
}

/// A locked file; dropping this unlocks it.
#[derive(Debug)]
pub(super) struct Locked {
    file: File,
    path: PathBuf,
}

/// The result of examining a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inspected {
    pub(super) shape: Shape,
    pub(super) count: u64,
    pub(super) whole_end: u64,
    pub(super) stamp: Stamp,
}

/// Opens and locks a file; `None` when it does not exist.
pub(super) fn lock(path: &Path, access: Access) -> Result<Option<Locked>, StoreError> {
    for _ in 0..MAX_REPLACED_FILE_ATTEMPTS {
        let Some(locked) = open(path, access)? else {
            return Ok(None);
        };
        match access {
            Access::Read => locked.file.lock_shared(),
            Access::Append => locked.file.lock(),
        }
        .map_err(StoreError::io(path))?;
        if locked.is_in_place()? {
            return Ok(Some(locked));
        }
    }
    Err(StoreError::Busy(path.to_owned()))
}

/// The same without waiting; `None` also when it is locked.
pub(super) fn try_lock(path: &Path, access: Access) -> Result<Option<Locked>, StoreError> {
    let Some(locked) = open(path, access)? else {
        return Ok(None);
    };
    let taken = match access {
        Access::Read => locked.file.try_lock_shared(),
        Access::Append => locked.file.try_lock(),
    };
    match taken {
        Ok(()) => Ok(locked.is_in_place()?.then_some(locked)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(StoreError::io(path)(error)),
    }
}

fn open(path: &Path, access: Access) -> Result<Option<Locked>, StoreError> {
    let mut options = OpenOptions::new();
    options.read(true).write(access == Access::Append);
    match zot_files::open_itself(path, &mut options) {
        Ok(file) => {
            make_private(&file);
            Ok(Some(Locked {
                file,
                path: path.to_owned(),
            }))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StoreError::io(path)(error)),
    }
}

/// Removes the permissions that the original, or an older version, gave to others.
fn make_private(file: &File) {
    let mode = file.metadata().map(|metadata| metadata.mode());
    if mode.is_ok_and(|mode| mode & 0o077 != 0) {
        // The permissions of another user's file stay.
        let _ = file.set_permissions(Permissions::from_mode(FILE_MODE));
    }
}

fn stamp_of(metadata: &std::fs::Metadata) -> Stamp {
    Stamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        length: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
    }
}

impl Locked {
    /// Whether the path still leads to this file: it may have been replaced while this process waited
    /// for the lock.
    fn is_in_place(&self) -> Result<bool, StoreError> {
        match std::fs::symlink_metadata(&self.path) {
            Ok(now) => Ok(self.stamp()?.same_file(&stamp_of(&now))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(StoreError::io(&self.path)(error)),
        }
    }

    pub(super) fn stamp(&self) -> Result<Stamp, StoreError> {
        let metadata = self.file.metadata();
        let metadata = metadata.map_err(StoreError::io(&self.path))?;
        Ok(stamp_of(&metadata))
    }

    /// Examines the file, from the beginning or from the end of what is known.
    pub(super) fn inspect(
        &self,
        known: Option<&Inspected>,
        each: &mut impl FnMut(u64, &[u8]),
    ) -> Result<Inspected, StoreError> {
        self.inspect_while(&|| true, known, each)
    }

    /// The same, while `keep_going` returns true.
    pub(super) fn inspect_while(
        &self,
        keep_going: &dyn Fn() -> bool,
        known: Option<&Inspected>,
        each: &mut impl FnMut(u64, &[u8]),
    ) -> Result<Inspected, StoreError> {
        let stamp = self.stamp()?;
        let mut scanner = match known {
            Some(known) => Scanner::after(known.whole_end, known.count),
            None => Scanner::new(),
        };
        let mut position = known.map_or(0, |known| known.whole_end);
        let mut block = vec![0; BLOCK_BYTES];
        while position < stamp.length {
            if !keep_going() {
                return Err(StoreError::Stopped);
            }
            let wanted = BLOCK_BYTES.min((stamp.length - position) as usize);
            let count = self.read_at(&mut block[..wanted], position)?;
            if count == 0 {
                break;
            }
            scanner.feed(&block[..count], each);
            position += count as u64;
        }
        Ok(Inspected {
            shape: scanner.shape(),
            count: scanner.count(),
            whole_end: scanner.whole_end(),
            stamp,
        })
    }

    /// Whether a file that has changed was only appended to.
    pub(super) fn has_grown(&self, known: &Inspected) -> Result<bool, StoreError> {
        let now = self.stamp()?;
        if !now.same_file(&known.stamp)
            || now.length < known.stamp.length
            || known.whole_end == 0
            || known.shape != Shape::Canonical
        {
            return Ok(false);
        }
        let mut bytes = [0; SEPARATOR.len()];
        let count = self.read_at(&mut bytes, known.whole_end)?;
        Ok(bytes[..count] == *SEPARATOR || bytes[..count] == *CLOSING)
    }

    /// Appends elements to a canonical array; returns the new state of the file and the position of the
    /// first of them.
    ///
    /// A write within one page is atomic even when the process is killed. One that crosses into another
    /// page may be cut there, so a short file is replaced instead. A long file would cost too much to
    /// replace, and its append cannot be atomic: only blanks may follow the array, so its end and the
    /// new elements have to change in one step, and the kernel lets a process die between any two
    /// pages. A note beside the file records such an append.
    pub(super) fn append(
        &self,
        known: &Inspected,
        elements: &Elements,
    ) -> Result<(Inspected, u64), StoreError> {
        let opening = if known.whole_end == 0 {
            OPENING
        } else {
            SEPARATOR
        };
        let bytes = elements.closed(opening);
        let last = known.whole_end + bytes.len() as u64 - 1;
        let crosses = known.whole_end / PAGE_BYTES != last / PAGE_BYTES;
        let stamp = if crosses && last <= MAX_REPLACED_BYTES {
            repair::grow(self, known.whole_end, &bytes)?
        } else {
            if crosses {
                unfinished::announce(self, known.whole_end, &bytes);
            }
            let written = self.write_at(&bytes, known.whole_end);
            if written.is_err() {
                self.undo_append(known);
            }
            if crosses {
                unfinished::withdraw(&self.path);
            }
            written.map_err(StoreError::io(&self.path))?;
            self.stamp()?
        };
        let begin = known.whole_end + opening.len() as u64;
        let after = Inspected {
            shape: Shape::Canonical,
            count: known.count + elements.len() as u64,
            whole_end: begin + elements.bytes().len() as u64,
            stamp,
        };
        Ok((after, begin))
    }

    /// Restores the end after a failed write. If that fails too, the file is repaired when it is next
    /// examined.
    fn undo_append(&self, known: &Inspected) {
        let ending: &[u8] = if known.whole_end == 0 { b"[]" } else { CLOSING };
        let _ = self.file.set_len(known.stamp.length);
        let _ = self.write_at(ending, known.whole_end);
    }

    /// Writes everything, in one write where the system allows.
    fn write_at(&self, mut bytes: &[u8], mut position: u64) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.file.write_at(bytes, position) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    bytes = &bytes[count..];
                    position += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads up to the end of the file.
    pub(super) fn read_at(&self, buffer: &mut [u8], position: u64) -> Result<usize, StoreError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self
                .file
                .read_at(&mut buffer[filled..], position + filled as u64)
            {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(StoreError::io(&self.path)(error)),
            }
        }
        Ok(filled)
    }

    /// Copies a part of the file.
    pub(super) fn copy_to(&self, target: &mut File, part: Range<u64>) -> io::Result<()> {
        let mut source = &self.file;
        source.seek(SeekFrom::Start(part.start))?;
        let wanted = part.end - part.start;
        let copied = io::copy(&mut source.take(wanted), target)?;
        if copied < wanted {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }

    /// Reads the last `wanted` elements of a canonical array that ends at `whole_end`, backwards: no
    /// string contains a line break, so lines show where an element begins.
    pub(super) fn last(&self, whole_end: u64, wanted: usize) -> Result<Vec<Vec<u8>>, StoreError> {
        let mut tail: Vec<u8> = Vec::new();
        let mut begin = whole_end;
        let mut step = BLOCK_BYTES;
        loop {
            let count = (begin as usize).min(step);
            let mut block = vec![0; count];
            begin -= count as u64;
            let read = self.read_at(&mut block, begin)?;
            if read < count {
                return Err(StoreError::Busy(self.path.clone()));
            }
            block.extend_from_slice(&tail);
            tail = block;
            let starts = element_starts(&tail);
            if starts.len() >= wanted || begin == 0 {
                let first = starts.len().saturating_sub(wanted);
                return Ok(split(&tail, &starts[first..]));
            }
            // Twice as much each time, so that the whole costs no more than twice its length.
            step = tail.len();
        }
    }
}

/// Finds where elements begin: on lines with two blanks and neither a third nor a closing bracket.
fn element_starts(bytes: &[u8]) -> Vec<usize> {
    let mut starts = Vec::new();
    for (index, window) in bytes.windows(4).enumerate() {
        if window[0] == b'\n'
            && window[1] == b' '
            && window[2] == b' '
            && !matches!(window[3], b' ' | b'}' | b']')
        {
            starts.push(index + 3);
        }
    }
    starts
}

fn split(bytes: &[u8], starts: &[usize]) -> Vec<Vec<u8>> {
    let ends = starts
        .iter()
        .skip(1)
        .map(|next| next - SEPARATOR.len())
        .chain([bytes.len()]);
    starts
        .iter()
        .zip(ends)
        .map(|(&start, end)| bytes[start..end].to_vec())
        .collect()
}
