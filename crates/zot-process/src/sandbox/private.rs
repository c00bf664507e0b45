//! Makes mount points and links in directories that a child may have written to before: nothing there is
//! followed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, mkdirat, openat, statat, symlinkat};
use rustix::io::Errno;

const DIRECTORY_MODE: Mode = Mode::RWXU
    .union(Mode::RGRP)
    .union(Mode::XGRP)
    .union(Mode::ROTH)
    .union(Mode::XOTH);

/// Makes the directory `inside` below `root`, with those on the way.
pub(super) fn directory(root: &Path, inside: &Path) -> io::Result<()> {
    walk(root, inside).map(drop)
}

/// Makes the empty file `inside` below `root`, unless there is a file that is no link.
pub(super) fn file(root: &Path, inside: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (inside.parent(), inside.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let directory = walk(root, parent)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    match openat(&directory, name, flags, Mode::RUSR | Mode::WUSR) {
        Ok(_) => Ok(()),
        Err(Errno::EXIST) => {
            let found = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Symlink | FileType::Directory => Err(Errno::EXIST.into()),
                _ => Ok(()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

/// Makes the link `inside` below `root`, unless something is there.
pub(super) fn link(root: &Path, inside: &Path, target: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (inside.parent(), inside.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // Where a child has put something else, the link is left out.
    let Ok(directory) = walk(root, parent) else {
        return Ok(());
    };
    match symlinkat(target, &directory, name) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens `inside` step by step, and makes what is missing. A link on the way is an error.
fn walk(root: &Path, inside: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut reached = openat(CWD, root, flags, Mode::empty())?;
    for step in inside.components() {
        let Component::Normal(name) = step else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        match mkdirat(reached.as_fd(), name, DIRECTORY_MODE) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        reached = openat(reached.as_fd(), name, flags, Mode::empty())?;
    }
    Ok(reached)
}
