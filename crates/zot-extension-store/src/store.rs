//! What `$ZOT_HOME/extensions` holds, and how an extension gets in and out.

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use zot_extension_contract::{
    InterceptRecord, MANIFEST_FILE, Manifest, ManifestError, NameError, ProgramError, SearchPaths,
    check_name, check_program, discover, log_path,
};

use crate::directory::{TemporaryDirectory, remove_abandoned};
use crate::git::{self, Git, GitError};
use crate::origin::Origin;
use crate::staged::Staged;
use crate::{copy, enabled};

/// The extensions below one `$ZOT_HOME`.
#[derive(Debug, Clone)]
pub struct Store {
    home: PathBuf,
    /// Variables that `git` does not get.
    withheld: Vec<String>,
}

/// Whether an extension is enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    On,
    Off,
}

/// The result of enabling or disabling an extension.
#[derive(Debug, PartialEq, Eq)]
pub enum Switched {
    Changed,
    /// Nothing had to be changed.
    Already,
    /// Its manifest is invalid, so it is not loaded anyway; the record that it intercepted in its last
    /// run was removed. Holds the problem with the manifest.
    Forgotten(String),
}

/// Why an operation of the store failed. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("no extension called {name:?} in {}: see `zot ext list`", .directory.display())]
    NotInstalled { name: String, directory: PathBuf },
    #[error(
        "{name:?} is already installed in {}: use --force to replace it", .directory.display()
    )]
    AlreadyInstalled { name: String, directory: PathBuf },
    #[error("{origin} holds no {MANIFEST_FILE}: it is not an extension")]
    NoManifest { origin: String },
    #[error("{origin}: {error}")]
    Manifest {
        origin: String,
        #[source]
        error: ManifestError,
    },
    #[error("{origin}: {error}")]
    Program {
        origin: String,
        #[source]
        error: ProgramError,
    },
    #[error(
        "{} contains the directory that extensions are installed in: name the extension's own directory",
        .0.display()
    )]
    HoldsTheStore(PathBuf),
    #[error("{}: the link leads out of the extension ({}): links must stay inside", .link.display(), .target.display())]
    LinkLeavesDirectory { link: PathBuf, target: PathBuf },
    #[error("{}: the link leads nowhere ({})", .link.display(), .target.display())]
    LinkIsBroken { link: PathBuf, target: PathBuf },
    #[error("{}: not a file, directory or link: it cannot be copied", .0.display())]
    SpecialFile(PathBuf),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{}: {error}", .path.display())]
    Io {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
}

impl StoreError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Io { path, error }
    }
}

impl Store {
    /// Returns the store in `home` (`$ZOT_HOME`).
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self {
            home: home.into(),
            withheld: Vec::new(),
        }
    }

    /// Keeps these variables, which hold keys, from `git` and what it starts.
    #[must_use]
    pub fn withholding(self, withheld: Vec<String>) -> Self {
        Self { withheld, ..self }
    }

    /// Returns the directory that holds a directory for each extension.
    pub fn directory(&self) -> PathBuf {
        self.home.join("extensions")
    }

    /// Returns the file that the standard error of the extension `name` goes to.
    pub fn log_file(&self, name: &str) -> Result<PathBuf, NameError> {
        check_name(name)?;
        Ok(log_path(&self.home, name))
    }

    /// Returns the directory of the installed extension `name`. Its manifest may be invalid.
    pub fn directory_of(&self, name: &str) -> Result<PathBuf, StoreError> {
        check_name(name)?;
        self.find(name).ok_or_else(|| StoreError::NotInstalled {
            name: name.to_owned(),
            directory: self.directory(),
        })
    }

    /// Fetches an extension and checks it; [`Staged::install`] installs it. `progress` is called with
    /// a description of each step. Dropping the future or its result leaves nothing behind.
    pub async fn stage(
        &self,
        origin: &Origin,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Staged, StoreError> {
        let store = self.directory();
        zot_files::create_private_directory(&store).map_err(StoreError::io(&store))?;
        remove_abandoned(&store);
        let temporary = TemporaryDirectory::new_in(&store).map_err(StoreError::io(&store))?;
        let directory = temporary.path().join("extension");
        match origin {
            Origin::Directory(source) => {
                let source = fs::canonicalize(source).map_err(StoreError::io(source))?;
                let holds_the_store = fs::canonicalize(&store)
                    .map_err(StoreError::io(&store))?
                    .starts_with(&source);
                if holds_the_store {
                    return Err(StoreError::HoldsTheStore(source));
                }
                // Checked before anything is copied: the directory may be a whole home directory.
                load(&source, origin)?;
                progress(&format!("copying {}", source.display()));
                let copied = copy::copy_directory(&source, &directory).await?;
                progress(&format!("copied {} files", copied.files));
            }
            Origin::Git { url, reference } => {
                let checkout = temporary.path().join("checkout");
                let program = Git::new(self.withheld.clone())?;
                git::clone(&program, url, reference.as_deref(), &checkout, progress).await?;
                load(&checkout, origin)?;
                copy::copy_directory(&checkout, &directory).await?;
                fs::remove_dir_all(&checkout).map_err(StoreError::io(&checkout))?;
            }
        }
        let manifest = load(&directory, origin)?;
        check_program(&manifest, &directory).map_err(|error| StoreError::Program {
            origin: origin.to_string(),
            error,
        })?;
        Ok(Staged::new(self.clone(), temporary, directory, manifest))
    }

    /// Deletes the extension `name`; if it is a link, only the link is removed.
    pub fn remove(&self, name: &str) -> Result<PathBuf, StoreError> {
        let directory = self.directory_of(name)?;
        let store = self.directory();
        // Hidden in one step, so that an interrupted removal does not leave half of it visible.
        let temporary = TemporaryDirectory::new_in(&store).map_err(StoreError::io(&store))?;
        let hidden = temporary.path().join("removed");
        self.forget(&directory)?;
        fs::rename(&directory, &hidden).map_err(StoreError::io(&directory))?;
        temporary.remove().map_err(StoreError::io(&directory))?;
        Ok(directory)
    }

    /// Enables or disables an extension in its manifest.
    pub fn switch(&self, name: &str, switch: Switch) -> Result<Switched, StoreError> {
        let directory = self.directory_of(name)?;
        let record = InterceptRecord::new(&self.home);
        let intercepted = record.contains(&directory);
        if switch == Switch::Off {
            self.forget(&directory)?;
        }
        match enabled::set(&directory, switch) {
            Err(error)
                if intercepted && switch == Switch::Off && Manifest::load(&directory).is_err() =>
            {
                Ok(Switched::Forgotten(error.to_string()))
            }
            result => result,
        }
    }

    /// Removes the record that the extension intercepted, so that prompts run without it.
    fn forget(&self, directory: &Path) -> Result<(), StoreError> {
        let record = InterceptRecord::new(&self.home);
        record.forget(directory).map_err(StoreError::io(directory))
    }

    pub(crate) fn find(&self, name: &str) -> Option<PathBuf> {
        let directory = self.directory().join(name);
        if fs::symlink_metadata(&directory).is_ok() {
            return Some(directory);
        }
        // Installed by hand, in a directory of another name.
        let paths = SearchPaths {
            global: Some(self.directory()),
            ..SearchPaths::default()
        };
        let found = discover(&paths).found;
        let named = found.into_iter().find(|found| found.manifest.name == name);
        named.map(|found| found.directory)
    }
}

/// Reads a manifest; errors name the origin, not the temporary path.
fn load(directory: &Path, origin: &Origin) -> Result<Manifest, StoreError> {
    Manifest::load(directory).map_err(|error| match error {
        ManifestError::Missing(_) => StoreError::NoManifest {
            origin: origin.to_string(),
        },
        error => StoreError::Manifest {
            origin: origin.to_string(),
            error,
        },
    })
}
