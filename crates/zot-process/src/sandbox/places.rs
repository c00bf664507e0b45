//! Decides which places a sandbox has, by its policy and its surroundings.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::layout::{Access, Layout, Place};
use super::policy::Level;
use super::protected::Protection;
use super::rule_paths::{Paths, resolve_rule};
use super::secrets::Hidden;
use super::toolchains::{CACHES, TOOLCHAIN_VARIABLES, TOOLCHAINS};
use super::{Policy, SandboxError, Surroundings, private};
use crate::launch::{FileAccess, SYSTEM_FILES};

/// Where programs read the limits of their control group, and what only the newer kind has there.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";
const UNIFIED_MARK: &str = "/sys/fs/cgroup/cgroup.controllers";

/// The directories of a sandbox in its scratch directory.
#[derive(Debug, Clone)]
pub(super) struct Scratch {
    pub(super) temporary: PathBuf,
    pub(super) home: PathBuf,
    root: PathBuf,
    shared_memory: PathBuf,
    empty: PathBuf,
}

impl Scratch {
    /// Makes the directories.
    pub(super) fn new(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        let made = |name: &str, mode: u32| {
            let path = root.join(name);
            match fs::create_dir(&path) {
                Ok(()) => fs::set_permissions(&path, fs::Permissions::from_mode(mode))?,
                // Only if nobody has put something else in its place.
                Err(_) if fs::symlink_metadata(&path)?.is_dir() => {}
                Err(error) => return Err(error),
            }
            io::Result::Ok(path)
        };
        Ok(Self {
            temporary: made("tmp", 0o1777)?,
            home: made("home", 0o700)?,
            shared_memory: made("shm", 0o1777)?,
            empty: made("empty", 0o755)?,
            root,
        })
    }
}

/// What a sandbox shows of the files.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// Without its protected files.
    pub(super) layout: Layout,
    /// What a child calls its home directory and its temporary one.
    pub(super) home: PathBuf,
    pub(super) temporary: PathBuf,
    /// What its protected files depend on.
    pub(super) protection: Protection,
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
    let mut hidden = surroundings.hidden.iter();
    if hidden.any(|path| path.canonicalize().is_ok_and(|path| path == workspace)) {
        return Err(SandboxError::OwnDirectory(workspace));
    }
    let home = surroundings
        .home
        .as_ref()
        .and_then(|home| home.canonicalize().ok());
    let rules = Paths::new(&workspace, home.as_deref(), &policy.rules.write);
    let writable = rules.existing(&policy.rules.write);
    let mut collected = Collected::default();
    collected.add_private(scratch, home.as_deref(), has_view, Access::Write);
    collected.add_system(needed);
    let mut roots = vec![workspace.clone()];
    roots.extend_from_slice(&writable);
    // What a writable place contains is there anyway, and a child may have put links into it.
    if let Some(home) = &home
        && !roots.iter().any(|root| home.starts_with(root))
    {
        collected.add_toolchains(home, &roots, scratch, has_view)?;
    }
    let readable = surroundings.readable.iter();
    let readable = readable.filter_map(|path| rules.follow(path));
    for path in readable.chain(rules.existing(&policy.rules.read)) {
        collected.add(path, Access::Read, false);
    }
    for path in rules.existing(&policy.rules.unix_sockets) {
        collected.add(path, Access::Read, false);
    }
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
    collected.hide(surroundings, scratch, has_view)?;
    let workspace = (policy.level != Level::ReadOnly).then_some(workspace.clone());
    let named = rules.named(&policy.rules.write);
    let roots = workspace.into_iter().chain(writable);
    let protection = Protection {
        roots: roots.filter(|root| root.is_dir()).collect(),
        named,
        home: home.clone(),
    };
    Ok(collected.into_places(scratch, home, protection, has_view))
}

/// Collects the places of somebody who has listed every file.
pub(super) fn exact(
    access: &FileAccess,
    surroundings: &Surroundings,
    scratch: &Scratch,
    needed: &[PathBuf],
    has_view: bool,
) -> Result<Places, SandboxError> {
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
    for path in &access.write {
        collected.add(path.clone(), Access::Write, false);
    }
    let roots = access.write.iter().filter(|path| path.is_dir());
    let protection = Protection {
        roots: roots.cloned().collect(),
        named: access.write.clone(),
        home: home.clone(),
    };
    collected.hide(surroundings, scratch, has_view)?;
    Ok(collected.into_places(scratch, home, protection, has_view))
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

    fn add_toolchains(
        &mut self,
        home: &Path,
        writable: &[PathBuf],
        scratch: &Scratch,
        has_view: bool,
    ) -> Result<(), SandboxError> {
        let toolchains = TOOLCHAINS.iter().map(|name| (*name, false));
        for (name, is_overlaid) in toolchains.chain(CACHES.iter().map(|name| (*name, true))) {
            let shown = home.join(name);
            let Ok(real) = resolve_rule(&shown, writable) else {
                continue;
            };
            if writable.iter().any(|root| shown.starts_with(root)) {
                continue;
            }
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
            // A program that looks in its home finds it there; what was there before stays.
            private::link(&scratch.home, Path::new(name), &real).map_err(SandboxError::Scratch)?;
        }
        for (variable, names) in TOOLCHAIN_VARIABLES {
            let root = std::env::var_os(variable).map(std::path::absolute);
            let root = root.and_then(|root| resolve_rule(&root.ok()?, writable).ok());
            // Nothing that a child may have changed, and never the home directory itself.
            let root = root.filter(|root| {
                let is_writable = writable.iter().any(|writable| root.starts_with(writable));
                !is_writable && !home.starts_with(root)
            });
            for name in names.iter().filter(|_| root.is_some()) {
                let path = root.iter().map(|root| root.join(name)).next();
                if let Some(path) = path.and_then(|path| resolve_rule(&path, writable).ok()) {
                    self.add(path, Access::Read, true);
                }
            }
        }
        Ok(())
    }

    /// Hides what no child may see, even where a rule shows what is around it.
    fn hide(
        &mut self,
        surroundings: &Surroundings,
        scratch: &Scratch,
        has_view: bool,
    ) -> Result<(), SandboxError> {
        let is_writable = |place: &Place| {
            let is_outside = place.shown == place.real && !place.real.starts_with(&scratch.root);
            is_outside && place.access == Access::Write && scratch.root.starts_with(&place.shown)
        };
        let is_inside = self.0.iter().any(is_writable);
        if !has_view {
            return match is_inside {
                true => Err(SandboxError::ScratchInside(scratch.root.clone())),
                false => Ok(()),
            };
        }
        let hidden = surroundings
            .hidden
            .iter()
            .filter_map(|path| path.canonicalize().ok());
        let own = is_inside.then(|| scratch.root.clone());
        // Directories before what is in them.
        let masked = Hidden::of_system().into_iter();
        for path in masked.chain(hidden).chain(own) {
            self.add_mask(path, scratch);
        }
        Ok(())
    }

    fn add_mask(&mut self, path: PathBuf, scratch: &Scratch) {
        let is_shown = |place: &Place| {
            place.shown == place.real && path.starts_with(&place.shown) && path != place.shown
        };
        let is_masked = |place: &Place| {
            place.shown != place.real && place.is_system && path.starts_with(&place.shown)
        };
        let is_shown = self.0.iter().any(is_shown) && !self.0.iter().any(is_masked);
        if let (true, Ok(found)) = (is_shown, fs::symlink_metadata(&path)) {
            let real = match found.is_dir() {
                // One for each: what may be read below it gets a mount point there.
                true => {
                    let empty = scratch.empty.join(self.0.len().to_string());
                    let _ = fs::create_dir(&empty);
                    empty
                }
                false => PathBuf::from("/dev/null"),
            };
            self.0.push(Place {
                shown: path,
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
        protection: Protection,
        has_view: bool,
    ) -> Places {
        let places = without_needless(self.0);
        let temporary = match has_view {
            true => PathBuf::from("/tmp"),
            false => scratch.temporary.clone(),
        };
        let home = match home {
            Some(home) if has_view && home.parent().is_some() => home,
            _ => scratch.home.clone(),
        };
        Places {
            layout: Layout::new(places, Vec::new()),
            home,
            temporary,
            protection,
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
