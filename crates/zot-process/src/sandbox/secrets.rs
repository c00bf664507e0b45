//! Files of the system that only some users may read. Commands do not need them, not even those of root.
//!
//! They are masked by mounts. The kernel removes such a mount when the file is replaced, as `passwd` does it,
//! and further files appear with time, so every command looks whether something has changed.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::birth::Birth;
use crate::launch::DirectoryWatch;

const DIRECTORY: &str = "/etc";

/// Secrets by their usual names. They are hidden even where everybody may read them.
const NAMED: [&str; 21] = [
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ipsec.secrets",
    "/etc/mysql/debian.cnf",
    "/etc/letsencrypt",
    "/etc/pki/tls/private",
    "/etc/ppp",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/sudoers",
    "/etc/security/opasswd",
    "/etc/krb5.keytab",
    "/etc/NetworkManager/system-connections",
    "/etc/kubernetes",
    "/etc/ssl/private",
    "/etc/sudoers.d",
    "/etc/wireguard",
];

/// Through these, programs that may connect to some socket could ask for the address of any name.
const RESOLVERS: [&str; 2] = [
    "/run/systemd/resolve/io.systemd.Resolve",
    "/run/systemd/resolve/io.systemd.Resolve.Monitor",
];

/// How many files of the system are looked at.
///
/// Limit: secrets among further ones stay readable for users who may read them outside.
const MAX_SYSTEM_FILES: usize = 20_000;

/// How many of them are hidden beside those with usual names: each is a mount, which every command takes with
/// it.
///
/// Limit: further ones stay readable for users who may read them outside.
const MAX_HIDDEN_SECRETS: usize = 128;

const EVERYBODY_READS: u32 = 0o004;
const EVERYBODY_ENTERS: u32 = 0o005;

/// The files and directories in `/etc` that not everybody may read.
#[derive(Debug)]
pub(super) struct Secrets {
    /// Directories come before what is in them.
    found: Vec<(PathBuf, Birth)>,
    /// The directories that were listed. Where they cannot be watched, every command lists them again.
    watch: Option<DirectoryWatch>,
}

impl Secrets {
    /// Returns what there is now. Files are looked at only if a directory has changed.
    pub(super) fn of_system() -> Arc<Self> {
        static FOUND: Mutex<Option<Arc<Secrets>>> = Mutex::new(None);
        let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
        match &*found {
            Some(known) if known.is_current() => Arc::clone(known),
            _ => {
                let named = NAMED.map(Path::new);
                Arc::clone(found.insert(Arc::new(Self::below(Path::new(DIRECTORY), &named))))
            }
        }
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.found.iter().map(|(path, _)| path)
    }

    fn is_current(&self) -> bool {
        let watch = self.watch.as_ref();
        watch.is_some_and(|watch| !watch.has_changed())
    }

    fn below(directory: &Path, named: &[&Path]) -> Self {
        let mut secrets = Self {
            found: Vec::new(),
            watch: DirectoryWatch::new().ok(),
        };
        for path in named {
            // Where a link leads is a secret by itself, or not shown.
            if let Ok(metadata) = path.symlink_metadata()
                && !metadata.is_symlink()
            {
                secrets.add(path.to_path_buf(), &metadata);
            }
        }
        let most = secrets.found.len() + MAX_HIDDEN_SECRETS;
        let mut ahead = vec![directory.to_owned()];
        let mut left = MAX_SYSTEM_FILES;
        while let Some(directory) = ahead.pop() {
            // Before it is listed, so that a change in between is noticed.
            let watch = secrets.watch.take();
            secrets.watch = watch.filter(|watch| watch.add(&directory).is_ok());
            let Ok(entries) = fs::read_dir(&directory) else {
                continue;
            };
            for entry in entries.flatten().take(left) {
                left -= 1;
                // That of a link is the link's own, which everybody may read.
                let Ok(metadata) = entry.metadata() else {
                    continue;
                };
                let path = entry.path();
                // Comparing components costs much more.
                let is_same = |named: &&Path| named.as_os_str() == path.as_os_str();
                if named.iter().any(is_same) {
                    continue;
                }
                let mode = metadata.mode();
                let is_secret = match metadata.is_dir() {
                    true => mode & EVERYBODY_ENTERS != EVERYBODY_ENTERS,
                    false => mode & EVERYBODY_READS == 0,
                };
                if is_secret && secrets.found.len() < most {
                    secrets.add(path, &metadata);
                } else if metadata.is_dir() {
                    ahead.push(path);
                }
            }
        }
        secrets
            .found
            .sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        secrets
    }

    fn add(&mut self, path: PathBuf, metadata: &Metadata) {
        self.found.push((path, Birth::of(metadata)));
    }
}

/// What a view hides, to notice that it shows some of it by now.
#[derive(Debug)]
pub(super) struct Hidden {
    secrets: Arc<Secrets>,
    others: Vec<(PathBuf, Option<Birth>)>,
}

impl Hidden {
    /// Looks at what is hidden beside `directories`. To be called before the view is planned, so that a change
    /// in between is noticed.
    pub(super) fn now(directories: &[PathBuf]) -> Self {
        let others = RESOLVERS.iter().map(PathBuf::from);
        let others = others.chain(directories.iter().cloned());
        Self {
            secrets: Secrets::of_system(),
            others: others
                .map(|path| (path.clone(), Birth::at(&path)))
                .collect(),
        }
    }

    /// Returns whether there is nothing else to hide, and every file is still the one that was hidden.
    pub(super) fn is_current(&mut self) -> bool {
        if self
            .others
            .iter()
            .any(|(path, birth)| Birth::at(path) != *birth)
        {
            return false;
        }
        let secrets = Secrets::of_system();
        let is_same = Arc::ptr_eq(&self.secrets, &secrets) || self.secrets.found == secrets.found;
        if is_same {
            self.secrets = secrets;
        }
        is_same
    }

    /// Returns the paths of the system that are hidden, directories before what is in them.
    pub(super) fn of_system() -> Vec<PathBuf> {
        let resolvers = RESOLVERS.iter().map(PathBuf::from);
        Secrets::of_system()
            .paths()
            .cloned()
            .chain(resolvers)
            .collect()
    }
}

#[cfg(test)]
mod tests;
