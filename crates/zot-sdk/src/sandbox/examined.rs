//! What rules lead to on this machine.

use std::path::{Path, PathBuf};

use zot_process::launch::programs_needed;
use zot_process::sandbox::{Level, PROTECTED, Policy, resolve_rule};

/// The rules of a policy in a working directory, which has no links.
pub(super) struct ExaminedRules<'a> {
    pub(super) policy: &'a Policy,
    pub(super) directory: &'a Path,
    pub(super) user_home: Option<&'a Path>,
}

impl ExaminedRules<'_> {
    /// Returns the paths that do not exist.
    pub(super) fn missing(&self) -> Vec<PathBuf> {
        let rules = &self.policy.rules;
        let writable = self.writable();
        // A rule may name a protected file before it exists.
        let may_be_created = |path: &PathBuf| {
            let mut places = writable.iter();
            places.any(|place| path != place && path.starts_with(place) && place.exists())
        };
        let written = rules.write.iter().map(|path| self.resolved(path));
        let written = written.filter(|path| !may_be_created(path));
        let others = rules.read.iter().chain(&rules.unix_sockets);
        let others = others.map(|path| self.resolved(path));
        written
            .chain(others)
            .filter(|path| !path.exists())
            .collect()
    }

    /// Returns the paths that exist, but lead through a link which a program may have made.
    pub(super) fn linked(&self) -> Vec<PathBuf> {
        let rules = &self.policy.rules;
        let writable = self.writable();
        let paths = rules.read.iter().chain(&rules.write);
        let paths = paths.chain(&rules.unix_sockets).map(|path| self.full(path));
        paths
            .filter(|path| path.exists() && resolve_rule(path, &writable).is_err())
            .collect()
    }

    /// Returns the programs of the rule `run` that cannot be found.
    pub(super) fn missing_programs(&self) -> Vec<PathBuf> {
        // Names are looked up as a shell does.
        let search_path = std::env::var_os("PATH").unwrap_or_default();
        let is_found = |program: &PathBuf| match program.components().count() {
            1 => !programs_needed(program, &search_path).is_empty(),
            _ => self.full(program).exists(),
        };
        let programs = self.policy.rules.run.iter().flatten();
        programs
            .filter(|program| !is_found(program))
            .cloned()
            .collect()
    }

    /// Returns the paths of rules that name `home`, or let something in it be changed: what is in it, such as
    /// extensions, runs outside of the sandbox.
    pub(super) fn opening(&self, home: &Path) -> Vec<PathBuf> {
        let rules = &self.policy.rules;
        let read = rules.read.iter().filter(|path| self.resolved(path) == home);
        let write = rules.write.iter();
        let write = write.filter(|path| self.resolved(path).starts_with(home));
        read.chain(write).cloned().collect()
    }

    /// Returns which of the protected paths, relative to the working directory, no rule gives free.
    pub(super) fn protected(&self) -> Vec<&'static str> {
        let named = self.policy.rules.write.iter();
        let named = named.map(|path| self.resolved(path));
        let named: Vec<PathBuf> = named.filter(|path| path != self.directory).collect();
        let is_free = |name: &&str| {
            let path = self.directory.join(name);
            named.iter().any(|named| path.starts_with(named))
        };
        let protected = PROTECTED.into_iter();
        protected.filter(|name| !is_free(name)).collect()
    }

    /// Returns what programs may change.
    fn writable(&self) -> Vec<PathBuf> {
        let workspace = (self.policy.level == Level::Workspace).then_some(self.directory);
        let named = self.policy.rules.write.iter();
        let named = named.map(|path| self.resolved(path));
        named.chain(workspace.map(Path::to_owned)).collect()
    }

    fn full(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.user_home) {
            (Ok(inside), Some(home)) => home.join(inside),
            _ => self.directory.join(path),
        }
    }

    /// Returns the path of a rule, without links and steps upwards as far as it exists.
    fn resolved(&self, path: &Path) -> PathBuf {
        let path = self.full(path);
        let parent = || {
            let parent = path.parent()?.canonicalize().ok()?;
            Some(parent.join(path.file_name()?))
        };
        let found = path.canonicalize().ok().or_else(parent);
        found.unwrap_or(path)
    }
}
