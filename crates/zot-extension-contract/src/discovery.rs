//! Which extensions there are, and which of them count.

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::intercept_record::InterceptRecord;
use crate::manifest::{FailurePolicy, Glimpse, MANIFEST_FILE, Manifest};

/// Where to look, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchPaths {
    /// Extensions named one by one (`--ext`).
    pub explicit: Vec<PathBuf>,
    /// Directories of extensions: `./.zot/extensions`, then `$ZOT_HOME/extensions`.
    pub project: Option<PathBuf>,
    pub global: Option<PathBuf>,
    /// Directories of extensions that intercepted in their last run, without links: no extension of a
    /// project takes their place.
    pub interceptors: Vec<PathBuf>,
}

impl SearchPaths {
    /// The directories every zot looks at, for an agent in `cwd`.
    pub fn usual(cwd: &Path, home: &Path) -> Self {
        Self {
            explicit: Vec::new(),
            project: Some(cwd.join(".zot").join("extensions")),
            global: Some(home.join("extensions")),
            interceptors: InterceptRecord::new(home).directories(),
        }
    }
}

/// Where an extension was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    CommandLine,
    Project,
    Global,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CommandLine => "--ext",
            Self::Project => "project",
            Self::Global => "global",
        }
    }
}

/// An extension whose manifest could be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub manifest: Manifest,
    /// Absolute.
    pub directory: PathBuf,
    pub source: Source,
    pub standing: Standing,
}

/// Whether an extension is to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Enabled,
    /// Its manifest says so.
    Disabled,
    /// Another of the same name was found first.
    Shadowed {
        by: PathBuf,
    },
}

/// Something that looks like an extension but cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadProblem {
    pub path: PathBuf,
    pub error: String,
    pub source: Source,
    /// Whether its manifest says so, although it cannot be used.
    pub is_required: bool,
    pub is_disabled: bool,
}

impl LoadProblem {
    pub fn new(path: PathBuf, source: Source, error: String) -> Self {
        Self {
            path,
            error,
            source,
            is_required: false,
            is_disabled: false,
        }
    }
}

impl fmt::Display for LoadProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "extension load: {}: {}",
            self.path.display(),
            self.error
        )
    }
}

/// What a search found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Discovery {
    pub found: Vec<Found>,
    pub problems: Vec<LoadProblem>,
}

impl Discovery {
    /// The extensions to start.
    pub fn enabled(&self) -> impl Iterator<Item = &Found> {
        self.found
            .iter()
            .filter(|found| found.standing == Standing::Enabled)
    }

    fn add(&mut self, path: &Path, source: Source, interceptors: &[PathBuf]) {
        let loaded = std::path::absolute(path)
            .map_err(|error| error.to_string())
            .and_then(|directory| {
                let manifest = Manifest::load(&directory).map_err(|error| error.to_string())?;
                Ok((directory, manifest))
            });
        match loaded {
            Ok((directory, manifest)) => {
                let standing = self.standing(&manifest, &directory, source, interceptors);
                self.found.push(Found {
                    manifest,
                    directory,
                    source,
                    standing,
                });
            }
            Err(error) => {
                let glimpse = Glimpse::of(path);
                self.problems.push(LoadProblem {
                    is_required: glimpse.is_required,
                    is_disabled: glimpse.is_disabled,
                    ..LoadProblem::new(path.to_owned(), source, error)
                });
            }
        }
    }

    fn standing(
        &mut self,
        manifest: &Manifest,
        directory: &Path,
        source: Source,
        interceptors: &[PathBuf],
    ) -> Standing {
        let is_guard = || {
            manifest.on_failure == FailurePolicy::Block
                || manifest.required
                || fs::canonicalize(directory)
                    .is_ok_and(|directory| interceptors.contains(&directory))
        };
        if source == Source::Global && manifest.enabled && is_guard() {
            self.give_way(&manifest.name, directory);
        }
        let first = self.found.iter().find(|found| {
            found.manifest.name == manifest.name
                && !matches!(found.standing, Standing::Shadowed { .. })
        });
        match first {
            Some(first) => Standing::Shadowed {
                by: first.directory.clone(),
            },
            None if manifest.enabled => Standing::Enabled,
            None => Standing::Disabled,
        }
    }

    /// Takes the name from extensions of the project: who downloads a project does not mean to
    /// switch off a guard.
    fn give_way(&mut self, name: &str, guard: &Path) {
        let of_project = self
            .found
            .iter_mut()
            .filter(|found| found.source == Source::Project && found.manifest.name == name);
        for found in of_project {
            // One that is hidden by the command line hides nothing, and in the directory that holds
            // zot's own the two are one.
            let is_hidden = matches!(found.standing, Standing::Shadowed { .. });
            if is_hidden || is_same_directory(&found.directory, guard) {
                continue;
            }
            found.standing = Standing::Shadowed {
                by: guard.to_owned(),
            };
            let error = format!(
                "the project's {name:?} is not used: yours in {} guards tool calls, and cannot be replaced by a project",
                guard.display()
            );
            let problem = LoadProblem::new(found.directory.clone(), Source::Project, error);
            self.problems.push(LoadProblem {
                // What is replaced does not have to run.
                is_disabled: true,
                ..problem
            });
        }
    }
}

fn is_same_directory(one: &Path, other: &Path) -> bool {
    one == other
        || fs::canonicalize(one)
            .is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

/// Looks for extensions. The first of a name wins, in a directory in order of file names; but no
/// extension of a project wins against a global one that is required, blocks when it fails, or
/// intercepted in its last run.
pub fn discover(paths: &SearchPaths) -> Discovery {
    let mut discovery = Discovery::default();
    for path in &paths.explicit {
        // The manifest itself may be named instead of its root.
        let directory = match path.file_name() {
            Some(name) if name == MANIFEST_FILE => path.parent().unwrap_or(path),
            _ => path,
        };
        let directory = match directory.as_os_str().is_empty() {
            true => Path::new("."),
            false => directory,
        };
        discovery.add(directory, Source::CommandLine, &paths.interceptors);
    }
    let roots = [
        (&paths.project, Source::Project),
        (&paths.global, Source::Global),
    ];
    for (root, source) in roots {
        let Some(root) = root else { continue };
        match extensions_in(root) {
            Ok(directories) => {
                for directory in directories {
                    discovery.add(&directory, source, &paths.interceptors);
                }
            }
            Err(error) => {
                let problem = LoadProblem::new(root.clone(), source, error.to_string());
                discovery.problems.push(problem);
            }
        }
    }
    discovery
}

/// The roots in `root` that have a manifest, sorted.
fn extensions_in(root: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut directories = Vec::new();
    for entry in entries {
        let directory = entry?.path();
        let hidden = directory
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        // Half an installation is hidden, and a root without a manifest is something else. One that
        // cannot be looked into may hold a guard.
        if !hidden && directory.join(MANIFEST_FILE).try_exists().unwrap_or(true) {
            directories.push(directory);
        }
    }
    directories.sort();
    Ok(directories)
}
