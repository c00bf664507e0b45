//! Finds the files that a program needs to start, the way the kernel and `env` look for them.
//!
//! The kernel requires the right to execute a script, its interpreter, and the loader of a dynamically
//! linked program. Shims of version managers start further programs.

mod elf;
mod shebang;
mod shim;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::regular::open_regular;

/// The longest chain of interpreters; the kernel itself follows five.
///
/// Limit: needed files are followed no further: a confined program may fail to start.
const MAX_INTERPRETER_DEPTH: usize = 8;

/// Where an installation keeps what its programs load, relative to its root. Not the whole root: that
/// of `~/.local/bin` or `~/.cargo/bin` also holds secrets.
const INSTALLED: [&str; 6] = ["lib", "lib32", "lib64", "libexec", "ssl", "pyvenv.cfg"];

/// Returns every file that must be executable for `program` to start: itself, the interpreters of
/// scripts (through `env` and the shims of version managers), and dynamic loaders. Symbolic links are
/// resolved.
///
/// A name without a slash is looked up in `search_path`. Missing files are left out.
pub fn programs_needed(program: &Path, search_path: &OsStr) -> Vec<PathBuf> {
    let surroundings = Surroundings {
        search_path,
        directory: None,
        home: std::env::home_dir(),
    };
    let mut needs = Needs::default();
    needs.add(program, &surroundings);
    needs.execute
}

/// Where programs are looked up.
pub(super) struct Surroundings<'a> {
    pub(super) search_path: &'a OsStr,
    /// The program's directory, if it differs from ours.
    pub(super) directory: Option<&'a Path>,
    /// Never made readable as a whole, even if a program is installed in it.
    pub(super) home: Option<PathBuf>,
}

impl Surroundings<'_> {
    fn is_home_or_above(&self, path: &Path) -> bool {
        let home = self.home.as_deref();
        home.is_some_and(|home| home.starts_with(path))
    }
}

/// What programs need to start.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// Files, with links resolved.
    pub(super) execute: Vec<PathBuf>,
    /// Other files and directories, which must be readable.
    pub(super) read: Vec<PathBuf>,
    /// Links under which programs were found.
    pub(super) links: Vec<PathBuf>,
    /// Names and paths of programs that have been handled.
    known: Vec<PathBuf>,
}

impl Needs {
    pub(super) fn add(&mut self, program: &Path, surroundings: &Surroundings<'_>) {
        self.add_at(program, surroundings, MAX_INTERPRETER_DEPTH);
    }

    fn add_at(&mut self, program: &Path, surroundings: &Surroundings<'_>, depth: usize) {
        if self.known.iter().any(|known| known == program) {
            return;
        }
        self.known.push(program.to_owned());
        let Some(found) = find(program, surroundings) else {
            return;
        };
        let Ok(resolved) = found.canonicalize() else {
            return;
        };
        if found != resolved && found.is_absolute() {
            self.links.push(found.clone());
        }
        // The link leads to a virtual environment, its target to the libraries.
        self.add_installation(&found, surroundings);
        self.add_installation(&resolved, surroundings);
        let mut next = Vec::new();
        // By the link as well: one shim may serve many names.
        if let Some(shim) = shim::Shim::at(&found)
            && !surroundings.is_home_or_above(&shim.root)
        {
            next = shim.programs();
            if !self.read.contains(&shim.root) {
                self.read.push(shim.root);
            }
        }
        if !self.execute.contains(&resolved) {
            next.extend(referenced_programs(&resolved));
            self.execute.push(resolved);
        }
        if let Some(depth) = depth.checked_sub(1) {
            for program in next {
                self.add_at(&program, surroundings, depth);
            }
        }
    }

    fn add_installation(&mut self, program: &Path, surroundings: &Surroundings<'_>) {
        let Some(directory) = program.parent() else {
            return;
        };
        let name = directory.file_name().map(OsStrExt::as_bytes);
        if !matches!(name, Some(b"bin" | b"sbin" | b"libexec")) {
            return;
        }
        let Some(root) = directory.parent() else {
            return;
        };
        if surroundings.is_home_or_above(root) {
            return;
        }
        let Ok(resolved_root) = root.canonicalize() else {
            return;
        };
        for name in INSTALLED {
            // A link out of the installation could lead anywhere.
            let path = root.join(name).canonicalize();
            if let Ok(path) = path
                && path.starts_with(&resolved_root)
                && !self.read.contains(&path)
            {
                self.read.push(path);
            }
        }
    }
}

/// Finds the file that starts `program`.
fn find(program: &Path, surroundings: &Surroundings<'_>) -> Option<PathBuf> {
    let in_directory = |path: &Path| match surroundings.directory {
        Some(directory) => directory.join(path),
        None => path.to_owned(),
    };
    if program.as_os_str().as_bytes().contains(&b'/') {
        // Another file could be a secret that a link or a shebang line leads to.
        return Some(in_directory(program)).filter(|path| is_executable(path));
    }
    std::env::split_paths(surroundings.search_path)
        .map(|directory| in_directory(&directory.join(program)))
        .find(|path| is_executable(path))
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// Returns the programs that a file names: its interpreters or its loader.
fn referenced_programs(path: &Path) -> Vec<PathBuf> {
    let Ok(file) = open_regular(path) else {
        return Vec::new();
    };
    let mut head = [0; shebang::MAX_SHEBANG_BYTES];
    let length = file.read_at(&mut head, 0).unwrap_or(0);
    let head = &head[..length];
    if head.starts_with(b"#!") {
        shebang::programs(head)
    } else {
        elf::loader(file).into_iter().collect()
    }
}

#[cfg(test)]
mod tests;
