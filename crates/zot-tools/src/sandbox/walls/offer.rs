//! What could be allowed of the files that a sandbox refuses.

use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use zot_process::sandbox::{Access, Refusal};

use super::{Walls, is_of_kernel};
use crate::sandbox::Allowance;

/// The longest path that a user is asked about, in characters: it has to be shown in full.
///
/// Limit: a longer path is not offered.
const MAX_OFFERED_CHARACTERS: usize = 300;

/// What helps against a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// The user can allow this.
    Allow(Allowance),
    /// The user may not do this either, so that it would fail outside of the sandbox as well.
    BeyondUser(Allowance),
}

impl Walls {
    /// Returns what would let a command use the file that it calls `path`, if the sandbox is what refuses
    /// it. A file that is only to be read is not allowed to be changed.
    pub(crate) fn refusal_of(&self, path: &Path, is_change: bool) -> Option<Remedy> {
        let target = self.follow(path).0;
        if self.is_masked(&target) {
            return None;
        }
        let admits = |access| self.layout.admit(&target, access, true);
        let access = match is_change || admits(Access::Read).is_ok() {
            true => Access::Write,
            false => Access::Read,
        };
        match (admits(access).err()?, access) {
            (Refusal::Protected, _) => self.offered(&self.protection(&target)?, access),
            (_, Access::Write) if !target.exists() => self.offered(target.parent()?, access),
            _ => self.offered(&target, access),
        }
    }

    /// Returns the file with secrets that a command calls `path`, if it is one.
    pub(crate) fn masked(&self, path: &Path) -> Option<PathBuf> {
        Some(self.follow(path).0).filter(|target| self.is_masked(target))
    }

    /// Returns what would show a command the file that it calls `path`, if it exists and the sandbox
    /// hides it.
    pub(crate) fn hidden(&self, path: &Path, is_change: bool) -> Option<Remedy> {
        let mut target = self.follow(path).0;
        if is_change && !target.exists() {
            target.pop();
        }
        if self.is_masked(&target) {
            return None;
        }
        let is_hidden = match self.layout.admit(&target, Access::Read, true) {
            Ok(_) => !self.layout.real(&target).exists(),
            Err(_) => true,
        };
        let access = match is_change {
            true => Access::Write,
            false => Access::Read,
        };
        match is_hidden && target.exists() {
            true => self.offered(&target, access),
            false => None,
        }
    }

    /// Returns the file of the user that a command means by a path in its own home directory, where that is at
    /// another path than the user's.
    pub(crate) fn meant_in_user_home(&self, path: &Path) -> Option<PathBuf> {
        let inside = path.strip_prefix(self.home.as_deref()?).ok()?;
        let meant = self.user_home.as_ref()?.join(inside);
        let is_other = !self.has_view && self.home != self.user_home && !path.exists();
        Some(meant).filter(|meant| is_other && meant.exists())
    }

    /// Returns whether a command can read the file that it calls `path`.
    pub(crate) fn can_read(&self, path: &Path) -> bool {
        let target = self.follow(path).0;
        self.layout.admit(&target, Access::Read, true).is_ok()
    }

    /// Returns the file that a command calls `path`, if it is the command's to change, but not to start.
    pub(crate) fn not_executable(&self, path: &Path) -> Option<PathBuf> {
        let target = self.follow(path).0;
        self.layout.admit(&target, Access::Write, true).ok()?;
        let real = self.layout.real(&target);
        let found = real.metadata().ok()?;
        let is_program = found.is_file() && found.permissions().mode() & 0o111 == 0;
        // One that cannot be read or changed has another problem.
        let wanted = rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK;
        let is_own = rustix::fs::access(&real, wanted).is_ok();
        Some(target)
            .filter(|target| is_program && is_own && target.to_str().is_some_and(is_shown_in_full))
    }

    /// Returns the program that a command calls `name`, if rules allow only others.
    pub(crate) fn refused_program(&self, name: &str, cwd: &Path) -> Option<PathBuf> {
        let allowed = self.rules.run.as_ref()?;
        let found = find_program(name, cwd)?;
        let resolved = found.canonicalize().ok()?;
        let is_allowed = allowed.iter().any(|program| {
            let program = find_program(program.to_str().unwrap_or_default(), &self.directory);
            program.and_then(|path| path.canonicalize().ok()) == Some(resolved.clone())
        });
        Some(found).filter(|found| !is_allowed && found.to_str().is_some_and(is_shown_in_full))
    }

    /// Returns the socket at `path`, if rules do not allow connecting to it and the user may.
    pub(crate) fn refused_socket(&self, path: &Path) -> Option<PathBuf> {
        let path = path.canonicalize().ok().filter(|path| is_socket(path))?;
        let mut allowed = self.rules.unix_sockets.iter();
        let is_allowed = allowed.any(|socket| {
            let socket = self.directory.join(socket);
            socket.canonicalize().is_ok_and(|socket| socket == path)
        });
        // The kernel asks for this right before it connects.
        let is_users = rustix::fs::access(&path, rustix::fs::Access::WRITE_OK).is_ok();
        Some(path)
            .filter(|path| !is_allowed && is_users && path.to_str().is_some_and(is_shown_in_full))
    }

    /// Returns whether a rule for a path would open up far more than anybody needs.
    pub(super) fn is_too_much(&self, path: &Path) -> bool {
        let contains = |inner: Option<&PathBuf>| inner.is_some_and(|inner| inner.starts_with(path));
        path.parent().is_none()
            || contains(Some(&self.directory)) && path != self.directory
            || contains(self.user_home.as_ref())
            || is_of_kernel(path)
    }

    /// Returns the allowance for a path, unless it is too much for a quick question or cannot be shown as it
    /// is.
    pub(super) fn offered(&self, path: &Path, access: Access) -> Option<Remedy> {
        let (wanted, allowance): (_, fn(PathBuf) -> Allowance) = match access {
            Access::Read => (rustix::fs::Access::READ_OK, Allowance::Read),
            Access::Write => (rustix::fs::Access::WRITE_OK, Allowance::Write),
        };
        // What is shown is what will be allowed, not a link to it.
        let resolved = match path.canonicalize() {
            Ok(resolved) => resolved,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let is_shown = path.to_str().is_some_and(is_shown_in_full);
                return is_shown.then(|| Remedy::BeyondUser(allowance(path.to_owned())));
            }
            Err(_) => return None,
        };
        if !is_shown_in_full(resolved.to_str()?) || is_socket(&resolved) {
            return None;
        }
        if rustix::fs::access(&resolved, wanted).is_err() {
            return Some(Remedy::BeyondUser(allowance(resolved)));
        }
        (!self.is_too_much(&resolved)).then(|| Remedy::Allow(allowance(resolved)))
    }
}

fn is_shown_in_full(path: &str) -> bool {
    path.chars().all(is_plain) && path.chars().count() <= MAX_OFFERED_CHARACTERS
}

fn is_socket(path: &Path) -> bool {
    let found = path.metadata();
    found.is_ok_and(|found| found.file_type().is_socket())
}

/// Returns the file that a command means by the name of a program.
fn find_program(name: &str, cwd: &Path) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        let found = path.metadata();
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return Some(cwd.join(name)).filter(is_program);
    }
    let search_path = std::env::var_os("PATH")?;
    let mut paths = std::env::split_paths(&search_path).map(|directory| directory.join(name));
    paths.find(is_program)
}

/// Returns whether a character looks like itself: not a control character, nor one that hides or reorders
/// others.
pub(crate) fn is_plain(character: char) -> bool {
    let is_invisible = matches!(
        character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    );
    !character.is_control() && !is_invisible
}
