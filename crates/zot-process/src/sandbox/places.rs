//! Decides which places a sandbox has, by its policy and its surroundings.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::layout::{Access, Layout, Place};
use super::policy::Level;
use super::toolchains::{CACHES, TOOLCHAIN_VARIABLES, TOOLCHAINS};
use super::{Policy, SandboxError, Surroundings, protected};
use crate::launch::{FileAccess, SYSTEM_FILES};

/// Files of the system with secrets, which root could read. They appear to be empty.
const MASKED: [&str; 12] = [
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

/// Where programs read the limits of their control group, and what only the newer kind has there.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";
const UNIFIED_MARK: &str = "/sys/fs/cgroup/cgroup.controllers";

/// The directories of a sandbox in its scratch directory.
#[derive(Debug, Clone)]
pub(super) struct Scratch {
    pub(super) temporary: PathBuf,
    pub(super) home: PathBuf,
    shared_memory: PathBuf,
    empty: PathBuf,
}

impl Scratch {
    /// Makes the directories.
    pub(super) fn new(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let made = |name: &str, mode: u32| {
            let path = root.join(name);
            fs::create_dir_all(&path)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
            io::Result::Ok(path)
        };
        Ok(Self {
            temporary: made("tmp", 0o1777)?,
            home: made("home", 0o700)?,
            shared_memory: made("shm", 0o1777)?,
            empty: made("empty", 0o755)?,
        })
    }
}

/// What a sandbox shows of the files.
#[derive(Debug, Clone)]
pub(super) struct Places {
    pub(super) layout: Layout,
    /// What a child calls its home directory and its temporary one.
    pub(super) home: PathBuf,
    pub(super) temporary: PathBuf,
}

/// Collects the places of a level. `needed` are files that the programs of the sandbox need to start.
pub(super) fn of(
    policy: &Policy,
    surroundings: &Surroundings,
    scratch: &Scratch,
    needed: &[PathBuf],
    has_view: bool,
) -> Result<Places, SandboxError> {
    let failed = |source| SandboxError::Workspace {
        path: surroundings.workspace.clone(),
        source,
    };
    let workspace = surroundings.workspace.canonicalize().map_err(failed)?;
    let home = surroundings
        .home
        .as_ref()
        .and_then(|home| home.canonicalize().ok());
    let rules = Paths {
        workspace: &workspace,
        home: home.as_deref(),
    };
    let mut collected = Collected::default();
    collected.add_private(scratch, home.as_deref(), has_view, Access::Write);
    collected.add_system(needed);
    if let Some(home) = &home {
        collected.add_toolchains(home, scratch, has_view);
    }
    let readable = surroundings
        .readable
        .iter()
        .filter_map(|path| path.canonicalize().ok());
    for path in readable.chain(rules.existing(&policy.rules.read)) {
        collected.add(path, Access::Read, false);
    }
    for path in rules.existing(&policy.rules.unix_sockets) {
        collected.add(path, Access::Read, false);
    }
    let writable = rules.existing(&policy.rules.write);
    collected.add(
        workspace.clone(),
        match policy.level {
            Level::ReadOnly => Access::Read,
            Level::Off | Level::Workspace => Access::Write,
        },
        false,
    );
    for path in &writable {
        collected.add(path.clone(), Access::Write, false);
    }
    if has_view {
        collected.add_masks(scratch);
    }
    let mut protected = Vec::new();
    let roots = (policy.level != Level::ReadOnly).then_some(&workspace);
    let named = rules.named(&policy.rules.write);
    for root in roots.into_iter().chain(&writable) {
        protected.extend(protected::below(root, &named));
    }
    protected.extend(protected::targets_of_links(&protected));
    protected.sort_unstable();
    protected.dedup();
    Ok(collected.into_places(scratch, home, protected, has_view))
}

/// Collects the places of somebody who has listed every file.
pub(super) fn exact(
    access: &FileAccess,
    surroundings: &Surroundings,
    scratch: &Scratch,
    needed: &[PathBuf],
    has_view: bool,
) -> Places {
    let home = surroundings
        .home
        .as_ref()
        .and_then(|home| home.canonicalize().ok());
    let mut collected = Collected::default();
    // Files that nobody asked for must not be lost in a home that is removed in the end.
    collected.add_private(scratch, home.as_deref(), has_view, Access::Read);
    collected.add_system(needed);
    for path in surroundings.readable.iter().chain(&access.read) {
        collected.add(path.clone(), Access::Read, false);
    }
    let mut protected = Vec::new();
    for path in &access.write {
        collected.add(path.clone(), Access::Write, false);
        protected.extend(protected::below(path, &access.write));
    }
    if has_view {
        collected.add_masks(scratch);
    }
    collected.into_places(scratch, home, protected, has_view)
}

/// Resolves the paths of rules.
struct Paths<'a> {
    workspace: &'a Path,
    home: Option<&'a Path>,
}

impl Paths<'_> {
    /// Returns those of `paths` that exist, without links. What does not exist cannot be mounted.
    fn existing(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let paths = paths.iter().map(|path| self.expanded(path));
        paths.filter_map(|path| path.canonicalize().ok()).collect()
    }

    /// Returns `paths` without links in the part that exists: what a rule names may be created later.
    fn named(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let named = |path: &PathBuf| {
            let path = self.expanded(path);
            if let Ok(path) = path.canonicalize() {
                return Some(path);
            }
            let directory = path.parent()?.canonicalize().ok()?;
            Some(directory.join(path.file_name()?))
        };
        paths.iter().filter_map(named).collect()
    }

    fn expanded(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => self.workspace.join(path),
        }
    }
}

#[derive(Default)]
struct Collected(Vec<Place>);

impl Collected {
    fn add(&mut self, path: PathBuf, access: Access, is_system: bool) {
        self.0.push(Place {
            shown: path.clone(),
            real: path,
            access,
            is_system,
            is_overlaid: false,
        });
    }

    fn add_system(&mut self, needed: &[PathBuf]) {
        for path in SYSTEM_FILES {
            // The older kind of control groups is a dozen file systems, which programs do not need.
            let is_older = path == CONTROL_GROUPS && !Path::new(UNIFIED_MARK).exists();
            if let Ok(path) = Path::new(path).canonicalize()
                && !is_older
            {
                self.add(path, Access::Read, true);
            }
        }
        for path in needed {
            self.add(path.clone(), Access::Read, true);
        }
    }

    /// Adds the directories of the sandbox itself: at the usual paths where a view can show them there.
    fn add_private(
        &mut self,
        scratch: &Scratch,
        home: Option<&Path>,
        has_view: bool,
        home_access: Access,
    ) {
        let mut add = |shown: &Path, real: &Path, access: Access| {
            self.0.push(Place {
                shown: if has_view { shown } else { real }.to_owned(),
                real: real.to_owned(),
                access,
                is_system: false,
                is_overlaid: false,
            });
        };
        add(Path::new("/tmp"), &scratch.temporary, Access::Write);
        if has_view {
            add(Path::new("/var/tmp"), &scratch.temporary, Access::Write);
            add(Path::new("/dev/shm"), &scratch.shared_memory, Access::Write);
        }
        match home {
            // Not over the system.
            Some(home) if home.parent().is_some() => add(home, &scratch.home, home_access),
            _ => add(&scratch.home, &scratch.home, home_access),
        }
    }

    fn add_toolchains(&mut self, home: &Path, scratch: &Scratch, has_view: bool) {
        let toolchains = TOOLCHAINS.iter().map(|name| (*name, false));
        for (name, is_overlaid) in toolchains.chain(CACHES.iter().map(|name| (*name, true))) {
            let shown = home.join(name);
            let Ok(real) = shown.canonicalize() else {
                continue;
            };
            if has_view {
                self.0.push(Place {
                    shown,
                    real,
                    access: Access::Read,
                    is_system: true,
                    is_overlaid,
                });
                continue;
            }
            self.add(real.clone(), Access::Read, true);
            let link = scratch.home.join(name);
            // A program that looks in its home finds it there; what was there before stays.
            if let Some(parent) = link.parent()
                && fs::create_dir_all(parent).is_ok()
            {
                let _ = symlink(&real, &link);
            }
        }
        for (variable, names) in TOOLCHAIN_VARIABLES {
            let root = std::env::var_os(variable).map(PathBuf::from);
            // The home directory itself is never part of this.
            let root = root.filter(|root| root.is_absolute() && !home.starts_with(root));
            for name in names.iter().filter(|_| root.is_some()) {
                let path = root.iter().map(|root| root.join(name)).next();
                if let Some(path) = path.and_then(|path| path.canonicalize().ok()) {
                    self.add(path, Access::Read, true);
                }
            }
        }
    }

    fn add_masks(&mut self, scratch: &Scratch) {
        for path in MASKED {
            let Ok(found) = fs::symlink_metadata(path) else {
                continue;
            };
            let real = match found.is_dir() {
                true => scratch.empty.clone(),
                false => PathBuf::from("/dev/null"),
            };
            self.0.push(Place {
                shown: PathBuf::from(path),
                real,
                access: Access::Read,
                is_system: true,
                is_overlaid: false,
            });
        }
    }

    fn into_places(
        self,
        scratch: &Scratch,
        home: Option<PathBuf>,
        protected: Vec<PathBuf>,
        has_view: bool,
    ) -> Places {
        let places = without_needless(self.0);
        let temporary = match has_view {
            true => PathBuf::from("/tmp"),
            false => scratch.temporary.clone(),
        };
        let home = match home {
            Some(home) if has_view => home,
            _ => scratch.home.clone(),
        };
        Places {
            layout: Layout::new(places, protected),
            home,
            temporary,
        }
    }
}

/// Leaves out what another place already shows: rules allow, they never forbid.
fn without_needless(places: Vec<Place>) -> Vec<Place> {
    let is_needless = |place: &Place| {
        let is_mask = place.shown != place.real && place.access == Access::Read;
        let covers = |outer: &Place| {
            let is_same = outer.shown == place.shown;
            let is_enough = outer.access == Access::Write
                || (!outer.is_overlaid
                    && !place.is_overlaid
                    && place.access == Access::Read
                    && outer.is_system == place.is_system);
            outer.shown == outer.real
                && place.shown.starts_with(&outer.shown)
                && is_enough
                && (!is_same || (outer.access == Access::Write && place.access == Access::Read))
        };
        !is_mask && places.iter().any(covers)
    };
    let kept: Vec<bool> = places.iter().map(|place| !is_needless(place)).collect();
    let kept = places.into_iter().zip(kept).filter(|(_, is_kept)| *is_kept);
    kept.map(|(place, _)| place).collect()
}
