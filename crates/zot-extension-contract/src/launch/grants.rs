//! Resolves the file permissions of a manifest to the paths that are granted.
//!
//! People grant permissions by reading the manifest, so nothing that an extension can change may
//! affect them: no link it may have created, and no directory it is loaded from.

#[cfg(test)]
mod tests;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use zot_process::launch::{Execution, FileAccess};

use super::{LaunchError, Places};
use crate::intercept_record::RECORD_DIRECTORY;
use crate::manifest::{DATA_DIRECTORY, ExecPermission, PathVariables, Permissions, PermittedPath};

/// How many links a path may lead through, as in the kernel.
const MAX_GRANT_LINKS: usize = 40;

/// What stays writable with the project where there are no namespaces, because the kernel's file rules
/// have no exceptions.
pub(super) const PROJECT_GAP: &str = "what it may write in $CWD includes .zot/extensions, from which zot starts extensions without limits";

/// What an extension is granted.
pub(super) struct Grants {
    pub(super) files: FileAccess,
    /// Unix sockets it may connect to.
    pub(super) sockets: Vec<PathBuf>,
    /// Whether [`PROJECT_GAP`] applies.
    pub(super) includes_project_extensions: bool,
    /// Why the working directory must not be written to, if it must not.
    pub(super) read_only_cwd: Option<&'static str>,
    /// zot's own directory, with keys and sessions. Only what is granted in it can be seen.
    pub(super) zot_home: Option<PathBuf>,
    /// What is not granted, and why.
    pub(super) refusals: Vec<String>,
}

/// Grants its own directory for reading, its data directory for writing, and what it requests.
pub(super) fn grants(
    given: &Places<'_>,
    permissions: &Permissions,
    unstated: Execution,
) -> Result<Grants, LaunchError> {
    let data_dir = zot_files::create_private_directory(given.data_dir)
        .and_then(|()| given.data_dir.canonicalize())
        .map_err(|source| LaunchError::DataDirectory {
            path: given.data_dir.to_owned(),
            source,
        })?;
    let home = env::home_dir();
    let places = PathVariables {
        cwd: given.cwd,
        home: home.as_deref(),
        data_dir: &data_dir,
    };
    let directory = canonicalize_existing(given.directory);
    let wanted = permissions.writable(&places);
    let mut own_links: Vec<PathBuf> = wanted
        .iter()
        .filter_map(|wanted| wanted.path().canonicalize().ok())
        .collect();
    own_links.push(data_dir.clone());
    let guarded = Guarded::of(given, &directory, &data_dir);
    let mut refusals = Vec::new();

    let mut write = vec![data_dir.clone()];
    let mut includes_project_extensions = false;
    for wanted in wanted {
        match resolve(&wanted, &own_links).and_then(|path| Ok((guarded.check(&path)?, path))) {
            Ok((with_project, path)) => {
                includes_project_extensions |= with_project;
                write.push(path);
            }
            Err(refusal) => refusals.push(refusal.describe("fs_write", "written", &wanted)),
        }
    }
    let mut read = vec![directory.clone()];
    for wanted in permissions.readable(&places) {
        match resolve(&wanted, &own_links) {
            Ok(path) => read.push(path),
            Err(Refusal::Missing) => {}
            Err(refusal) => refusals.push(refusal.describe("fs_read", "read", &wanted)),
        }
    }
    let mut sockets = Vec::new();
    for wanted in permissions.sockets(&places) {
        match resolve(&wanted, &own_links) {
            Ok(path) => sockets.push(path),
            Err(refusal) => refusals.push(refusal.describe("unix_sockets", "used", &wanted)),
        }
    }
    let mut execute = execution(permissions, unstated);
    if let Execution::Only(programs) = &mut execute {
        *programs = resolve_programs(programs, &directory, &mut refusals);
    }
    Ok(Grants {
        files: FileAccess {
            read,
            write,
            execute,
        },
        sockets,
        includes_project_extensions,
        read_only_cwd: match guarded.check(&guarded.cwd) {
            Err(Refusal::Guarded(what)) => Some(what),
            _ => None,
        },
        zot_home: guarded.zot_home,
        refusals,
    })
}

/// Returns what `permissions` say about programs, or `unstated`.
pub(super) fn execution(permissions: &Permissions, unstated: Execution) -> Execution {
    match &permissions.exec {
        None => unstated,
        Some(ExecPermission::Anything(true)) => Execution::Anything,
        Some(ExecPermission::Anything(false)) => Execution::Only(Vec::new()),
        Some(ExecPermission::Only(programs)) => {
            Execution::Only(programs.iter().map(PathBuf::from).collect())
        }
    }
}

/// Why a path is not granted.
#[derive(Debug, PartialEq, Eq)]
enum Refusal {
    Missing,
    /// A link in a directory that the extension may write to.
    OwnLink(PathBuf),
    /// A link out of the directory that the permission names.
    LeavesBase(PathBuf),
    /// It contains, or is part of, files that would let the extension escape its confinement.
    Guarded(&'static str),
    Unreadable(io::ErrorKind),
}

impl Refusal {
    fn describe(&self, permission: &str, done: &str, wanted: &PermittedPath) -> String {
        let path = wanted.path();
        let path = path.display();
        match self {
            Self::Missing => format!("{permission}: {path} does not exist and cannot be {done}"),
            Self::OwnLink(link) => format!(
                "{permission}: {path} is not granted: {} is a link where the extension may create links",
                link.display()
            ),
            Self::LeavesBase(target) => format!(
                "{permission}: {path} is not granted: it leads to {}, out of the directory it should be in",
                target.display()
            ),
            Self::Guarded(what) => {
                format!(
                    "{permission}: {path} is not granted: it includes {what}; name a narrower directory"
                )
            }
            Self::Unreadable(kind) => format!("{permission}: {path} is not granted: {kind}"),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            kind => Self::Unreadable(kind),
        }
    }
}

/// Returns the path of `wanted` without links.
fn resolve(wanted: &PermittedPath, own_links: &[PathBuf]) -> Result<PathBuf, Refusal> {
    let Some(base) = &wanted.base else {
        return follow(Path::new("/"), &wanted.rest, own_links);
    };
    let base = base.canonicalize()?;
    let path = follow(&base, &wanted.rest, own_links)?;
    if path.starts_with(&base) {
        Ok(path)
    } else {
        Err(Refusal::LeavesBase(path))
    }
}

/// Follows `rest` from `base` as the kernel does, but refuses links inside one of `own_links`.
fn follow(base: &Path, rest: &Path, own_links: &[PathBuf]) -> Result<PathBuf, Refusal> {
    let mut reached = base.to_owned();
    let mut ahead = Vec::new();
    push_components(&mut ahead, rest);
    let mut links = 0;
    while let Some(step) = ahead.pop() {
        if step == ".." {
            reached.pop();
            continue;
        }
        let next = reached.join(step);
        if !fs::symlink_metadata(&next)?.is_symlink() {
            reached = next;
            continue;
        }
        if own_links.iter().any(|place| reached.starts_with(place)) {
            return Err(Refusal::OwnLink(next));
        }
        links += 1;
        if links > MAX_GRANT_LINKS {
            return Err(Refusal::Unreadable(io::ErrorKind::Other));
        }
        let target = fs::read_link(&next)?;
        if target.is_absolute() {
            reached = PathBuf::from("/");
        }
        push_components(&mut ahead, &target);
    }
    Ok(reached)
}

fn push_components(ahead: &mut Vec<OsString>, path: &Path) {
    let steps = path
        .components()
        .rev()
        .filter_map(|component| match component {
            Component::Normal(_) | Component::ParentDir => Some(component.as_os_str().to_owned()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
        });
    ahead.extend(steps);
}

/// Directories that would let an extension escape its confinement if it could write to them.
struct Guarded {
    cwd: PathBuf,
    directory: PathBuf,
    data_dir: PathBuf,
    project: PathBuf,
    zot_home: Option<PathBuf>,
}

impl Guarded {
    fn of(given: &Places<'_>, directory: &Path, data_dir: &Path) -> Self {
        let parent = given.data_dir.parent();
        let zot_home = match parent {
            Some(parent) if parent.ends_with(DATA_DIRECTORY) => parent.parent().map(Path::to_owned),
            _ => env::var_os("ZOT_HOME").map(PathBuf::from),
        };
        Self {
            cwd: canonicalize_existing(given.cwd),
            directory: directory.to_owned(),
            data_dir: data_dir.to_owned(),
            project: canonicalize_existing(&given.cwd.join(".zot").join("extensions")),
            zot_home: zot_home.as_deref().map(canonicalize_existing),
        }
    }

    /// Returns whether `path` includes the project's extensions. It is granted nevertheless, because
    /// most extensions need the project.
    fn check(&self, path: &Path) -> Result<bool, Refusal> {
        if path.starts_with(&self.data_dir) {
            return Ok(false);
        }
        let overlaps = |place: &Path| place.starts_with(path) || path.starts_with(place);
        if let Some(home) = &self.zot_home {
            if home.starts_with(path) {
                return Err(Refusal::Guarded("zot's own directory"));
            }
            if overlaps(&canonicalize_existing(&home.join("extensions"))) {
                return Err(Refusal::Guarded("the directory of your extensions"));
            }
            if overlaps(&canonicalize_existing(&home.join(RECORD_DIRECTORY))) {
                return Err(Refusal::Guarded("the record of extensions that intercept"));
            }
        }
        let includes_cwd = self.cwd.starts_with(path);
        if overlaps(&self.directory) && !(includes_cwd && self.directory.starts_with(&self.project))
        {
            return Err(Refusal::Guarded("the extension's own directory"));
        }
        if overlaps(&self.project) && !includes_cwd {
            return Err(Refusal::Guarded(
                "the directory of the project's extensions",
            ));
        }
        Ok(overlaps(&self.project))
    }
}

/// Resolves the links in the part of `path` that exists.
fn canonicalize_existing(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(existing) = ancestor.canonicalize() {
            let rest = path.strip_prefix(ancestor).unwrap_or(Path::new(""));
            // Joining an empty path would add a trailing slash.
            return existing.join(rest).components().collect();
        }
    }
    path.to_owned()
}

/// Resolves programs given by a relative path, which must be in the extension's directory.
fn resolve_programs(
    programs: &[PathBuf],
    directory: &Path,
    refusals: &mut Vec<String>,
) -> Vec<PathBuf> {
    let mut granted = Vec::new();
    for program in programs {
        if program.is_absolute() || !program.as_os_str().as_encoded_bytes().contains(&b'/') {
            granted.push(program.clone());
            continue;
        }
        let reason = match directory.join(program).canonicalize() {
            Ok(path) if !path.starts_with(directory) => "it leads out of the extension's directory",
            Ok(path) if !is_program(&path) => "it is not an executable file",
            Ok(path) => {
                granted.push(path);
                continue;
            }
            Err(_) => "it does not exist",
        };
        refusals.push(format!(
            "exec: {} is not granted: {reason}",
            program.display()
        ));
    }
    granted
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
