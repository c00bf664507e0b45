//! The sandboxes that programs run in.
//!
//! A sandbox serves one program at a time and is used again: what a program left in its temporary
//! directories is removed before the next one gets them. One whose program has changed a cache of
//! packages is not used again.

mod leftovers;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zot_files::{Scratch, ScratchDirectory};
use zot_process::launch::{Confined, Execution, FileAccess, Status};
use zot_process::sandbox::{
    self, Access, BadHost, Level, Obstacles, Policy, Rules, RunMark, Sandbox, Surroundings,
    has_views, resolve_rule,
};
use zot_sdk::configuration::MIN_OPEN_FILES;
use zot_sdk::{Workspace, withheld_variables};

use super::code_file;
use super::exposed::from_working_dir;
use crate::config::{Executor, ExecutorSandbox};
use crate::descriptors;
use leftovers::Contents;

/// How many sandboxes wait for their next program.
///
/// Limit: a sandbox beyond these is removed, and made anew when it is needed.
const MAX_IDLE_SANDBOXES: usize = 4;

/// A variable through which a program could notify systemd on behalf of the service.
const NOTIFICATION_VARIABLE: &str = "NOTIFY_SOCKET";

/// Why the sandbox and the limits of `[exc]` cannot be applied.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error(
        "[exc] sandbox: {part} cannot be restricted here ({reason}); set sandbox = false or run on another system"
    )]
    Impossible { part: &'static str, reason: String },
    #[error("[exc] connect: {0}")]
    Host(#[from] BadHost),
    #[error("[exc] connect: lists of hosts need namespaces, which this system refuses")]
    Hosts,
    #[error("[exc] {key}: expected at least {least}, got {given}; leave it out for no limit")]
    Limit {
        key: &'static str,
        least: u64,
        given: u64,
    },
    #[error("[exc] {key}: {}: {source}", .path.display())]
    Path {
        key: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("[exc] sandbox: {0}")]
    Sandbox(#[from] sandbox::SandboxError),
}

/// All sandboxes of the service.
pub(super) struct Sandboxes {
    /// For every program if there is no sandbox.
    open: Sandbox,
    confined: Option<Pools>,
}

struct Pools {
    programs: Pool,
    validators: Pool,
}

/// Sandboxes of one kind.
pub(super) struct Pool {
    /// How they are made.
    plan: Plan,
    idle: Mutex<Vec<OwnSandbox>>,
}

struct Plan {
    /// `None` for exact grants.
    level: Option<Level>,
    rules: Rules,
    directory: PathBuf,
    directory_access: Access,
}

/// A sandbox with its temporary files, for one program at a time.
pub(super) struct OwnSandbox {
    sandbox: Sandbox,
    /// What the sandbox itself needs in its temporary directories.
    needed: Contents,
    /// The code of its program.
    code: Option<PathBuf>,
    scratch: ScratchDirectory,
}

impl Sandboxes {
    /// Checks that this system can confine programs as `config` says: a sandbox that does not hold is worse
    /// than none.
    pub(super) fn new(config: &Executor, directory: &Path) -> Result<Self, SandboxError> {
        check_limits(config)?;
        let mut rules = config.rules()?;
        rules.limits.open_files = rules.limits.open_files.or(descriptors::original());
        let level = match config.sandbox {
            ExecutorSandbox::Off => Some(Level::Off),
            ExecutorSandbox::WorkingDirectory => None,
            ExecutorSandbox::Level(level) => Some(level),
        };
        let policy = Policy {
            level: Level::Off,
            rules: rules.clone(),
        };
        let confined = match level {
            Some(Level::Off) => None,
            level => {
                check(&rules)?;
                let plan = Plan {
                    level,
                    rules,
                    directory: directory.to_owned(),
                    directory_access: Access::Write,
                };
                let access = plan.access()?;
                Some(Pools {
                    validators: Pool::new(plan.for_validators(&access)),
                    programs: Pool::new(plan),
                })
            }
        };
        Ok(Self {
            open: Sandbox::new(policy, surroundings(directory, PathBuf::new()))?,
            confined,
        })
    }

    /// Prepares `command` to run with the rights of the service.
    pub(super) fn open(&self, command: Command) -> Result<Confined, sandbox::SandboxError> {
        Ok(self.open.prepare(command)?.command)
    }

    /// Returns the sandboxes of programs; `None` if programs are not confined.
    pub(super) fn programs(&self) -> Option<&Pool> {
        self.confined.as_ref().map(|pools| &pools.programs)
    }

    /// Returns the sandboxes of validators; `None` if programs are not confined.
    pub(super) fn validators(&self) -> Option<&Pool> {
        self.confined.as_ref().map(|pools| &pools.validators)
    }
}

impl Pool {
    fn new(plan: Plan) -> Self {
        Self {
            plan,
            idle: Mutex::default(),
        }
    }

    /// Returns a sandbox without traces of earlier programs.
    pub(super) fn take(&self) -> Result<OwnSandbox, SandboxError> {
        let idle = self.lock().pop();
        idle.map_or_else(|| self.plan.sandbox(), Ok)
    }

    /// Keeps a sandbox whose program has ended for the next one.
    pub(super) async fn put_back(&self, used: OwnSandbox) {
        // There may be many files, and only clean ones come back.
        let cleaned = tokio::task::spawn_blocking(|| used.cleaned()).await;
        if let Ok(Some(clean)) = cleaned {
            let mut idle = self.lock();
            if idle.len() < MAX_IDLE_SANDBOXES {
                idle.push(clean);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<OwnSandbox>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plan {
    /// Returns the plan for programs that only look at code: they can write nothing, and have no network. What
    /// `access` grants is read, but no path that other programs could put a link into.
    fn for_validators(&self, access: &FileAccess) -> Self {
        let is_inside = |path: &&PathBuf| {
            let mut written = access.write.iter();
            written.any(|written| path.starts_with(written) && *path != written)
        };
        let read = access.read.iter().chain(&access.write);
        Self {
            level: self.level.map(|_| Level::ReadOnly),
            rules: Rules {
                read: read.filter(|path| !is_inside(path)).cloned().collect(),
                write: Vec::new(),
                connect: Vec::new(),
                unix_sockets: Vec::new(),
                ..self.rules.clone()
            },
            directory: self.directory.clone(),
            directory_access: Access::Read,
        }
    }

    fn sandbox(&self) -> Result<OwnSandbox, SandboxError> {
        let scratch =
            ScratchDirectory::new(Scratch::Code).map_err(sandbox::SandboxError::Scratch)?;
        let surroundings = surroundings(&self.directory, scratch.path().to_owned());
        let rules = self.rules.clone();
        let sandbox = match self.level {
            Some(level) => Sandbox::new(Policy { level, rules }, surroundings)?,
            None => Sandbox::exact(self.access()?, rules, surroundings)?,
        };
        Ok(OwnSandbox {
            sandbox,
            needed: Contents::default(),
            code: None,
            scratch,
        })
    }

    /// Returns what `sandbox = true` grants. No path leads through a link that a program may have made.
    fn access(&self) -> Result<FileAccess, SandboxError> {
        let written = self.rules.write.iter();
        let written = written.map(|path| from_working_dir(path, &self.directory));
        let written = written.chain([self.directory.clone()]);
        let written: Vec<PathBuf> = written
            .filter_map(|path| path.canonicalize().ok())
            .collect();
        let resolve = |key: &'static str, paths: &[PathBuf]| {
            let resolved = paths.iter().map(|path| {
                let full = from_working_dir(path, &self.directory);
                resolve_rule(&full, &written).map_err(|source| SandboxError::Path {
                    key,
                    path: path.clone(),
                    source,
                })
            });
            resolved.collect::<Result<Vec<_>, _>>()
        };
        let mut read = resolve("read", &self.rules.read)?;
        read.extend(resolve("unix_sockets", &self.rules.unix_sockets)?);
        let mut write = resolve("write", &self.rules.write)?;
        match self.directory_access {
            Access::Read => read.push(self.directory.clone()),
            Access::Write => write.push(self.directory.clone()),
        }
        Ok(FileAccess {
            read,
            write,
            execute: match &self.rules.run {
                None => Execution::Anything,
                Some(programs) => Execution::Only(programs.clone()),
            },
        })
    }
}

impl OwnSandbox {
    /// Writes code to a file that only its program finds; returns the path that the program uses.
    pub(super) fn write_code(&mut self, code: &str, extension: &str) -> io::Result<PathBuf> {
        let (real, shown) = self.sandbox.temporary();
        let name = code_file::name(extension);
        let path = self.code.insert(real.join(&name));
        code_file::write(path, code)?;
        Ok(shown.join(name))
    }

    /// Confines `command` to it.
    pub(super) fn prepare(
        &mut self,
        command: Command,
    ) -> Result<(Confined, RunMark), sandbox::SandboxError> {
        let prepared = self.sandbox.prepare(command)?;
        self.needed = Contents::of(
            &self.own_directories(),
            &self.sandbox.cache_changes(),
            self.code.as_deref(),
        )
        .map_err(sandbox::SandboxError::Scratch)?;
        Ok((prepared.command, prepared.run))
    }

    /// Removes what the program left; `None` if the sandbox cannot be used again.
    fn cleaned(mut self) -> Option<Self> {
        self.code = None;
        let is_clean = self.needed.restore();
        is_clean.unwrap_or(false).then_some(self)
    }

    /// Returns the directories of the sandbox that its program can change.
    fn own_directories(&self) -> Vec<PathBuf> {
        let layout = self.sandbox.layout();
        let places = layout.iter().flat_map(|layout| layout.places());
        let own = places.filter(|place| {
            place.access == Access::Write && place.real.starts_with(self.scratch.path())
        });
        // Two paths may show the same one.
        let own: BTreeSet<PathBuf> = own.map(|place| place.real.clone()).collect();
        own.into_iter().collect()
    }

    /// Returns what was refused to the program, which has ended.
    pub(super) fn obstacles(&self, run: &RunMark) -> Obstacles {
        self.sandbox.obstacles(run)
    }
}

/// Refuses limits under which no program could start.
fn check_limits(config: &Executor) -> Result<(), SandboxError> {
    let limits = [
        ("memory_mib", config.memory_mib, 1),
        ("processes", config.processes, 1),
        ("processor_seconds", config.processor_seconds, 1),
        ("open_files", config.open_files, MIN_OPEN_FILES),
    ];
    for (key, given, least) in limits {
        if let Some(given) = given.filter(|given| *given < least) {
            return Err(SandboxError::Limit { key, least, given });
        }
    }
    Ok(())
}

/// Checks that this system enforces what `rules` ask for.
fn check(rules: &Rules) -> Result<(), SandboxError> {
    let policy = Policy {
        level: Level::Workspace,
        rules: rules.clone(),
    };
    let possible = policy.enforcement();
    for (part, status) in [("files", possible.files), ("network", possible.network)] {
        if let Status::NotEnforced(reason) = status {
            return Err(SandboxError::Impossible { part, reason });
        }
    }
    if !rules.connect.is_empty() && !rules.allows_every_host() && !has_views() {
        return Err(SandboxError::Hosts);
    }
    Ok(())
}

/// Programs get no keys of models and no passwords of services, and do not see zot's own directory.
fn surroundings(directory: &Path, scratch: PathBuf) -> Surroundings {
    let zot_home = Workspace::of_process().zot_home;
    let mut withheld = withheld_variables(&zot_home);
    withheld.push(NOTIFICATION_VARIABLE.to_owned());
    Surroundings {
        workspace: directory.to_owned(),
        home: std::env::home_dir(),
        scratch,
        withheld,
        hidden: vec![zot_home],
        ..Surroundings::default()
    }
}

#[cfg(test)]
mod tests;
