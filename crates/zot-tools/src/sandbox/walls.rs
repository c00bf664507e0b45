//! Which files confined tools may use.

mod offer;
mod repository;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zot_process::sandbox::{Access, Layout, Level, Refusal, Rules, Sandbox};

use crate::bash::is_log;
use crate::file::{Location, OwnDirectory, links};
use crate::path::{PathError, RefusedPath};

pub(crate) use offer::{Remedy, is_plain};

/// What the kernel shows as files. The readable ones among them describe this process when this process
/// reads them, its environment included, and links in them lead to open files: tools do not follow these
/// links, and use only files there that a rule names.
const KERNEL_PLACES: [&str; 3] = ["/proc", "/dev", "/sys"];

/// What the sandbox shows in place of a file with secrets.
const NO_FILE: &str = "/dev/null";

/// The files of a sandbox, as they are during a call.
#[derive(Debug)]
pub(crate) struct Walls {
    layout: Arc<Layout>,
    level: Level,
    /// Whether this is `--jail`, which hides the files of the system.
    is_jail: bool,
    /// The working directory, without links.
    directory: PathBuf,
    rules: Rules,
    /// Whether commands see a file system and a loopback of their own.
    has_view: bool,
    /// Where the sandbox keeps its own directories.
    scratch: Option<PathBuf>,
    /// What a command calls the home directory.
    home: Option<PathBuf>,
    /// The user's own, without links.
    user_home: Option<PathBuf>,
}

impl Walls {
    /// Takes the state of a sandbox; `None` at [`Level::Off`].
    pub(super) fn of(
        sandbox: &Sandbox,
        directory: PathBuf,
        scratch: Option<PathBuf>,
        user_home: Option<&Path>,
    ) -> Option<Self> {
        let layout = sandbox.layout()?;
        let policy = sandbox.policy();
        Some(Self {
            layout,
            level: policy.level,
            is_jail: policy.rules.hides_system_from_tools,
            has_view: {
                let (real, shown) = sandbox.temporary();
                real != shown
            },
            rules: policy.rules,
            directory,
            scratch,
            home: sandbox.home(),
            user_home: user_home.and_then(|home| home.canonicalize().ok()),
        })
    }

    pub(crate) fn level(&self) -> Level {
        self.level
    }

    pub(crate) fn is_jail(&self) -> bool {
        self.is_jail
    }

    /// Returns whether connections may go anywhere.
    pub(crate) fn has_network(&self) -> bool {
        self.rules.allows_every_host()
    }

    /// Returns whether commands see a file system and a network of their own, which takes namespaces.
    pub(crate) fn has_view(&self) -> bool {
        self.has_view
    }

    /// Returns whether `localhost` is another one than that of the user.
    pub(crate) fn has_own_loopback(&self) -> bool {
        self.has_view && !self.has_network()
    }

    /// Returns the working directory, without links.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// Returns the location of the file that `path` leads to, if it may be used. `path` is absolute and
    /// may contain `..`; messages name it as `shown`.
    pub(crate) fn admit(
        &self,
        path: &Path,
        shown: PathBuf,
        access: Access,
    ) -> Result<Location, PathError> {
        let (target, links) = self.follow(path);
        let refused = |refusal: Refusal, protected: Option<PathBuf>| {
            Box::new(RefusedPath {
                target: (target != shown).then(|| target.clone()),
                path: shown.clone(),
                access,
                level: self.level,
                is_jail: self.is_jail,
                directory: self.directory.clone(),
                refusal,
                protected,
                allowed_by: self.rule_for(&target),
            })
        };
        if !self.is_jail && self.is_masked(&target) {
            return Err(PathError::Masked(target));
        }
        let uses_system = !self.is_jail && !is_of_kernel(&target);
        let admitted = self
            .layout
            .admit(&target, access, uses_system)
            .map_err(|refusal| {
                let around = || Some(target.clone()).filter(|_| refusal == Refusal::Protected);
                refused(refusal.clone(), self.protection(&target).or_else(around))
            })?;
        let own = self.own_directory(&admitted.root);
        // What commands print is kept there for the model.
        let is_readable = own == Some(OwnDirectory::Temporary)
            && access == Access::Read
            && is_log(&admitted.inside);
        if self.is_jail && own.is_some() && !is_readable {
            return Err(refused(Refusal::Outside, None).into());
        }
        // A protected file that is a link is as good as where it leads.
        if access == Access::Write
            && let Some(protected) = links.iter().find_map(|link| self.protection(link))
        {
            return Err(refused(Refusal::Protected, Some(protected)).into());
        }
        Ok(Location::Below {
            shown,
            root: admitted.root,
            inside: admitted.inside,
            target,
            layout: Some(Arc::clone(&self.layout)),
            own,
        })
    }

    /// Returns whether there is nothing at `target` in the sandbox, whatever rules say.
    pub(crate) fn is_masked(&self, target: &Path) -> bool {
        let Ok(admitted) = self.layout.admit(target, Access::Read, true) else {
            return false;
        };
        let is_empty_directory = || {
            let scratch = self.scratch.as_deref();
            let is_own = scratch.is_some_and(|scratch| admitted.root.starts_with(scratch));
            let mut places = self.layout.places().iter();
            is_own
                && places.any(|place| place.real == admitted.root && place.access == Access::Read)
        };
        let is_empty_file = admitted.root == Path::new(NO_FILE) && target != Path::new(NO_FILE);
        is_empty_file || is_empty_directory()
    }

    /// Returns where the home directory of commands is, if it is one of the sandbox.
    pub(crate) fn own_home(&self) -> Option<PathBuf> {
        let home = self.layout.real(self.home.as_deref()?);
        Some(home).filter(|home| self.own_directory(home) == Some(OwnDirectory::Home))
    }

    /// Returns which directory of the sandbox `root` is, if it is one.
    fn own_directory(&self, root: &Path) -> Option<OwnDirectory> {
        let scratch = self.scratch.as_deref()?;
        let home = self.home.as_deref().map(|home| self.layout.real(home));
        root.starts_with(scratch).then(|| match home {
            Some(home) if home == root => OwnDirectory::Home,
            _ => OwnDirectory::Temporary,
        })
    }

    /// Returns where `path` leads, and the links on the way, all as a command would name them.
    fn follow(&self, path: &Path) -> (PathBuf, Vec<PathBuf>) {
        let mut links = Vec::new();
        let target = links::follow_with(path, |reached| {
            if reached.starts_with("/proc") {
                return None;
            }
            let target = self.layout.real(reached).read_link().ok()?;
            links.push(reached.to_owned());
            Some(target)
        });
        (target, links)
    }

    /// Returns what a rule must name for `path` to be allowed, unless that would be far more than the path.
    /// Rules are about what exists, so it is the directory of a new file.
    fn rule_for(&self, path: &Path) -> Option<PathBuf> {
        let named = match path.symlink_metadata() {
            Ok(_) => path,
            Err(_) => path.parent()?,
        };
        (named.exists() && !self.is_too_much(named)).then(|| named.to_owned())
    }

    /// Returns the protected path that `path` is, or is in.
    fn protection(&self, path: &Path) -> Option<PathBuf> {
        self.layout.protection(path).map(Path::to_owned)
    }
}

fn is_of_kernel(path: &Path) -> bool {
    KERNEL_PLACES.iter().any(|place| path.starts_with(place))
}
