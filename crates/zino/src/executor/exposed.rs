//! Keeps the files of the services away from programs in a sandbox, which could read keys there and change
//! what the services do.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use crate::config::{Config, ExecutorSandbox};
use crate::environment_file::EnvironmentFile;
use crate::kind::ServiceKind;

/// A file of the services that programs in the sandbox could reach.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "[exc] {key} {} holds {what} ({}), which programs in the sandbox could read or change: set {key} to a \
     directory of its own", .directory.display(), .path.display()
)]
pub struct Exposed {
    key: &'static str,
    directory: PathBuf,
    what: String,
    path: PathBuf,
}

/// A directory that programs in the sandbox can change, without links. At `read-only` the working
/// directory is one of these, too: what can be read there matters as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reachable {
    pub(super) key: &'static str,
    pub(super) directory: PathBuf,
}

/// Returns the directories of programs that work in `working_dir`; none without a sandbox.
pub(super) fn reachable(config: &Config, working_dir: &Path) -> Vec<Reachable> {
    if config.exc.sandbox == ExecutorSandbox::Off {
        return Vec::new();
    }
    let written = config.exc.write.iter().filter_map(|path| {
        // A path that does not exist grants nothing.
        let directory = from_working_dir(path, working_dir).canonicalize().ok()?;
        let key = "write";
        Some(Reachable { key, directory })
    });
    let own = Reachable {
        key: "working_dir",
        directory: working_dir.to_owned(),
    };
    std::iter::once(own).chain(written).collect()
}

/// Refuses directories of programs that hold files of the services, whether these exist yet or not.
pub(super) fn check(config: &Config, reachable: &[Reachable]) -> Result<(), Exposed> {
    for (what, path) in belongings(config) {
        for Reachable { key, directory } in reachable {
            if leads_into(&path, directory) {
                return Err(Exposed {
                    key,
                    directory: directory.clone(),
                    what,
                    path,
                });
            }
        }
    }
    Ok(())
}

/// Returns whether `path` is in `directory`, or leads through it: programs that can write there choose what it is.
pub(super) fn leads_into(path: &Path, directory: &Path) -> bool {
    let Ok(absolute) = std::path::absolute(path) else {
        return true;
    };
    let is_directory = |path: &Path| path.canonicalize().is_ok_and(|real| real == directory);
    let is_below = |path: PathBuf| path.starts_with(directory) && path != directory;
    let is_entry = |step: &Path| {
        // The link itself, and what it leads to.
        let link = step.parent().zip(step.file_name());
        let link = link.and_then(|(parent, name)| Some(parent.canonicalize().ok()?.join(name)));
        link.is_some_and(is_below) || step.canonicalize().is_ok_and(is_below)
    };
    is_directory(&absolute) || absolute.ancestors().any(is_entry)
}

/// Resolves a path of `[exc]`.
pub(super) fn from_working_dir(path: &Path, working_dir: &Path) -> PathBuf {
    match path.strip_prefix("~") {
        Ok(rest) => std::env::home_dir().unwrap_or_default().join(rest),
        Err(_) => working_dir.join(path),
    }
}

/// Returns what the services read, write and listen on.
fn belongings(config: &Config) -> Vec<(String, PathBuf)> {
    let file = config.file.iter().cloned();
    let mut all: Vec<(String, PathBuf)> = file
        .map(|path| ("the configuration".to_owned(), path))
        .collect();
    let environment = EnvironmentFile::places(config).into_iter();
    all.extend(environment.map(|path| ("the place of .env".to_owned(), path)));
    for (what, path) in [
        ("the tools", config.tools_dir()),
        ("the skills", config.skills_dir()),
        ("the system prompt", &config.sys.template),
        ("the data of mem", &config.mem.data_dir),
    ] {
        all.push((what.to_owned(), path.to_owned()));
    }
    for (what, path) in [
        ("the key of [tls]", &config.tls.key),
        ("the certificate of [tls]", &config.tls.certificate),
        ("the authority of [tls]", &config.tls.ca),
        ("the nkey of [bus]", &config.bus.nkey),
        ("the credentials of [bus]", &config.bus.credentials),
        ("the authority of [bus]", &config.bus.ca),
        ("the authority of [store]", &config.store.ca),
    ] {
        all.extend(path.iter().map(|path| (what.to_owned(), path.clone())));
    }
    for kind in ServiceKind::ALL {
        all.push((
            format!("the socket of {}", kind.name()),
            config.socket(kind),
        ));
    }
    all
}
