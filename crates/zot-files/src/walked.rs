//! A file reached from the root without following links, and replaced or removed only if it is still
//! the same file.

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{FallocateFlags, FileType, OFlags, RenameFlags, Stat, fallocate};
use rustix::io::Errno;

use crate::directory::Directory;

/// Why a file was not used. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    #[error("expected an absolute path without \"..\"")]
    NotAbsolute,
    #[error("{} is a symbolic link, and links are not followed here", .0.display())]
    Link(PathBuf),
    #[error("{} is not a directory", .0.display())]
    NotADirectory(PathBuf),
    #[error("another file replaced it at this moment")]
    Exchanged,
    #[error("it has more than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error(transparent)]
    System(#[from] io::Error),
}

impl WalkError {
    /// Whether the path leads to something other than the expected file, as opposed to an error of
    /// the system.
    pub fn is_another_file(&self) -> bool {
        match self {
            Self::System(error) => error.kind() == io::ErrorKind::InvalidInput,
            Self::TooLarge { .. } => false,
            Self::NotAbsolute | Self::Link(_) | Self::NotADirectory(_) | Self::Exchanged => true,
        }
    }
}

/// Identifies a file regardless of its name and content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileIdentity {
    pub device: u64,
    pub inode: u64,
}

impl FileIdentity {
    #[allow(
        clippy::unnecessary_cast,
        reason = "the types of `Stat` differ between systems"
    )]
    fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
        }
    }
}

/// How a file gets its new content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replacement {
    /// A new file gets the name; other hard links keep the old content.
    Rename,
    /// The file itself is overwritten, for all its hard links.
    InPlace,
}

/// The path of a file, and the regular file found there, held open.
#[derive(Debug)]
pub struct WalkedFile {
    path: PathBuf,
    /// `None` if a directory of the path is missing.
    directory: Option<Directory>,
    found: Option<(File, Stat)>,
}

impl WalkedFile {
    /// Walks to `path`. A link in the path, or anything but a regular file at its end, is an error;
    /// a missing file is not.
    pub fn find(path: &Path) -> Result<Self, WalkError> {
        let name = checked_name(path)?;
        let directory = walk(path, |directory, name| directory.enter(name))?;
        let found = match &directory {
            Some(directory) => directory
                .open_with_metadata(Path::new(name), OFlags::RDONLY)
                .map_err(|error| explain(directory, Path::new(name), path, error))?,
            None => None,
        };
        Ok(Self {
            path: path.to_owned(),
            directory,
            found,
        })
    }

    pub fn exists(&self) -> bool {
        self.found.is_some()
    }

    pub fn identity(&self) -> Option<FileIdentity> {
        Some(FileIdentity::of(&self.found.as_ref()?.1))
    }

    /// Returns the number of hard links.
    #[allow(
        clippy::unnecessary_cast,
        reason = "the types of `Stat` differ between systems"
    )]
    pub fn links(&self) -> u64 {
        let found = self.found.as_ref();
        found.map_or(0, |(_, stat)| stat.st_nlink as u64)
    }

    /// Returns the permissions of the file.
    #[allow(
        clippy::unnecessary_cast,
        reason = "the types of `Stat` differ between systems"
    )]
    pub fn mode(&self) -> Option<u32> {
        let (_, stat) = self.found.as_ref()?;
        Some(stat.st_mode as u32 & 0o7777)
    }

    /// Reads the file; `None` if it is missing.
    pub fn content(&mut self, limit: u64) -> Result<Option<Vec<u8>>, WalkError> {
        let Some((file, _)) = &mut self.found else {
            return Ok(None);
        };
        let mut content = Vec::new();
        file.take(limit.saturating_add(1))
            .read_to_end(&mut content)?;
        match content.len() as u64 > limit {
            true => Err(WalkError::TooLarge { limit }),
            false => Ok(Some(content)),
        }
    }

    /// Writes `content` to the file. A missing file is created, with `mode` or the process's default,
    /// along with its directories; an existing one keeps its owner and permissions.
    pub fn replace(
        self,
        content: &[u8],
        replacement: Replacement,
        mode: Option<u32>,
    ) -> Result<(), WalkError> {
        let name = checked_name(&self.path)?;
        let Some((_, stat)) = &self.found else {
            let directory = match self.directory {
                Some(directory) => directory,
                None => create_directories(&self.path)?,
            };
            return create(&directory, name, content, mode);
        };
        let directory = self.directory.as_ref().ok_or(WalkError::Exchanged)?;
        let checked = FileIdentity::of(stat);
        // A rename would also replace a file without write permission.
        let mut writable = open_same(directory, name, checked)?;
        if replacement == Replacement::InPlace {
            return Ok(overwrite(&mut writable, content)?);
        }
        match Temporary::like(directory, stat) {
            Some(temporary) => temporary.fill(content)?.exchange(name, checked),
            // The directory is not writable, or the owner cannot be kept.
            None if self.links() <= 1 => Ok(overwrite(&mut writable, content)?),
            None => Err(io::Error::from(Errno::PERM).into()),
        }
    }

    /// Removes the file.
    pub fn remove(self) -> Result<(), WalkError> {
        let name = checked_name(&self.path)?;
        let (Some(directory), Some((_, stat))) = (&self.directory, &self.found) else {
            return Ok(());
        };
        let aside = temporary_name();
        directory.rename(name, &aside)?;
        if holds(directory, &aside, FileIdentity::of(stat))? {
            return Ok(directory.remove(&aside)?);
        }
        // A file that was swapped in is put back, unless its name is in use again.
        match directory.rename_with(&aside, name, RenameFlags::NOREPLACE) {
            Err(error) if is_unsupported(error) => directory.rename(&aside, name)?,
            put_back => put_back.map_err(io::Error::from)?,
        }
        Err(WalkError::Exchanged)
    }
}

/// Opens a regular file by a path without links. Fails with `NotFound` if it does not exist.
pub fn open_walked(path: &Path) -> Result<File, WalkError> {
    match WalkedFile::find(path)?.found {
        Some((file, _)) => Ok(file),
        None => Err(io::Error::from(Errno::NOENT).into()),
    }
}

/// Returns the last component of a path that can be walked.
fn checked_name(path: &Path) -> Result<&OsStr, WalkError> {
    let is_plain = |component| matches!(component, Component::RootDir | Component::Normal(_));
    match path.file_name() {
        Some(name) if path.is_absolute() && path.components().all(is_plain) => Ok(name),
        _ => Err(WalkError::NotAbsolute),
    }
}

/// Walks to the parent directory of `path`, one `step` at a time; `None` if one is missing.
fn walk(
    path: &Path,
    step: impl Fn(&Directory, &Path) -> io::Result<Directory>,
) -> Result<Option<Directory>, WalkError> {
    let mut directory = Directory::root()?;
    let mut walked = PathBuf::from("/");
    let above = path.parent().into_iter().flat_map(Path::components);
    for component in above.filter(|component| *component != Component::RootDir) {
        let name = Path::new(component.as_os_str());
        walked.push(name);
        directory = match step(&directory, name) {
            Ok(next) => next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(explain(&directory, name, &walked, error)),
        };
    }
    Ok(Some(directory))
}

fn create_directories(path: &Path) -> Result<Directory, WalkError> {
    let created = walk(path, |directory, name| {
        directory.enter_or_create(name, 0o777)
    })?;
    created.ok_or_else(|| io::Error::from(Errno::NOENT).into())
}

/// Names the component that stopped the walk.
fn explain(directory: &Directory, name: &Path, walked: &Path, error: io::Error) -> WalkError {
    let Ok(Some(stat)) = directory.stat(name) else {
        return error.into();
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => WalkError::Link(walked.to_owned()),
        _ if error.raw_os_error() == Some(Errno::NOTDIR.raw_os_error()) => {
            WalkError::NotADirectory(walked.to_owned())
        }
        _ => error.into(),
    }
}

/// Opens the file that was checked, for writing.
fn open_same(
    directory: &Directory,
    name: &OsStr,
    checked: FileIdentity,
) -> Result<File, WalkError> {
    match directory.open_with_metadata(Path::new(name), OFlags::WRONLY)? {
        Some((file, stat)) if FileIdentity::of(&stat) == checked => Ok(file),
        _ => Err(WalkError::Exchanged),
    }
}

fn holds(directory: &Directory, name: &OsStr, expected: FileIdentity) -> io::Result<bool> {
    let found = directory.stat(name)?;
    Ok(found.is_some_and(|stat| FileIdentity::of(&stat) == expected))
}

fn create(
    directory: &Directory,
    name: &OsStr,
    content: &[u8],
    mode: Option<u32>,
) -> Result<(), WalkError> {
    let created = match mode {
        Some(_) => 0o600,
        None => 0o666,
    };
    let mut temporary = Temporary::create(directory, created)?.fill(content)?;
    if let Some(mode) = mode {
        let permissions = Permissions::from_mode(mode & 0o777);
        temporary.file.set_permissions(permissions)?;
    }
    match directory.rename_with(&temporary.name, name, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Err(WalkError::Exchanged),
        Err(error) if is_unsupported(error) => {
            if directory.stat(name)?.is_some() {
                return Err(WalkError::Exchanged);
            }
            directory.rename(&temporary.name, name)?;
        }
        Err(error) => return Err(io::Error::from(error).into()),
    }
    temporary.is_gone = true;
    Ok(())
}

/// Overwrites without a backup, so space is reserved before the old content is lost.
fn overwrite(file: &mut File, content: &[u8]) -> io::Result<()> {
    let length = content.len() as u64;
    if length > file.metadata()?.len() {
        match fallocate(&*file, FallocateFlags::empty(), 0, length) {
            // Not every file system supports this.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
            Err(error) => return Err(error.into()),
        }
    }
    file.write_all(content)?;
    file.set_len(length)?;
    file.sync_data()
}

/// Whether the file system lacks conditional renames.
fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

fn temporary_name() -> OsString {
    // The hasher's keys come from the system's random source; names are created exclusively anyway.
    let random = RandomState::new().hash_one(std::process::id());
    format!(".zot-{random:016x}.tmp").into()
}

/// A file next to its destination, removed unless it replaces that.
struct Temporary<'a> {
    directory: &'a Directory,
    file: File,
    name: OsString,
    is_gone: bool,
}

impl<'a> Temporary<'a> {
    fn create(directory: &'a Directory, mode: u32) -> io::Result<Self> {
        let name = temporary_name();
        Ok(Self {
            file: directory.create_new(&name, mode)?,
            directory,
            name,
            is_gone: false,
        })
    }

    /// Creates one with the owner and permissions of the file it will replace, if possible.
    #[allow(
        clippy::unnecessary_cast,
        reason = "the types of `Stat` differ between systems"
    )]
    fn like(directory: &'a Directory, stat: &Stat) -> Option<Self> {
        let temporary = Self::create(directory, 0o600).ok()?;
        let own = temporary.file.metadata().ok()?;
        if (own.uid(), own.gid()) != (stat.st_uid, stat.st_gid) {
            fchown(&temporary.file, Some(stat.st_uid), Some(stat.st_gid)).ok()?;
        }
        let mode = Permissions::from_mode(stat.st_mode as u32 & 0o777);
        temporary.file.set_permissions(mode).ok()?;
        Some(temporary)
    }

    fn fill(mut self, content: &[u8]) -> io::Result<Self> {
        self.file.write_all(content)?;
        self.file.sync_data()?;
        Ok(self)
    }

    /// Replaces the file `name`, if it is still the `checked` one.
    fn exchange(mut self, name: &OsStr, checked: FileIdentity) -> Result<(), WalkError> {
        let exchange = RenameFlags::EXCHANGE;
        match self.directory.rename_with(&self.name, name, exchange) {
            Ok(()) if holds(self.directory, &self.name, checked)? => {
                // The temporary name now belongs to the old file, which is removed on drop.
                return Ok(());
            }
            Ok(()) => {
                let back = self.directory.rename_with(&self.name, name, exchange);
                // A file that was swapped in is not ours to remove.
                self.is_gone = back.is_err();
                return Err(WalkError::Exchanged);
            }
            Err(error) if is_unsupported(error) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        if !holds(self.directory, name, checked)? {
            return Err(WalkError::Exchanged);
        }
        self.directory.rename(&self.name, name)?;
        self.is_gone = true;
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_gone {
            let _ = self.directory.remove(&self.name);
        }
    }
}
