//! Finds extensions, and decides which of them are used.

#[cfg(test)]
mod tests;

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::intercept_record::InterceptRecord;
use crate::manifest::{FailurePolicy, MANIFEST_FILE, Manifest, PartialManifest};

/// Where to look for extensions, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchPaths {
    /// Extensions named one by one (`--ext`).
    pub explicit: Vec<PathBuf>,
    /// Directories of extensions: `./.zot/extensions`, then `$ZOT_HOME/extensions`.
    pub project: Option<PathBuf>,
    pub global: Option<PathBuf>,
    /// Directories of extensions that intercepted in their last run, without links: no extension of a
    /// project can replace them.
    pub interceptors: Vec<PathBuf>,
}

impl SearchPaths {
    /// Returns the standard paths for an agent in `cwd`.
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
pub struct FoundExtension {
    pub manifest: Manifest,
    /// Absolute.
    pub directory: PathBuf,
    pub source: Source,
    pub activation: Activation,
}

/// Whether an extension is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activation {
    Enabled,
    /// Disabled in its manifest.
    Disabled,
    /// Another of the same name was found first.
    Shadowed {
        by: PathBuf,
    },
}

/// An extension that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadProblem {
    pub path: PathBuf,
    pub error: String,
    pub source: Source,
    /// Whether its manifest sets `required`, as far as it can be read.
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

/// The result of a search.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Discovery {
    pub found: Vec<FoundExtension>,
    pub problems: Vec<LoadProblem>,
}

impl Discovery {
    /// Returns the extensions to start.
    pub fn enabled(&self) -> impl Iterator<Item = &FoundExtension> {
        self.found
            .iter()
            .filter(|found| found.activation == Activation::Enabled)
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
                let activation = self.activation_of(&manifest, &directory, source, interceptors);
                self.found.push(FoundExtension {
                    manifest,
                    directory,
                    source,
                    activation,
                });
            }
            Err(error) => {
                let partial = PartialManifest::load(path);
                self.problems.push(LoadProblem {
                    is_required: partial.is_required,
                    is_disabled: partial.is_disabled,
                    ..LoadProblem::new(path.to_owned(), source, error)
                });
            }
        }
    }

    fn activation_of(
        &mut self,
        manifest: &Manifest,
        directory: &Path,
        source: Source,
        interceptors: &[PathBuf],
    ) -> Activation {
        let is_guard = || {
            manifest.on_failure == FailurePolicy::Block
                || manifest.required
                || fs::canonicalize(directory)
                    .is_ok_and(|directory| interceptors.contains(&directory))
        };
        if source == Source::Global && manifest.enabled && is_guard() {
            self.shadow_in_project(&manifest.name, directory);
        }
        let first = self.found.iter().find(|found| {
            found.manifest.name == manifest.name
                && !matches!(found.activation, Activation::Shadowed { .. })
        });
        match first {
            Some(first) => Activation::Shadowed {
                by: first.directory.clone(),
            },
            None if manifest.enabled => Activation::Enabled,
            None => Activation::Disabled,
        }
    }

    /// Shadows extensions of the project that have the name of a guard: downloading a project must
    /// not switch off a guard.
    fn shadow_in_project(&mut self, name: &str, guard: &Path) {
        let of_project = self
            .found
            .iter_mut()
            .filter(|found| found.source == Source::Project && found.manifest.name == name);
        for found in of_project {
            // One shadowed by the command line shadows nothing, and in the directory that contains
            // `$ZOT_HOME` both are the same extension.
            let is_hidden = matches!(found.activation, Activation::Shadowed { .. });
            if is_hidden || is_same_directory(&found.directory, guard) {
                continue;
            }
            found.activation = Activation::Shadowed {
                by: guard.to_owned(),
            };
            let error = format!(
                "the project's {name:?} is not used: yours in {} guards tool calls and cannot be replaced by a project",
                guard.display()
            );
            let problem = LoadProblem::new(found.directory.clone(), Source::Project, error);
            self.problems.push(LoadProblem {
                // A replaced extension is not required to run.
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

/// Looks for extensions. The first one of a name is used, within a directory in order of file names;
/// but no extension of a project replaces a global one that is required, blocks when it fails, or
/// intercepted in its last run.
pub fn discover(paths: &SearchPaths) -> Discovery {
    let mut discovery = Discovery::default();
    for path in &paths.explicit {
        // The path may name the manifest instead of its directory.
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

/// Returns the directories in `root` that have a manifest, sorted.
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
        // Unfinished installations are hidden, and a directory without a manifest is not an
        // extension. One that cannot be read may hold a guard.
        if !hidden && directory.join(MANIFEST_FILE).try_exists().unwrap_or(true) {
            directories.push(directory);
        }
    }
    directories.sort();
    Ok(directories)
}
