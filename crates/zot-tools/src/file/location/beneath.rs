//! Opens directories without following links.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{Errno, retry_on_intr};

/// How directories on the path are opened. They are not read, so search permission is enough.
#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const STEP: OFlags = OFlags::RDONLY;

const DIRECTORY: OFlags = STEP
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// How often a walk that another process disturbed is repeated.
#[cfg(target_os = "linux")]
const MAX_WALK_ATTEMPTS: usize = 16;

/// Opens the absolute directory `path`, which has no links.
pub(super) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    match at_once(CWD, path, Beneath::No) {
        Some(opened) => opened,
        None => walk(openat(CWD, "/", DIRECTORY, Mode::empty())?, path),
    }
}

/// Opens the directory `path` below `root`, which has no links and no `..`.
pub(super) fn open_beneath(root: OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    if path.as_os_str().is_empty() {
        return Ok(root);
    }
    match at_once(root.as_fd(), path, Beneath::Yes) {
        Some(opened) => opened,
        None => walk(root, path),
    }
}

/// Opens the directory `name`, and creates it if it does not exist.
pub(super) fn open_or_make(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    match open_step(directory, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match rustix::fs::mkdirat(directory, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
        // Another process may have created it first.
        Ok(()) | Err(Errno::EXIST) => open_step(directory, name),
        Err(error) => Err(error.into()),
    }
}

/// Whether a path may only lead below the directory that it starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beneath {
    Yes,
    No,
}

/// Makes tests walk as on systems without a call for all.
#[cfg(test)]
pub(crate) static WITHOUT_OPENAT2: std::sync::atomic::AtomicBool =
    std::sync::atomic::AtomicBool::new(false);

/// Opens a directory in one call; `None` where the system has none for this.
#[cfg(target_os = "linux")]
fn at_once(start: BorrowedFd<'_>, path: &Path, beneath: Beneath) -> Option<io::Result<OwnedFd>> {
    use rustix::fs::{ResolveFlags, openat2};

    #[cfg(test)]
    if WITHOUT_OPENAT2.load(std::sync::atomic::Ordering::Relaxed) {
        return None;
    }
    let mut resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    if beneath == Beneath::Yes {
        resolve |= ResolveFlags::BENEATH;
    }
    for _ in 0..MAX_WALK_ATTEMPTS {
        let opened = retry_on_intr(|| openat2(start, path, DIRECTORY, Mode::empty(), resolve));
        return Some(match opened {
            // A directory was moved during the call.
            Err(Errno::AGAIN) => continue,
            // Old kernels do not have it, and some containers forbid it.
            Err(Errno::NOSYS | Errno::PERM) => return None,
            // As a walk reports a link.
            Err(Errno::LOOP) => Err(Errno::NOTDIR.into()),
            opened => opened.map_err(io::Error::from),
        });
    }
    None
}

#[cfg(not(target_os = "linux"))]
fn at_once(_: BorrowedFd<'_>, _: &Path, _: Beneath) -> Option<io::Result<OwnedFd>> {
    None
}

/// Opens the directory `path` below `directory`, one component at a time.
fn walk(mut directory: OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    for component in path.components() {
        match component {
            Component::Normal(name) => directory = open_step(directory.as_fd(), name)?,
            Component::RootDir | Component::CurDir => {}
            // Never produced by the callers, and never followed.
            Component::ParentDir | Component::Prefix(_) => {
                return Err(Errno::INVAL.into());
            }
        }
    }
    Ok(directory)
}

fn open_step(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    let opened = retry_on_intr(|| openat(directory, name, DIRECTORY, Mode::empty()));
    Ok(opened?)
}
