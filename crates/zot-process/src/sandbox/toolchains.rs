//! What commands need of the user's home directory at the levels that hide the rest of it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Readable below the home directory, if present: programs that users install there, and their
/// libraries. A token that somebody wrote into the configuration of cargo or git can be read.
pub(super) const TOOLCHAINS: [&str; 28] = [
    // Rust.
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/config",
    ".cargo/env",
    ".rustup",
    // JavaScript.
    ".bun/bin",
    ".deno/bin",
    ".fnm",
    ".local/share/fnm",
    ".nvm",
    ".volta",
    // Python.
    ".local/bin",
    ".local/lib",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".pyenv",
    // Others.
    ".asdf",
    ".gradle/wrapper",
    ".local/share/mise",
    ".rbenv",
    ".rvm",
    ".sdkman",
    "go/bin",
    ".opam",
    // The name and address that commits need.
    ".config/git/attributes",
    ".config/git/config",
    ".config/git/ignore",
    ".gitconfig",
];

/// Packages that were fetched. Where namespaces can show them so, a child may change them, and the
/// changes last as long as the sandbox; elsewhere they can only be read.
pub(super) const CACHES: [&str; 11] = [
    ".cache/go-build",
    ".cache/pip",
    ".cache/uv",
    ".cargo/git",
    ".cargo/registry",
    ".local/share/pnpm",
    ".m2/repository",
    ".npm",
    ".yarn",
    ".bun/install",
    "go/pkg",
];

/// Variables that name the places of toolchains, and what is readable there; an empty name is all of it.
pub(super) const TOOLCHAIN_VARIABLES: [(&str, &[&str]); 6] = [
    (
        "CARGO_HOME",
        &["bin", "config.toml", "env", "git", "registry"],
    ),
    ("RUSTUP_HOME", &[""]),
    ("NVM_DIR", &[""]),
    ("PYENV_ROOT", &[""]),
    ("VIRTUAL_ENV", &[""]),
    ("JAVA_HOME", &[""]),
];

/// What there is of a user's toolchains.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InstalledTools {
    /// What commands can read.
    pub toolchains: Vec<PathBuf>,
    /// Packages, which commands can change for the session where namespaces can show them so.
    pub caches: Vec<PathBuf>,
}

/// Finds the toolchains of the user whose home directory is `home`; `variable` looks up the environment.
pub fn installed_tools(home: &Path, variable: impl Fn(&str) -> Option<OsString>) -> InstalledTools {
    let existing = |names: &[&str]| -> Vec<PathBuf> {
        let paths = names.iter().map(|name| home.join(name));
        paths.filter(|path| path.exists()).collect()
    };
    let mut found = InstalledTools {
        toolchains: existing(&TOOLCHAINS),
        caches: existing(&CACHES),
    };
    for (name, inside) in TOOLCHAIN_VARIABLES {
        let root = variable(name).and_then(|root| Path::new(&root).canonicalize().ok());
        let Some(root) = root.filter(|root| !home.starts_with(root)) else {
            continue;
        };
        for name in inside {
            let Ok(path) = root.join(name).canonicalize() else {
                continue;
            };
            let mut known = found.toolchains.iter().chain(&found.caches);
            let is_known = known.any(|known| {
                let known = known.canonicalize();
                known.is_ok_and(|known| path.starts_with(known))
            });
            if !is_known {
                found.toolchains.push(path);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests;
