//! Files of the system that only some users may read. A command has no use for them, whoever runs it.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const DIRECTORY: &str = "/etc";

/// How many files of the system are looked at.
///
/// Limit: secrets among further ones can be read, by those who may read them outside.
const MAX_SYSTEM_FILES: usize = 20_000;

/// How many of them are hidden: each is a mount, which every command takes with it.
///
/// Limit: further ones can be read, by those who may read them outside.
const MAX_HIDDEN_SECRETS: usize = 128;

const EVERYBODY_READS: u32 = 0o004;
const EVERYBODY_ENTERS: u32 = 0o005;

/// Returns the files and directories in `/etc` that not everybody may read. Looked up once.
pub(super) fn of_system() -> &'static [PathBuf] {
    static FOUND: OnceLock<Vec<PathBuf>> = OnceLock::new();
    FOUND.get_or_init(|| below(Path::new(DIRECTORY)))
}

fn below(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut ahead = vec![directory.to_owned()];
    let mut left = MAX_SYSTEM_FILES;
    while let Some(directory) = ahead.pop() {
        let Ok(entries) = fs::read_dir(&directory) else {
            continue;
        };
        for entry in entries.flatten().take(left) {
            left -= 1;
            // That of a link is the link's own, which everybody may read.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let mode = metadata.mode();
            let is_secret = match metadata.is_dir() {
                true => mode & EVERYBODY_ENTERS != EVERYBODY_ENTERS,
                false => mode & EVERYBODY_READS == 0,
            };
            if is_secret && found.len() < MAX_HIDDEN_SECRETS {
                found.push(entry.path());
            } else if metadata.is_dir() {
                ahead.push(entry.path());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::below;

    #[test]
    fn what_not_everybody_may_read_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for (name, mode) in [("open", 0o755), ("closed", 0o750)] {
            fs::create_dir(root.join(name)).unwrap();
            for (inner, mode) in [("secret", 0o640), ("known", 0o644)] {
                let path = root.join(name).join(inner);
                fs::write(&path, "x").unwrap();
                fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
            }
            fs::set_permissions(root.join(name), Permissions::from_mode(mode)).unwrap();
        }
        symlink("open/secret", root.join("link")).unwrap();
        let mut found = below(root);
        found.sort();
        assert_eq!(found, [root.join("closed"), root.join("open/secret")]);
    }
}
