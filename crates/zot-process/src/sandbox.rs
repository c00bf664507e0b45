//! The sandbox: one policy over everything that runs.
//!
//! A [`Policy`] says in the words of users what a child may do: a [`Level`] and exact [`Rules`]. A
//! [`Sandbox`] applies it to commands ([`prepare`](Sandbox::prepare)) and to the paths of file tools
//! ([`layout`](Sandbox::layout)), so that both obey the same table.

mod birth;
pub mod environment;
mod guards;
pub mod host;
mod layout;
mod places;
mod policy;
mod private;
mod protected;
pub mod proxy;
pub mod record;
mod rule_paths;
mod run;
mod secrets;
mod shown;
mod skeleton;
mod sources;
mod toolchains;
mod view;

pub use environment::Environment;
pub use host::{BadHost, ConnectRule, Host, HostName, HostProblem, Ports, Target};
pub use layout::{Access, Admitted, Layout, Place, Refusal};
pub use policy::{Level, Limits, Policy, Rules, UnknownLevel};
pub use protected::PROTECTED;
pub use proxy::{Contact, ContactLog, ContactMark, Proxy};
pub use rule_paths::resolve_rule;
pub use run::{Obstacles, RunMark};
pub use toolchains::{InstalledTools, installed_tools};

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;

use crate::launch::{
    self, ConfineError, Confined, Confinement, Enforcement, Execution, FileAccess, Status, confine,
    enforcement,
};
use shown::{Needed, Program, Shown};

/// Where a sandbox applies.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The working directory.
    pub workspace: PathBuf,
    /// The user's home directory.
    pub home: Option<PathBuf>,
    /// A private directory for the files of the sandbox, which outlives it.
    pub scratch: PathBuf,
    /// What can be read in addition, such as the skills of the user.
    pub readable: Vec<PathBuf>,
    /// The variables with keys of model providers, logins and tokens, which children do not get.
    pub withheld: Vec<String>,
    /// Directories that are empty for children, wherever they are: those with keys and sessions.
    pub hidden: Vec<PathBuf>,
    /// Whether Landlock and system call filters work alone, as on systems that refuse namespaces.
    pub without_namespaces: bool,
}

/// Why a sandbox cannot be applied. The command must not be started.
#[derive(Debug, Error)]
pub enum SandboxError {
    #[error("cannot confine to {}: {source}", path.display())]
    Workspace { path: PathBuf, source: io::Error },
    #[error("cannot make a temporary directory for the sandbox: {0}")]
    Scratch(#[source] io::Error),
    #[error("this system cannot confine programs: {0}")]
    Impossible(String),
    #[error("cannot make the namespaces of the sandbox: {0}")]
    View(#[source] io::Error),
    #[error(
        "the temporary directory {} is inside of the working directory, where programs could change it: \
         set TMPDIR to another one", .0.display()
    )]
    ScratchInside(PathBuf),
    #[error(
        "the working directory {} is zot's own, with keys and sessions: work in another one, or without a sandbox",
        .0.display()
    )]
    OwnDirectory(PathBuf),
    #[error(
        "{} is protected, and cannot be looked at ({source}): give yourself the rights to its directory again, \
         with chmod u+rwx", path.display()
    )]
    Protected { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Confine(#[from] ConfineError),
}

/// A policy in force for one working directory. It can change at any time; a command obeys the state in
/// which it was prepared.
#[derive(Debug)]
pub struct Sandbox {
    surroundings: Surroundings,
    /// What replaces the places of a level.
    exact: Option<FileAccess>,
    /// Where the working directory led at the beginning.
    workspace: Option<PathBuf>,
    state: Mutex<State>,
    /// Where the proxy notes hosts.
    contacts: ContactLog,
}

#[derive(Debug)]
struct State {
    policy: Policy,
    /// `None` at [`Level::Off`].
    shown: Option<Shown>,
}

/// A command that is ready to start in its sandbox.
pub struct Prepared {
    pub command: Confined,
    /// What this system enforces of the policy.
    pub enforcement: Enforcement,
    /// Names the run for [`Sandbox::obstacles`].
    pub run: RunMark,
}

/// Returns whether this system can show children a file system of their own, in which protected files
/// are read-only.
pub fn has_views() -> bool {
    launch::namespaces_available().is_ok()
}

impl Sandbox {
    /// Applies `policy`. The scratch directory is used only at the levels above [`Level::Off`].
    pub fn new(policy: Policy, surroundings: Surroundings) -> Result<Self, SandboxError> {
        Self::with(policy, None, surroundings)
    }

    /// Applies grants that somebody has listed one by one: a child gets these files beside those of the
    /// system and directories of its own, not the working directory and the toolchains of a level. It is
    /// confined as at [`Level::Workspace`]. The paths have no links; `HOME` keeps its value, but can only
    /// be read.
    ///
    /// Where a level would refuse to start the command because the system cannot enforce anything, this
    /// one starts it and reports that: grants narrow what somebody trusts already.
    pub fn exact(
        access: FileAccess,
        rules: Rules,
        surroundings: Surroundings,
    ) -> Result<Self, SandboxError> {
        let policy = Policy {
            level: Level::Workspace,
            rules: Rules {
                run: match &access.execute {
                    Execution::Anything => None,
                    Execution::Only(programs) => Some(programs.clone()),
                },
                ..rules
            },
        };
        Self::with(policy, Some(access), surroundings)
    }

    fn with(
        policy: Policy,
        exact: Option<FileAccess>,
        surroundings: Surroundings,
    ) -> Result<Self, SandboxError> {
        let policy = with_programs(policy, surroundings.home.as_deref());
        let shown = Shown::new(&policy, exact.as_ref(), &surroundings, Needed::default())?;
        Ok(Self {
            workspace: surroundings.workspace.canonicalize().ok(),
            surroundings,
            exact,
            state: Mutex::new(State { policy, shown }),
            contacts: ContactLog::default(),
        })
    }

    pub fn policy(&self) -> Policy {
        self.state().policy.clone()
    }

    /// Changes the policy from the next command on.
    pub fn set_policy(&self, policy: Policy) -> Result<(), SandboxError> {
        let policy = with_programs(policy, self.surroundings.home.as_deref());
        self.check_workspace(&policy)?;
        let mut state = self.state();
        let needed = state.shown.as_ref().map(|shown| shown.needed.clone());
        let exact = self.exact.as_ref();
        let needed = needed.unwrap_or_default();
        let made = Shown::new(&policy, exact, &self.surroundings, needed)?;
        state.shown = match (made, &mut state.shown) {
            (Some(made), Some(former)) => Some(made.in_place_of(former)),
            (made, _) => made,
        };
        state.policy = policy;
        Ok(())
    }

    /// Returns what file tools may use; `None` at [`Level::Off`].
    pub fn layout(&self) -> Option<Arc<Layout>> {
        let mut state = self.state();
        let State { policy, shown } = &mut *state;
        let shown = shown.as_mut()?;
        if !shown.hides_enough() {
            let (exact, needed) = (self.exact.as_ref(), shown.needed.clone());
            // Where it cannot be made, commands are refused.
            if self.check_workspace(policy).is_ok()
                && let Ok(Some(made)) = Shown::new(policy, exact, &self.surroundings, needed)
            {
                *shown = made.in_place_of(shown);
            }
        }
        shown.protect_now_and_then();
        Some(Arc::clone(&shown.layout))
    }

    /// Returns the directory for temporary files: where it is, and what a child calls it.
    pub fn temporary(&self) -> (PathBuf, PathBuf) {
        let state = self.state();
        match &state.shown {
            Some(shown) => {
                let temporary = shown.places.temporary.clone();
                (shown.layout.real(&temporary), temporary)
            }
            None => (std::env::temp_dir(), std::env::temp_dir()),
        }
    }

    /// Returns what a child calls the user's home directory.
    pub fn home(&self) -> Option<PathBuf> {
        match &self.state().shown {
            Some(shown) if self.exact.is_none() => Some(shown.places.home.clone()),
            _ => self.surroundings.home.clone(),
        }
    }

    /// Returns the directories that show what commands have changed in caches of packages: empty until one
    /// does. What is removed there may still be found by commands.
    pub fn cache_changes(&self) -> Vec<PathBuf> {
        let state = self.state();
        let shown = state.shown.as_ref();
        shown.map_or_else(Vec::new, |shown| shown.changes().to_vec())
    }

    pub fn environment(&self) -> Environment {
        Environment::new(&self.policy(), &self.surroundings.withheld)
    }

    /// Confines `command`, whose program, arguments, directory and own variables are set.
    ///
    /// Must be called inside a tokio runtime, which also serves the proxy of the sandbox.
    pub fn prepare(&self, mut command: Command) -> Result<Prepared, SandboxError> {
        let mut state = self.state();
        let State { policy, shown } = &mut *state;
        self.check_workspace(policy)?;
        let mut confinement = limited(&policy.rules.limits);
        let mut run = RunMark::new(&self.contacts);
        if let Some(shown) = shown {
            let program = Program::of(&command);
            shown.refresh(
                &command,
                &program,
                policy,
                self.exact.as_ref(),
                &self.surroundings,
            )?;
            command.env("TMPDIR", &shown.places.temporary);
            if self.exact.is_none() {
                command.env("HOME", &shown.places.home);
            }
            confinement = confinement
                .network(policy.rules.allows_every_host())
                .local_sockets(!policy.rules.unix_sockets.is_empty());
            let guards = shown.watched.guards(shown.has_view)?;
            run.sweeping = guards.sweeping;
            run.compared = guards.compared;
            confinement = confinement.sweep(Arc::clone(&run.sweeping));
            if shown.has_view {
                let view = shown.view(policy, &self.surroundings, &self.contacts)?;
                view.set_proxy_variables(&mut command);
                confinement = confinement.view(view.namespaces(), guards.mounted);
            }
            let access = files(&shown.layout, &policy.rules);
            let rules = shown.rules(&command, program, &access)?;
            confinement = confinement.prepared_files(access, rules);
        }
        Environment::new(policy, &self.surroundings.withheld).apply(&mut command);
        drop(state);
        let (command, enforcement) = confine(command, &confinement)?;
        for status in [&enforcement.files, &enforcement.network] {
            if let (None, Status::NotEnforced(reason)) = (&self.exact, status) {
                return Err(SandboxError::Impossible(reason.clone()));
            }
        }
        Ok(Prepared {
            command,
            enforcement,
            run,
        })
    }

    /// Returns what this system enforces of the policy.
    pub fn enforcement(&self) -> Enforcement {
        self.state().policy.enforcement()
    }

    /// Returns what was refused since `run` began. Call it after the run has ended.
    pub fn obstacles(&self, run: &RunMark) -> Obstacles {
        run.obstacles(&self.contacts)
    }

    /// Returns the hosts that were contacted or refused, that of the latest contact last.
    pub fn contacts(&self) -> Vec<Contact> {
        self.contacts.all()
    }

    /// Fails if the working directory leads elsewhere by now: a program that may write around it can put a
    /// link in its place, which must not decide what the next one may use.
    fn check_workspace(&self, policy: &Policy) -> Result<(), SandboxError> {
        let path = &self.surroundings.workspace;
        if policy.level == Level::Off || self.exact.is_some() || self.workspace.is_none() {
            return Ok(());
        }
        let source = match path.canonicalize() {
            Ok(found) if Some(&found) == self.workspace.as_ref() => return Ok(()),
            Ok(_) => io::Error::other("it leads elsewhere than it did at the beginning"),
            Err(source) => source,
        };
        let path = path.clone();
        Err(SandboxError::Workspace { path, source })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Policy {
    /// Returns what this system enforces of it.
    pub fn enforcement(&self) -> Enforcement {
        let mut confinement = limited(&self.rules.limits);
        if self.level != Level::Off {
            confinement = confinement
                .filesystem(FileAccess {
                    execute: execution(&self.rules),
                    ..FileAccess::default()
                })
                .network(self.rules.allows_every_host())
                .local_sockets(!self.rules.unix_sockets.is_empty());
        }
        enforcement(&confinement)
    }
}

/// Resolves the programs of `policy` that are named by a path in the home directory.
fn with_programs(mut policy: Policy, home: Option<&Path>) -> Policy {
    for program in policy.rules.run.iter_mut().flatten() {
        if let (Some(home), Ok(inside)) = (home, program.strip_prefix("~")) {
            *program = home.join(inside);
        }
    }
    policy
}

fn limited(limits: &Limits) -> Confinement {
    let confinement = Confinement::default()
        .open_files(limits.open_files)
        .processes(limits.processes)
        .processor_seconds(limits.processor_seconds);
    match limits.memory_bytes {
        Some(bytes) => confinement.memory_limit(bytes),
        None => confinement,
    }
}

fn files(layout: &Layout, rules: &Rules) -> FileAccess {
    let paths = |access: Access| {
        let places = layout.places().iter();
        let places = places.filter(move |place| place.access == access);
        places.map(|place| place.real.clone()).collect()
    };
    FileAccess {
        read: paths(Access::Read),
        write: paths(Access::Write),
        execute: execution(rules),
    }
}

fn execution(rules: &Rules) -> Execution {
    match &rules.run {
        None => Execution::Anything,
        Some(programs) => Execution::Only(programs.clone()),
    }
}

#[cfg(test)]
mod tests;
