//! Renames what a confined program left where it must not leave anything.
//!
//! A path that does not exist cannot be made read-only. The supervisor of the program therefore looks when no
//! process of it is left, so that nothing can interfere; during a long run, this process looks now and then.

use std::ffi::{CStr, CString};
use std::io::Write as _;
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags, chmodat, fstat, openat,
    openat2, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use crate::launch::{FileIdentity, Renamed, Sweeping, Swept};

/// Room for the longest name of the system, and its end.
///
/// Limit: a name with a suffix is not longer than that.
const MAX_SWEPT_NAME_BYTES: usize = 256;

/// The paths to look at, prepared so that a supervisor allocates nothing.
#[derive(Default)]
pub(super) struct Sweep(Arc<Sweeping>);

impl Sweep {
    pub(super) fn new(sweeping: &Arc<Sweeping>) -> Self {
        Self(Arc::clone(sweeping))
    }

    /// Makes system calls only. Links are renamed, and never followed: they may be the program's.
    pub(super) fn carry_out(&self) {
        let directories = &self.0.directories;
        let is_unchanged = |(path, before): &(CString, Option<FileIdentity>)| {
            before.is_some() && found_at(CWD, path) == *before
        };
        if directories.iter().all(is_unchanged) {
            return;
        }
        for (position, entry) in self.0.swept.iter().enumerate() {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let links = ResolveFlags::NO_SYMLINKS;
            let Ok(directory) = openat2(CWD, &*entry.directory, flags, Mode::empty(), links) else {
                continue;
            };
            // A program that runs on could lock us out of the directory.
            let before = open_up(&directory);
            let found = found_at(directory.as_fd(), &entry.name);
            if found.is_some() && found != entry.before {
                self.0.rename(position, |suffix| {
                    match rename(directory.as_fd(), entry, suffix) {
                        Ok(()) => Renamed::Yes,
                        Err(Errno::EXIST) => Renamed::NameIsTaken,
                        Err(_) => {
                            disarm(directory.as_fd(), &entry.name);
                            Renamed::No
                        }
                    }
                });
            }
            if let Some(before) = before {
                let _ = set_mode(&directory, before);
            }
        }
    }
}

/// Gives us the rights to a directory of ours that lacks them. Returns its mode before.
fn open_up(directory: &OwnedFd) -> Option<Mode> {
    let mode = Mode::from_raw_mode(fstat(directory).ok()?.st_mode);
    if mode.contains(Mode::RWXU) {
        return None;
    }
    set_mode(directory, mode | Mode::RWXU).ok()?;
    Some(mode)
}

/// Changes the mode of what `file` refers to, which `fchmod` refuses for a descriptor without rights.
fn set_mode(file: &OwnedFd, mode: Mode) -> rustix::io::Result<()> {
    let mut path = [0; "/proc/self/fd/".len() + 11];
    write!(&mut path[..], "/proc/self/fd/{}", file.as_raw_fd()).map_err(|_| Errno::INVAL)?;
    let path = CStr::from_bytes_until_nul(&path).map_err(|_| Errno::INVAL)?;
    chmodat(CWD, path, mode, AtFlags::empty())
}

fn rename(directory: BorrowedFd<'_>, swept: &Swept, suffix: &[u8]) -> rustix::io::Result<()> {
    let mut renamed = [0; MAX_SWEPT_NAME_BYTES];
    let bytes = swept.kept_name().iter().chain(suffix);
    // The last byte stays the end of the text.
    for (to, from) in renamed.iter_mut().take(MAX_SWEPT_NAME_BYTES - 1).zip(bytes) {
        *to = *from;
    }
    let renamed = CStr::from_bytes_until_nul(&renamed).map_err(|_| Errno::NAMETOOLONG)?;
    let name = &*swept.name;
    match renameat_with(directory, name, directory, renamed, RenameFlags::NOREPLACE) {
        // Some file systems, such as NFS, cannot do that. Nothing has this name: it cannot be guessed.
        Err(Errno::INVAL | Errno::NOSYS) => renameat(directory, name, directory, renamed),
        result => result,
    }
}

/// Makes what cannot be renamed, as on a full disk, useless to others than root. It is reported.
fn disarm(directory: BorrowedFd<'_>, name: &CStr) {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(found) = openat(directory, name, flags, Mode::empty()) else {
        return;
    };
    let is_link =
        fstat(&found).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
    let _ = match is_link {
        true => unlinkat(directory, name, AtFlags::empty()),
        false => set_mode(&found, Mode::empty()),
    };
}

fn found_at(directory: BorrowedFd<'_>, path: &CStr) -> Option<FileIdentity> {
    let stat = statat(directory, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileIdentity {
        device: stat.st_dev,
        inode: stat.st_ino,
        changed: (stat.st_ctime, stat.st_ctime_nsec as i64),
    })
}
