//! What could be allowed of the files that a sandbox refuses.

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

    /// Returns what would show a command the file that it calls `path`, if it exists and the sandbox
    /// hides it.
    pub(crate) fn hidden(&self, path: &Path, is_change: bool) -> Option<Allowance> {
        let mut target = self.follow(path).0;
        if is_change && !target.exists() {
            target.pop();
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
        let is_shown_in_full =
            text.chars().all(is_plain) && text.chars().count() <= MAX_OFFERED_CHARACTERS;
        if !is_shown_in_full || self.is_too_much(&path) {
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
