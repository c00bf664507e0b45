//! An extension that is fetched and checked but not yet installed.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use zot_extension_contract::Manifest;

use crate::directory::TemporaryDirectory;
use crate::store::{Store, StoreError};

/// What to do about an installed extension of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfTaken {
    Refuse,
    Replace,
}

/// Ready to be installed; dropping it removes what was fetched.
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

    /// The directory of the installed extension of the same name.
    pub fn taken_by(&self) -> Option<PathBuf> {
        self.store.find(&self.manifest.name)
    }

    /// Fails when it may not be put in place because the name is taken.
    pub fn check_taken(&self, if_taken: IfTaken) -> Result<(), StoreError> {
        match self.taken_by() {
            Some(directory) if if_taken == IfTaken::Refuse => Err(StoreError::Taken {
                name: self.manifest.name.clone(),
                directory,
            }),
            _ => Ok(()),
        }
    }

    /// Moves it to its place in one step; one that it replaces stays until then.
    pub fn put_in_place(self, if_taken: IfTaken) -> Result<PathBuf, StoreError> {
        self.check_taken(if_taken)?;
        let place = self.store.directory().join(&self.manifest.name);
        match self.taken_by() {
            Some(old) if old == place => {
                let aside = self.temporary.path().join("replaced");
                exchange(&self.directory, &place, &aside)?;
            }
            Some(old) => {
                // In a directory of another name: it must not shadow the new one.
                move_new(&self.directory, &place)?;
                let aside = self.temporary.path().join("replaced");
                fs::rename(&old, &aside).map_err(StoreError::io(&old))?;
            }
            None => move_new(&self.directory, &place)?,
        }
        Ok(place)
    }
}

/// Moves `from` to `to`, where nothing may be.
fn move_new(from: &Path, to: &Path) -> Result<(), StoreError> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // Not every file system can promise it; a directory that holds something is safe anyway.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            fs::rename(from, to).map_err(StoreError::io(to))
        }
        result => result.map_err(|error| StoreError::io(to)(error.into())),
    }
}

/// Lets `new` and `old` change places; where that cannot be done in one step, `old` goes `aside`.
fn exchange(new: &Path, old: &Path, aside: &Path) -> Result<(), StoreError> {
    match renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE) {
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {}
        result => return result.map_err(|error| StoreError::io(old)(error.into())),
    }
    fs::rename(old, aside).map_err(StoreError::io(old))?;
    fs::rename(new, old).map_err(|error| {
        // Back to where it was; there is nothing more to be done if even that fails.
        let _ = fs::rename(aside, old);
        StoreError::io(old)(error)
    })
}
