//! What could be allowed of the files that a sandbox refuses.

use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use zot_process::sandbox::{Access, Refusal};

use super::{Walls, is_of_kernel};
use crate::sandbox::Allowance;

/// The longest path that a user is asked about, in characters: it has to be shown in full.
///
/// Limit: a longer path is not offered.
const MAX_OFFERED_CHARACTERS: usize = 300;

impl Walls {
    /// Returns what would let a command use the file that it calls `path`, if the sandbox is what refuses
    /// it. A file that is only to be read is not allowed to be changed.
    pub(crate) fn refusal_of(&self, path: &Path, is_change: bool) -> Option<Allowance> {
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
    pub(crate) fn hidden(&self, path: &Path, is_change: bool) -> Option<Allowance> {
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

    /// Returns the socket at `path`, if rules do not allow connecting to it.
    pub(crate) fn refused_socket(&self, path: &Path) -> Option<PathBuf> {
        let path = path.canonicalize().ok().filter(|path| is_socket(path))?;
        let mut allowed = self.rules.unix_sockets.iter();
        let is_allowed = allowed.any(|socket| {
            let socket = self.directory.join(socket);
            socket.canonicalize().is_ok_and(|socket| socket == path)
        });
        Some(path).filter(|path| !is_allowed && path.to_str().is_some_and(is_shown_in_full))
    }

    /// Returns whether a rule for a path would open up far more than anybody needs.
    pub(super) fn is_too_much(&self, path: &Path) -> bool {
        let contains = |inner: Option<&PathBuf>| inner.is_some_and(|inner| inner.starts_with(path));
        path.parent().is_none()
            || contains(Some(&self.directory)) && path != self.directory
            || contains(self.user_home.as_ref())
            || is_of_kernel(path)
    }

    /// Returns the allowance for a path, unless it is too much for a quick question, cannot be shown as it
    /// is, or would not help because the user may not use it either.
    fn offered(&self, path: &Path, access: Access) -> Option<Allowance> {
        // What is shown is what will be allowed, not a link to it.
        let path = path.canonicalize().ok()?;
        let text = path.to_str()?;
        if !is_shown_in_full(text) || self.is_too_much(&path) || is_socket(&path) {
            return None;
        }
        let (wanted, allowance) = match access {
            Access::Read => (rustix::fs::Access::READ_OK, Allowance::Read(path)),
            Access::Write => (rustix::fs::Access::WRITE_OK, Allowance::Write(path)),
        };
        let (Allowance::Read(path) | Allowance::Write(path)) = &allowance else {
            return None;
        };
        rustix::fs::access(path, wanted).ok()?;
        Some(allowance)
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
