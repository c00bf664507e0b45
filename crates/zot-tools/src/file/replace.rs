//! Replaces the content of a file so that a reader sees either the old or the new text.

use std::fs::{DirBuilder, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, FileType, Mode, OFlags, Stat, fallocate, fchmod, fstat};
use rustix::io::Errno;
use zot_process::sandbox::Layout;

use super::location::{Anchor, Replacing};
use super::same::protected_name;
use super::{CAREFULLY, FileError, Location, attributes, require_regular};

/// As many links in a row as Linux follows.
///
/// Limit: a longer chain of symbolic links is refused.
pub(crate) const MAX_LINKS: usize = 40;

/// Writes `content` to `location`, and creates missing parent directories.
///
/// A link is followed, as ordinary writing would. An existing file must be writable and keeps its
/// permissions, owner and attributes, but not set-user-ID. It is replaced by renaming a synced temporary
/// file, except where that would break something (hard links, an owner we cannot give the new file) or is
/// impossible (a directory we may not write to, a file that is a mount point): then it is overwritten in
/// place. Confined tools do not change a file with several names in place: see [`Replacing::Apart`].
pub(crate) fn replace(location: &Location, content: &[u8]) -> Result<(), FileError> {
    let path = location.shown();
    let target = location.anchor_for_writing()?;
    let existing = match target.stat() {
        Ok(stat) => Some(writable(path, &target, &stat)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(FileError::during("stat", path)(error)),
    };
    let replacing = location.replacing();
    let Some((mut file, stat)) = existing else {
        if let Replacing::OnlyInPlace = replacing {
            let missing = io::Error::from(io::ErrorKind::NotFound);
            return Err(FileError::during("open", path)(missing));
        }
        let anyone = Mode::from_raw_mode(0o666);
        let temporary =
            Temporary::create(&target, anyone).map_err(FileError::during("open", path))?;
        return temporary
            .fill(content)
            .and_then(Temporary::publish)
            .map_err(FileError::during("write", path));
    };
    let is_shared = stat.st_nlink > 1;
    let wants_stand_in = match replacing {
        Replacing::AsUsual => !is_shared,
        Replacing::OnlyInPlace => false,
        Replacing::Apart(layout) => {
            if is_shared && let Some(layout) = layout {
                refuse_protected(path, &file, layout)?;
            }
            true
        }
    };
    if wants_stand_in && let Some(temporary) = stand_in(&target, &file, &stat) {
        let temporary = temporary
            .fill(content)
            .map_err(FileError::during("write", path))?;
        if temporary.publish().is_ok() {
            return Ok(());
        }
    }
    if is_shared && !matches!(replacing, Replacing::AsUsual) {
        // One of its names may be outside.
        let several_names = io::Error::from(Errno::MLINK);
        return Err(FileError::during("write", path)(several_names));
    }
    overwrite(&mut file, content).map_err(FileError::during("write", path))
}

/// Returns a name that no one else will choose.
pub(crate) fn random_hex() -> String {
    // The hasher's keys come from the system's random source; names are created exclusively anyway.
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

/// Creates missing directories above `path`; an error names the component that is not a directory.
pub(super) fn make_parents(path: &Path) -> Result<(), FileError> {
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

/// Returns the path at the end of a chain of links; it need not exist.
pub(super) fn follow_links(path: &Path) -> Result<PathBuf, FileError> {
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

/// Opens an existing file for writing, because a rename would also replace a read-only one. Returns what was
/// opened, which may have taken the place of what `stat` describes.
fn writable(path: &Path, target: &Anchor, stat: &Stat) -> Result<(File, Stat), FileError> {
    let file_type = FileType::from_raw_mode(stat.st_mode);
    if file_type.is_dir() {
        let is_a_directory = io::Error::from(Errno::ISDIR);
        return Err(FileError::during("open", path)(is_a_directory));
    }
    require_regular(path, file_type)?;
    let file = target
        .open(OFlags::WRONLY | CAREFULLY)
        .map_err(FileError::during("open", path))?;
    let stat = fstat(&file).map_err(|error| FileError::during("stat", path)(error.into()))?;
    require_regular(path, FileType::from_raw_mode(stat.st_mode))?;
    Ok((file, stat))
}

/// Refuses a file that is protected under another of its names.
fn refuse_protected(path: &Path, file: &File, layout: &Layout) -> Result<(), FileError> {
    let metadata = file.metadata().map_err(FileError::during("stat", path))?;
    match protected_name(layout, &metadata) {
        Some(protected) => Err(FileError::Protected {
            path: path.to_owned(),
            protected,
        }),
        None => Ok(()),
    }
}

/// Creates a temporary file with the owner and permissions of the file it will replace, if
/// possible.
fn stand_in<'a>(target: &'a Anchor, file: &File, stat: &Stat) -> Option<Temporary<'a>> {
    let temporary = Temporary::create(target, Mode::RUSR | Mode::WUSR).ok()?;
    let own = temporary.file.metadata().ok()?;
    if (own.uid(), own.gid()) != (stat.st_uid, stat.st_gid) {
        fchown(&temporary.file, Some(stat.st_uid), Some(stat.st_gid)).ok()?;
    }
    let permissions = Mode::RWXU | Mode::RWXG | Mode::RWXO;
    let mode = Mode::from_raw_mode(stat.st_mode) & permissions;
    fchmod(&temporary.file, mode).ok()?;
    attributes::copy(file, &temporary.file).ok()?;
    Some(temporary)
}

/// Overwrites without a backup, so space is reserved before the old content is lost.
fn overwrite(file: &mut File, content: &[u8]) -> io::Result<()> {
    let length = content.len() as u64;
    if length > file.metadata()?.len() {
        match fallocate(&*file, FallocateFlags::empty(), 0, length) {
            // Not every file system supports it.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    file.write_all(content)?;
    file.set_len(length)?;
    file.sync_data()
}

/// A file next to its destination that disappears unless it is published.
struct Temporary<'a> {
    target: &'a Anchor,
    file: File,
    name: PathBuf,
    published: bool,
}

impl<'a> Temporary<'a> {
    fn create(target: &'a Anchor, mode: Mode) -> io::Result<Self> {
        let name = format!(".zot-{}.tmp", random_hex());
        let name = target.name().with_file_name(name);
        Ok(Self {
            file: target.create_new(&name, mode)?,
            target,
            name,
            published: false,
        })
    }

    fn fill(mut self, content: &[u8]) -> io::Result<Self> {
        self.file.write_all(content)?;
        self.file.sync_data()?;
        Ok(self)
    }

    fn publish(mut self) -> io::Result<()> {
        self.target.put_in_place(&self.name)?;
        self.published = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.published {
            // Nothing more can be done about a file that cannot be removed.
            let _ = self.target.remove(&self.name);
        }
    }
}
