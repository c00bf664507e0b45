//! Replaces the content of a file so that a reader sees the old or the new text, never a part.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::Errno;

use super::{FileError, require_regular};

/// As many links in a row as Linux follows.
const MAX_LINKS: usize = 40;

/// Writes `content` to `path`, making missing parent directories.
///
/// A link is followed, as ordinary writing would. An existing file must be writable and keeps its
/// permissions and owner. It is replaced by renaming a synced temporary file, except where that
/// would break something (hard links, an owner we cannot give the new file) or is impossible (a
/// directory we may not write to, a file that is a mount point): then it is overwritten in place.
pub(crate) fn replace(path: &Path, content: &[u8]) -> Result<(), FileError> {
    make_parents(path)?;
    let target = follow_links(path)?;
    let existing = match target.metadata() {
        Ok(metadata) => Some(writable(path, &target, metadata)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(FileError::during("stat", path)(error)),
    };
    let Some((mut file, metadata)) = existing else {
        let temporary =
            Temporary::create(&target, 0o666).map_err(FileError::during("open", path))?;
        return temporary
            .fill(content)
            .and_then(|temporary| temporary.publish(&target))
            .map_err(FileError::during("write", path));
    };
    if metadata.nlink() == 1
        && let Some(temporary) = stand_in(&target, &metadata)
    {
        let temporary = temporary
            .fill(content)
            .map_err(FileError::during("write", path))?;
        if temporary.publish(&target).is_ok() {
            return Ok(());
        }
    }
    overwrite(&mut file, content).map_err(FileError::during("write", path))
}

/// A name no one else will pick.
pub(crate) fn random_hex() -> String {
    // The hasher's keys come from the system's random source; names are created exclusively anyway.
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

/// Creates what is missing above `path`, naming the component in the way when there is one.
fn make_parents(path: &Path) -> Result<(), FileError> {
    let Some(parent) = path.parent() else {
        return Ok(());
    };
    if parent.is_dir() {
        return Ok(());
    }
    let in_the_way = parent
        .ancestors()
        .find_map(|ancestor| Some((ancestor, ancestor.metadata().ok()?)));
    if let Some((ancestor, metadata)) = in_the_way
        && !metadata.is_dir()
    {
        let not_a_directory = io::Error::from(io::ErrorKind::NotADirectory);
        return Err(FileError::during("mkdir", ancestor)(not_a_directory));
    }
    DirBuilder::new()
        .recursive(true)
        .create(parent)
        .map_err(FileError::during("mkdir", parent))
}

/// The path at the end of a chain of links; it need not exist.
pub(crate) fn follow_links(path: &Path) -> Result<PathBuf, FileError> {
    let mut target = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = target.read_link() else {
            return Ok(target);
        };
        target.pop();
        target.push(next);
    }
    let too_many = io::Error::from(Errno::LOOP);
    Err(FileError::during("open", path)(too_many))
}

/// Opens an existing file for writing, because a rename would also replace a read-only one.
fn writable(path: &Path, target: &Path, metadata: Metadata) -> Result<(File, Metadata), FileError> {
    if metadata.is_dir() {
        let is_a_directory = io::Error::from(Errno::ISDIR);
        return Err(FileError::during("open", path)(is_a_directory));
    }
    require_regular(path, &metadata)?;
    let file = OpenOptions::new()
        .write(true)
        .custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32)
        .open(target)
        .map_err(FileError::during("open", path))?;
    Ok((file, metadata))
}

/// A temporary file with the owner and permissions of the file it will replace, if we can make one.
fn stand_in(target: &Path, metadata: &Metadata) -> Option<Temporary> {
    let temporary = Temporary::create(target, 0o600).ok()?;
    let own = temporary.file.metadata().ok()?;
    if (own.uid(), own.gid()) != (metadata.uid(), metadata.gid()) {
        fchown(&temporary.file, Some(metadata.uid()), Some(metadata.gid())).ok()?;
    }
    let permissions = Permissions::from_mode(metadata.mode() & 0o777);
    temporary.file.set_permissions(permissions).ok()?;
    Some(temporary)
}

/// Overwrites without a copy to fall back on, so room is made sure of before the old content goes.
fn overwrite(file: &mut File, content: &[u8]) -> io::Result<()> {
    let length = content.len() as u64;
    if length > file.metadata()?.len() {
        match fallocate(&*file, FallocateFlags::empty(), 0, length) {
            // Not every file system can tell.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    file.write_all(content)?;
    file.set_len(length)?;
    file.sync_data()
}

/// A file next to its destination that disappears unless it is published.
struct Temporary {
    file: File,
    path: PathBuf,
    published: bool,
}

impl Temporary {
    fn create(target: &Path, mode: u32) -> io::Result<Self> {
        let path = target.with_file_name(format!(".zot-{}.tmp", random_hex()));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path)?;
        Ok(Self {
            file,
            path,
            published: false,
        })
    }

    fn fill(mut self, content: &[u8]) -> io::Result<Self> {
        self.file.write_all(content)?;
        self.file.sync_data()?;
        Ok(self)
    }

    fn publish(mut self, target: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, target)?;
        self.published = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.published {
            // Nothing more can be done about a file that cannot be removed.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
