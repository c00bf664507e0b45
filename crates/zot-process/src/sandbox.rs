//! The sandbox: one policy over everything that runs.
//!
//! A [`Policy`] says in the words of users what a child may do: a [`Level`] and exact [`Rules`]. A
//! [`Sandbox`] applies it to commands ([`prepare`](Sandbox::prepare)) and to the paths of file tools
//! ([`layout`](Sandbox::layout)), so that both obey the same table.

pub mod environment;
pub mod host;
mod layout;
mod policy;
mod protected;
pub mod proxy;
mod toolchains;

pub use environment::Environment;
pub use host::{BadHost, ConnectRule, Host, HostName, HostProblem, Ports, Target};
pub use layout::{Access, Admitted, Layout, Place, Refusal};
pub use policy::{Level, Limits, Policy, Rules, UnknownLevel};
pub use protected::PROTECTED;
pub use proxy::{Contact, ContactLog, ContactMark, Proxy};
pub use toolchains::TOOLCHAINS;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use thiserror::Error;

use crate::launch::{
    ConfineError, Confined, Confinement, Enforcement, Execution, FileAccess, Status, confine,
    enforcement,
};

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
    state: Mutex<State>,
    /// Where the proxy notes hosts.
    contacts: ContactLog,
}

#[derive(Debug)]
struct State {
    policy: Policy,
    layout: Arc<Layout>,
}

/// A command that is ready to start in its sandbox.
pub struct Prepared {
    pub command: Confined,
    /// What this system enforces of the policy.
    pub enforcement: Enforcement,
    /// Names the run for [`Sandbox::obstacles`].
    pub run: RunMark,
}

/// When a run began.
#[derive(Debug, Clone, Copy)]
pub struct RunMark {
    contacts: ContactMark,
}

/// What the sandbox refused during a run, as far as it is known for sure.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Obstacles {
    /// Hosts that were refused, without repetition.
    pub hosts: Vec<Contact>,
    /// Protected paths that the run created, which were renamed.
    pub withheld_files: Vec<PathBuf>,
}

impl Sandbox {
    /// Applies `policy`. The scratch directory is used only at the levels above [`Level::Off`].
    pub fn new(policy: Policy, surroundings: Surroundings) -> Result<Self, SandboxError> {
        Self::with(policy, None, surroundings)
    }

    /// Applies grants that somebody has listed one by one: a child gets these files beside those of the
    /// system and a directory for temporary files, not the working directory and the toolchains of a level.
    /// It is confined as at [`Level::Workspace`]. The paths have no links; `HOME` keeps its value.
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
        let layout = Arc::new(layout_of(&policy, exact.as_ref(), &surroundings)?);
        Ok(Self {
            surroundings,
            exact,
            state: Mutex::new(State { policy, layout }),
            contacts: ContactLog::default(),
        })
    }

    pub fn policy(&self) -> Policy {
        self.state().policy.clone()
    }

    /// Changes the policy from the next command on.
    pub fn set_policy(&self, policy: Policy) -> Result<(), SandboxError> {
        let layout = layout_of(&policy, self.exact.as_ref(), &self.surroundings)?;
        let layout = Arc::new(layout);
        let mut state = self.state();
        state.policy = policy;
        state.layout = layout;
        Ok(())
    }

    /// Returns what file tools may use; `None` at [`Level::Off`].
    pub fn layout(&self) -> Option<Arc<Layout>> {
        let state = self.state();
        (state.policy.level != Level::Off).then(|| Arc::clone(&state.layout))
    }

    /// Returns the directory for temporary files: where it is, and what a child calls it.
    pub fn temporary(&self) -> (PathBuf, PathBuf) {
        let real = self.surroundings.scratch.join("tmp");
        (real.clone(), real)
    }

    /// Returns what a child calls the user's home directory.
    pub fn home(&self) -> Option<PathBuf> {
        match self.policy().level {
            Level::Off => self.surroundings.home.clone(),
            _ if self.exact.is_some() => self.surroundings.home.clone(),
            _ => Some(self.surroundings.scratch.join("home")),
        }
    }

    pub fn environment(&self) -> Environment {
        Environment::new(&self.policy(), &self.surroundings.withheld)
    }

    /// Confines `command`, whose program, arguments, directory and own variables are set.
    pub fn prepare(&self, mut command: Command) -> Result<Prepared, SandboxError> {
        let state = self.state();
        let environment = Environment::new(&state.policy, &self.surroundings.withheld);
        let mut confinement = limited(&state.policy.rules.limits);
        if state.policy.level != Level::Off {
            command.env("TMPDIR", self.surroundings.scratch.join("tmp"));
            if self.exact.is_none() {
                command.env("HOME", self.surroundings.scratch.join("home"));
            }
            confinement = confinement
                .filesystem(files(&state.layout, &state.policy.rules))
                .network(state.policy.rules.allows_every_host())
                .local_sockets(!state.policy.rules.unix_sockets.is_empty());
        }
        environment.apply(&mut command);
        let run = RunMark {
            contacts: self.contacts.mark(),
        };
        drop(state);
        let (command, enforcement) = confine(command, &confinement)?;
        if let (None, Status::NotEnforced(reason)) = (&self.exact, &enforcement.files) {
            return Err(SandboxError::Impossible(reason.clone()));
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
    pub fn obstacles(&self, run: RunMark) -> Obstacles {
        Obstacles {
            hosts: self.contacts.refused_since(run.contacts),
            withheld_files: Vec::new(),
        }
    }

    /// Returns the hosts that were contacted or refused, that of the latest contact last.
    pub fn contacts(&self) -> Vec<Contact> {
        self.contacts.all()
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

fn limited(limits: &Limits) -> Confinement {
    let confinement = Confinement::default().open_files(limits.open_files);
    match limits.memory_bytes {
        Some(bytes) => confinement.memory_limit(bytes),
        None => confinement,
    }
}

fn files(layout: &Layout, rules: &Rules) -> FileAccess {
    let paths = |access: Access| {
        let places = layout.places().iter();
        let places = places.filter(move |place| place.access == access && !place.is_system);
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

fn layout_of(
    policy: &Policy,
    exact: Option<&FileAccess>,
    surroundings: &Surroundings,
) -> Result<Layout, SandboxError> {
    if policy.level == Level::Off {
        return Ok(Layout::default());
    }
    if let Some(access) = exact {
        return exact_layout(access, surroundings);
    }
    let failed = |source| SandboxError::Workspace {
        path: surroundings.workspace.clone(),
        source,
    };
    let workspace = surroundings.workspace.canonicalize().map_err(failed)?;
    let mut writable = Vec::new();
    for name in ["tmp", "home"] {
        let path = surroundings.scratch.join(name);
        std::fs::create_dir_all(&path).map_err(SandboxError::Scratch)?;
        writable.push(path.canonicalize().map_err(SandboxError::Scratch)?);
    }
    let expand = |path: &PathBuf| expanded(path, &workspace, surroundings.home.as_deref());
    let named: Vec<PathBuf> = policy.rules.write.iter().filter_map(expand).collect();
    let mut places = system_places();
    if let Some(home) = &surroundings.home {
        let toolchains = TOOLCHAINS
            .iter()
            .filter_map(|name| home.join(name).canonicalize().ok());
        places.extend(toolchains.map(|path| place(path, Access::Read, true)));
    }
    let readable = surroundings.readable.iter().chain(&policy.rules.read);
    places.extend(
        readable
            .filter_map(expand)
            .map(|path| place(path, Access::Read, false)),
    );
    let mut protected = Vec::new();
    let own = match policy.level {
        Level::ReadOnly => Access::Read,
        Level::Off | Level::Workspace => Access::Write,
    };
    places.push(place(workspace.clone(), own, false));
    for root in std::iter::once(&workspace).chain(&named) {
        protected.extend(protected::below(root, &named));
    }
    places.extend(
        named
            .iter()
            .cloned()
            .map(|path| place(path, Access::Write, false)),
    );
    places.extend(
        writable
            .into_iter()
            .map(|path| place(path, Access::Write, false)),
    );
    Ok(Layout::new(places, protected))
}

/// Returns the places of somebody who has listed every file.
fn exact_layout(access: &FileAccess, surroundings: &Surroundings) -> Result<Layout, SandboxError> {
    let temporary = surroundings.scratch.join("tmp");
    std::fs::create_dir_all(&temporary).map_err(SandboxError::Scratch)?;
    let temporary = temporary.canonicalize().map_err(SandboxError::Scratch)?;
    let mut places = system_places();
    for path in surroundings.readable.iter().chain(&access.read) {
        places.push(place(path.clone(), Access::Read, false));
    }
    let mut protected = Vec::new();
    for path in &access.write {
        places.push(place(path.clone(), Access::Write, false));
        protected.extend(protected::below(path, &access.write));
    }
    places.push(place(temporary, Access::Write, false));
    Ok(Layout::new(places, protected))
}

fn system_places() -> Vec<Place> {
    crate::launch::SYSTEM_FILES
        .iter()
        .filter_map(|path| Path::new(path).canonicalize().ok())
        .map(|path| place(path, Access::Read, true))
        .collect()
}

fn place(path: PathBuf, access: Access, is_system: bool) -> Place {
    Place {
        shown: path.clone(),
        real: path,
        access,
        is_system,
    }
}

/// Returns the path that a rule means, without links, if it exists.
fn expanded(path: &PathBuf, workspace: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let path = match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => workspace.join(path),
    };
    path.canonicalize().ok()
}
