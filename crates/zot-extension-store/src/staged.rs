//! An extension that is fetched and checked but not yet installed.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use zot_extension_contract::Manifest;

use crate::directory::TemporaryDirectory;
use crate::store::{Store, StoreError};

/// What to do about an installed extension of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    Refuse,
    Replace,
}

/// An extension ready to be installed; dropping it removes what was fetched.
#[derive(Debug)]
pub struct Staged {
    store: Store,
    temporary: TemporaryDirectory,
    directory: PathBuf,
    manifest: Manifest,
}

impl Staged {
    pub(crate) fn new(
        store: Store,
        temporary: TemporaryDirectory,
        directory: PathBuf,
        manifest: Manifest,
    ) -> Self {
        Self {
            store,
            temporary,
            directory,
            manifest,
        }
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the directory of the installed extension of the same name.
    pub fn installed_directory(&self) -> Option<PathBuf> {
        self.store.find(&self.manifest.name)
    }

    /// Fails if an extension of this name is installed and must not be replaced.
    pub fn check_conflict(&self, on_conflict: OnConflict) -> Result<(), StoreError> {
        match self.installed_directory() {
            Some(directory) if on_conflict == OnConflict::Refuse => {
                Err(StoreError::AlreadyInstalled {
                    name: self.manifest.name.clone(),
                    directory,
                })
            }
            _ => Ok(()),
        }
    }

    /// Moves it into place in one step; an extension that it replaces stays until then.
    pub fn install(self, on_conflict: OnConflict) -> Result<PathBuf, StoreError> {
        self.check_conflict(on_conflict)?;
        let target = self.store.directory().join(&self.manifest.name);
        match self.installed_directory() {
            Some(old) if old == target => {
                let aside = self.temporary.path().join("replaced");
                exchange(&self.directory, &target, &aside)?;
            }
            Some(old) => {
                // Installed in a directory of another name: it must not shadow the new one.
                move_new(&self.directory, &target)?;
                let aside = self.temporary.path().join("replaced");
                fs::rename(&old, &aside).map_err(StoreError::io(&old))?;
            }
            None => move_new(&self.directory, &target)?,
        }
        Ok(target)
    }
}

/// Moves `from` to `to`, which must not exist.
fn move_new(from: &Path, to: &Path) -> Result<(), StoreError> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system supports this; a directory that is not empty is safe anyway.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            fs::rename(from, to).map_err(StoreError::io(to))
        }
        result => result.map_err(|error| StoreError::io(to)(error.into())),
    }
}

/// Swaps `new` and `old`; where that is not possible in one step, `old` is moved to `aside`.
fn exchange(new: &Path, old: &Path, aside: &Path) -> Result<(), StoreError> {
    match renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE) {
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
        result => return result.map_err(|error| StoreError::io(old)(error.into())),
    }
    fs::rename(old, aside).map_err(StoreError::io(old))?;
    fs::rename(new, old).map_err(|error| {
        // Restore the old one; if even that fails, nothing more can be done.
        let _ = fs::rename(aside, old);
        StoreError::io(old)(error)
    })
}
