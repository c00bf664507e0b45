//! Removes directories, however deep they are and whatever their permissions.
//!
//! A program that may write to a directory can make a tree that is deeper than a process can open
//! directories, or recurse. So nothing descends here: a directory that is not empty is moved up to the
//! root of the tree, and removed from there. Three descriptors are open at a time. Links are not followed.

#[cfg(test)]
mod tests;

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// How often a directory is read. Once is enough unless the system skips entries while others are removed,
/// or another process adds some.
const MAX_REMOVAL_PASSES: usize = 8;

/// Removes the directory at `path` with everything in it.
///
/// After an error the rest is still removed, and the first error returned.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let root = open_directory(CWD, path)?;
    remove_open_tree(root.as_fd(), path)
}

/// Removes the directory `root`, whose path is `path`.
pub(crate) fn remove_open_tree(root: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let mut removal = Removal {
        root,
        prefix: format!(".removed-{}-", crate::scratch::random_hex()),
        moved: 0,
        pending: Vec::new(),
        failed: None,
    };
    removal.run();
    match (std::fs::remove_dir(path), removal.failed) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(first)) => Err(first.into()),
        (Err(error), None) => Err(error),
    }
}

/// Opens a directory for reading and makes sure that its owner can change it.
pub(crate) fn open_directory(
    at: BorrowedFd<'_>,
    name: impl rustix::path::Arg + Copy,
) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = || rustix::io::retry_on_intr(|| rustix::fs::openat(at, name, flags, Mode::empty()));
    let opened = match open() {
        Err(Errno::ACCESS) => {
            make_accessible(at, name)?;
            open()
        }
        opened => opened,
    }?;
    let mode = Mode::from_raw_mode(rustix::fs::fstat(&opened)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        rustix::fs::fchmod(&opened, Mode::RWXU)?;
    }
    Ok(opened)
}

/// Gives the owner of a directory all permissions.
#[cfg(target_os = "linux")]
fn make_accessible(at: BorrowedFd<'_>, name: impl rustix::path::Arg) -> Result<(), Errno> {
    use std::os::fd::AsRawFd as _;
    // A directory without permissions cannot be opened otherwise, and such a descriptor be used only so.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = rustix::fs::openat(at, name, flags, Mode::empty())?;
    let itself = format!("/proc/self/fd/{}", found.as_raw_fd());
    rustix::fs::chmod(itself, Mode::RWXU)
}

#[cfg(not(target_os = "linux"))]
fn make_accessible(at: BorrowedFd<'_>, name: impl rustix::path::Arg) -> Result<(), Errno> {
    rustix::fs::chmodat(at, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}

struct Removal<'a> {
    root: BorrowedFd<'a>,
    /// How the names of moved directories begin.
    prefix: String,
    /// How many directories were moved to the root; each is named by the number before it.
    moved: u64,
    /// Those of them that are still there.
    pending: Vec<u64>,
    failed: Option<Errno>,
}

impl Removal<'_> {
    fn run(&mut self) {
        let root = self.root;
        let prepared = rustix::fs::fchmod(root, Mode::RWXU);
        self.note(prepared);
        self.clear(root);
        self.remove_moved();
    }

    fn remove_moved(&mut self) {
        while let Some(number) = self.pending.pop() {
            let name = self.name(number);
            let cleared = open_directory(self.root, name.as_str())
                .map(|directory| self.clear(directory.as_fd()));
            self.note(cleared);
            let removed = rustix::fs::unlinkat(self.root, name, AtFlags::REMOVEDIR);
            self.note(removed);
        }
    }

    fn name(&self, number: u64) -> String {
        format!("{}{number}", self.prefix)
    }

    /// Empties a directory: what cannot be removed at once is moved to the root.
    fn clear(&mut self, directory: BorrowedFd<'_>) {
        for _ in 0..MAX_REMOVAL_PASSES {
            match self.clear_once(directory) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) => return self.note(Err(error)),
            }
        }
    }

    /// Reads a directory to its end, and returns how many entries it got rid of.
    fn clear_once(&mut self, directory: BorrowedFd<'_>) -> Result<usize, Errno> {
        let mut gone = 0;
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            let is_moved = name.to_bytes().starts_with(self.prefix.as_bytes());
            if is_moved || matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            match self.remove_entry(directory, name, entry.file_type()) {
                Ok(()) => gone += 1,
                error => self.note(error),
            }
        }
        Ok(gone)
    }

    fn remove_entry(
        &mut self,
        directory: BorrowedFd<'_>,
        name: &CStr,
        kind: FileType,
    ) -> Result<(), Errno> {
        let kind = match kind {
            // Not every file system tells.
            FileType::Unknown => {
                let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
                FileType::from_raw_mode(found.st_mode)
            }
            kind => kind,
        };
        if kind != FileType::Directory {
            return rustix::fs::unlinkat(directory, name, AtFlags::empty());
        }
        match rustix::fs::unlinkat(directory, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTEMPTY | Errno::EXIST) => self.move_up(directory, name),
            removed => removed,
        }
    }

    fn move_up(&mut self, directory: BorrowedFd<'_>, name: &CStr) -> Result<(), Errno> {
        let target = self.name(self.moved);
        let rename = || rustix::fs::renameat(directory, name, self.root, target.as_str());
        match rename() {
            // A directory that gets another parent must itself be writable.
            Err(Errno::ACCESS) => {
                make_accessible(directory, name)?;
                rename()?;
            }
            renamed => renamed?,
        }
        self.pending.push(self.moved);
        self.moved += 1;
        Ok(())
    }

    /// Keeps the first error. What another process removed at the same time is none.
    fn note(&mut self, done: Result<(), Errno>) {
        if let Err(error) = done
            && error != Errno::NOENT
        {
            self.failed.get_or_insert(error);
        }
    }
}
