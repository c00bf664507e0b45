//! What children find at a level above [`Level::Off`], kept from one command to the next.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::guards::Watched;
use super::places::{self, Places, Scratch};
use super::proxy::ContactLog;
use super::secrets::Hidden;
use super::sources::Sources;
use super::view::SharedView;
use super::{Access, Layout, Level, Policy, SandboxError, Surroundings, execution};
use crate::launch::{self, FileAccess, FileRules};

/// How long file tools rely on what was protected last.
const PROTECTION_INTERVAL: Duration = Duration::from_millis(100);

/// What children find, and the namespaces that show it once a command has needed them.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) places: Places,
    pub(super) layout: Arc<Layout>,
    pub(super) needed: Needed,
    pub(super) has_view: bool,
    view: Option<SharedView>,
    pub(super) watched: Watched,
    /// What the protected files depend on, and when it was looked at last.
    sources: Sources,
    looked: Instant,
    /// What must not be seen; `None` without a view, which is what hides it.
    hidden: Option<Hidden>,
    /// Device and inode of every writable place, to notice that it was replaced.
    identities: Vec<Option<(u64, u64)>>,
    /// The program that started last, and the rules for it.
    rules: Option<(Program, Arc<FileRules>)>,
}

/// What the files depend on that a program needs to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    name: OsString,
    search_path: Option<OsString>,
    directory: Option<PathBuf>,
}

/// What programs needed to start, beside what everybody gets.
#[derive(Debug, Clone, Default)]
pub(super) struct Needed {
    files: Vec<PathBuf>,
    links: Vec<PathBuf>,
}

impl Shown {
    pub(super) fn new(
        policy: &Policy,
        exact: Option<&FileAccess>,
        surroundings: &Surroundings,
        needed: Needed,
    ) -> Result<Option<Self>, SandboxError> {
        if policy.level == Level::Off {
            return Ok(None);
        }
        let scratch = Scratch::new(&surroundings.scratch).map_err(SandboxError::Scratch)?;
        let has_view = !surroundings.without_namespaces && launch::namespaces_available().is_ok();
        let hidden = has_view.then(|| Hidden::now(&surroundings.hidden));
        let places = match exact {
            Some(access) => places::exact(access, surroundings, &scratch, &needed.files, has_view)?,
            None => places::of(policy, surroundings, &scratch, &needed.files, has_view)?,
        };
        let mut shown = Self {
            hidden,
            identities: identities(&places.layout),
            watched: Watched::default(),
            sources: Sources::default(),
            looked: Instant::now(),
            rules: None,
            layout: Arc::default(),
            places,
            needed,
            has_view,
            view: None,
        };
        shown.protect()?;
        Ok(Some(shown))
    }

    /// Takes over what is known of runs that may not have ended.
    pub(super) fn in_place_of(mut self, former: &mut Self) -> Self {
        self.watched = self.watched.after(&mut former.watched);
        self
    }

    /// As [`protect`](Self::protect), for file tools, which ask far more often than a user changes something.
    pub(super) fn protect_now_and_then(&mut self) {
        if self.looked.elapsed() >= PROTECTION_INTERVAL {
            // What was protected before stays so.
            let _ = self.protect();
        }
    }

    /// Looks again which files are protected, if that may have changed: the user may have made a link, or told
    /// git to use other hooks.
    pub(super) fn protect(&mut self) -> Result<(), SandboxError> {
        self.looked = Instant::now();
        if self.sources.are_unchanged() {
            return Ok(());
        }
        let found = self.places.protection.find();
        if self.sources.is_empty() || found.paths != self.layout.protected() {
            let layout = self.places.layout.with_protected(found.paths);
            let watched = Watched::of(&layout).map_err(SandboxError::Scratch)?;
            self.watched = watched.after(&mut self.watched);
            self.layout = Arc::new(layout);
        }
        let read = found.read.iter().map(PathBuf::as_path);
        self.sources = Sources::of(self.watched.directories().chain(read));
        Ok(())
    }

    /// Makes everything again if `command` needs files that are not shown, or if a writable directory or what
    /// must be hidden is another one by now.
    pub(super) fn refresh(
        &mut self,
        command: &Command,
        program: &Program,
        policy: &Policy,
        exact: Option<&FileAccess>,
        surroundings: &Surroundings,
    ) -> Result<(), SandboxError> {
        let is_served = self.view.as_ref().is_none_or(SharedView::is_served);
        let is_current =
            is_served && self.hides_enough() && self.identities == identities(&self.layout);
        let is_known = self
            .rules
            .as_ref()
            .is_some_and(|(known, _)| known == program);
        if is_current {
            self.protect()?;
        }
        if is_current && is_known {
            return Ok(());
        }
        let (mut files, mut links) = launch::files_needed(command, &execution(&policy.rules));
        files.retain(|path| !self.layout.shows(path));
        links.retain(|path| !self.layout.shows(path) && !self.needed.links.contains(path));
        if files.is_empty() && links.is_empty() && is_current {
            return Ok(());
        }
        let mut needed = std::mem::take(&mut self.needed);
        needed.files.extend(files);
        needed.links.extend(links);
        if let Some(shown) = Self::new(policy, exact, surroundings, needed)? {
            *self = shown.in_place_of(self);
        }
        Ok(())
    }

    /// Returns whether everything that must not be seen is hidden by now.
    pub(super) fn hides_enough(&mut self) -> bool {
        self.hidden.as_mut().is_none_or(Hidden::is_current)
    }

    /// Returns the directories in which changes of overlaid places are kept.
    pub(super) fn changes(&self) -> &[PathBuf] {
        self.view.as_ref().map_or(&[], SharedView::changes)
    }

    /// Returns the rules for the files of `command`. They are kept for the next one.
    pub(super) fn rules(
        &mut self,
        command: &Command,
        program: Program,
        access: &FileAccess,
    ) -> Result<Arc<FileRules>, SandboxError> {
        if let Some((known, rules)) = &self.rules
            && *known == program
        {
            return Ok(Arc::clone(rules));
        }
        let root = self.view.as_ref().map(SharedView::root);
        let rules = Arc::new(FileRules::new(command, access, root)?);
        self.rules = Some((program, Arc::clone(&rules)));
        Ok(rules)
    }

    /// Returns the namespaces, which are made for the first command.
    pub(super) fn view(
        &mut self,
        policy: &Policy,
        surroundings: &Surroundings,
        contacts: &ContactLog,
    ) -> Result<&SharedView, SandboxError> {
        let view = match self.view.take() {
            Some(view) => view,
            None => SharedView::new(
                &self.layout,
                &self.needed.links,
                policy,
                surroundings,
                contacts,
            )
            .map_err(SandboxError::View)?,
        };
        Ok(self.view.insert(view))
    }
}

impl Program {
    pub(super) fn of(command: &Command) -> Self {
        let path = command.get_envs().find(|(name, _)| *name == "PATH");
        Self {
            name: command.get_program().to_owned(),
            search_path: path.and_then(|(_, value)| value.map(ToOwned::to_owned)),
            directory: command.get_current_dir().map(ToOwned::to_owned),
        }
    }
}

fn identities(layout: &Layout) -> Vec<Option<(u64, u64)>> {
    let writable = layout
        .places()
        .iter()
        .filter(|place| place.access == Access::Write);
    writable
        .map(|place| {
            let found = std::fs::metadata(&place.real).ok()?;
            Some((found.dev(), found.ino()))
        })
        .collect()
}
