//! Which files confined tools may use.

mod offer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zot_process::sandbox::{Access, Layout, Level, Refusal, Sandbox};

use crate::file::{Location, links};
use crate::path::{PathError, RefusedPath};

pub(crate) use offer::is_plain;

/// What the kernel shows as files. The readable ones among them describe this process when this process
/// reads them, its environment included, and links in them lead to open files: tools do not follow these
/// links, and use only files there that a rule names.
const KERNEL_PLACES: [&str; 3] = ["/proc", "/dev", "/sys"];

/// The files of a sandbox, as they are during a call.
#[derive(Debug)]
pub(crate) struct Walls {
    layout: Arc<Layout>,
    level: Level,
    /// Whether this is `--jail`, which hides the files of the system.
    is_jail: bool,
    /// The working directory, without links.
    directory: PathBuf,
    has_network: bool,
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
        user_home: Option<&Path>,
    ) -> Option<Self> {
        let layout = sandbox.layout()?;
        let policy = sandbox.policy();
        Some(Self {
            layout,
            level: policy.level,
            is_jail: policy.rules.hides_system_from_tools,
            has_network: policy.rules.allows_every_host(),
            directory,
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
        self.has_network
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
        let uses_system = !self.is_jail && !is_of_kernel(&target);
        let admitted = self
            .layout
            .admit(&target, access, uses_system)
            .map_err(|refusal| {
                let around = || Some(target.clone()).filter(|_| refusal == Refusal::Protected);
                refused(refusal.clone(), self.protection(&target).or_else(around))
            })?;
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
        let mut protected = self.layout.protected().iter();
        protected
            .find(|protected| path.starts_with(protected))
            .cloned()
    }
}

fn is_of_kernel(path: &Path) -> bool {
    KERNEL_PLACES.iter().any(|place| path.starts_with(place))
}
