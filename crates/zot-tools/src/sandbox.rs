//! The sandbox of the built-in tools: one policy for commands and for the paths of file tools.
//!
//! Nothing is created before a tool needs it. A path is followed through all links as a command would
//! see them, [admitted](walls::Walls), and then opened without following any
//! ([`Location`](crate::file::Location)). Commands are confined by the kernel ([`zot_process::sandbox`]).

mod allowance;
mod confinement;
mod walls;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zot_files::{Scratch, ScratchDirectory};
use zot_process::sandbox::{Level, Policy, Sandbox, SandboxError, Surroundings};

pub use allowance::{AllowError, Allowance, Allowances, AllowedFor};
pub use confinement::CommandConfinement;
pub(crate) use confinement::NotConfined;
pub(crate) use walls::{Remedy, Walls, is_plain};

/// How much of what the user did not want to allow is remembered.
///
/// Limit: the user may be asked about the rest again.
const MAX_DECLINED: usize = 1_000;

/// What the tools of a session may do. It can change at any time; a tool call obeys the state in which it
/// began.
#[derive(Debug)]
pub struct ToolSandbox {
    surroundings: Surroundings,
    allowances: Option<Arc<dyn Allowances>>,
    is_fixed: bool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// In force, with what is allowed.
    policy: Policy,
    /// What the user has allowed in this session. Stays when the policy changes.
    allowed: Vec<Allowance>,
    /// What the user did not want to allow since the policy was set.
    declined: Vec<Allowance>,
    /// Whether a result has said that the home directory of commands is removed in the end.
    has_explained_home: bool,
    /// Starts commands at [`Level::Off`].
    open: Option<Arc<Sandbox>>,
    /// Starts commands at the other levels. Kept while the level is off: it knows what was contacted.
    confined: Option<Arc<Sandbox>>,
    /// The working directory without links. Set when the tools are first confined, and kept: a link in
    /// its path may lead elsewhere later, and a confined tool may have changed it.
    workspace: Option<PathBuf>,
    /// The last field, so that it is removed after the sandbox that uses it.
    scratch: Option<ScratchDirectory>,
}

impl ToolSandbox {
    /// Creates one at [`Level::Off`] for the absolute directory `cwd`; `home` is the user's home.
    pub fn new(cwd: impl Into<PathBuf>, home: Option<PathBuf>) -> Self {
        Self {
            surroundings: Surroundings {
                workspace: cwd.into(),
                home,
                ..Surroundings::default()
            },
            allowances: None,
            is_fixed: false,
            state: Mutex::default(),
        }
    }

    /// Lets confined tools read these as well.
    #[must_use]
    pub fn readable(mut self, paths: Vec<PathBuf>) -> Self {
        self.surroundings.readable = paths;
        self
    }

    /// Makes these directories empty for commands, wherever they are: those with keys and sessions.
    #[must_use]
    pub fn hidden(mut self, paths: Vec<PathBuf>) -> Self {
        self.surroundings.hidden = paths;
        self
    }

    /// Keeps these variables from commands, at every level: keys of model providers, logins, tokens.
    #[must_use]
    pub fn withheld(mut self, names: Vec<String>) -> Self {
        self.surroundings.withheld = names;
        self
    }

    /// Confines commands without namespaces, as on systems that refuse them.
    #[must_use]
    pub fn without_namespaces(mut self) -> Self {
        self.surroundings.without_namespaces = true;
        self
    }

    /// Keeps what a user allows for the project in `allowances`. Without them, a user can allow something
    /// for the session only.
    #[must_use]
    pub fn allowances(mut self, allowances: Arc<dyn Allowances>) -> Self {
        self.allowances = Some(allowances);
        self
    }

    /// Forbids allowing more while the session runs: for agents whose users do not own the machine.
    #[must_use]
    pub fn fixed(mut self) -> Self {
        self.is_fixed = true;
        self
    }

    /// Returns what is in force, with what the user has allowed.
    pub fn policy(&self) -> Policy {
        self.state().policy.clone()
    }

    pub fn level(&self) -> Level {
        self.state().policy.level
    }

    /// Changes the policy, from the next call on; what the user has allowed in this session stays allowed, and
    /// what the user has declined is asked about again. If it fails, the former policy stays.
    pub fn set_policy(&self, policy: Policy) -> Result<(), SandboxError> {
        let mut state = self.state();
        let allowed = state.allowed.clone();
        self.apply(&mut state, policy, allowed)?;
        state.declined.clear();
        Ok(())
    }

    /// Adds what the user has allowed to the policy, from the next call on.
    pub fn allow(&self, allowed: &[Allowance], period: AllowedFor) -> Result<(), AllowError> {
        if self.is_fixed {
            return Err(AllowError::Fixed);
        }
        if period == AllowedFor::Project {
            let allowances = self.allowances.as_ref().ok_or(AllowError::NoProject)?;
            allowances.keep(allowed).map_err(AllowError::NotKept)?;
        }
        let mut state = self.state();
        let policy = state.policy.clone();
        let mut all = state.allowed.clone();
        all.extend_from_slice(allowed);
        Ok(self.apply(&mut state, policy, all)?)
    }

    /// Notes that the user does not want to allow this.
    pub(crate) fn decline(&self, declined: &[Allowance]) {
        let mut state = self.state();
        for allowance in declined {
            if state.declined.len() < MAX_DECLINED && !state.declined.contains(allowance) {
                state.declined.push(allowance.clone());
            }
        }
    }

    pub(crate) fn has_declined(&self, allowance: &Allowance) -> bool {
        self.state().declined.contains(allowance)
    }

    /// Notes that a result says what becomes of the home directory of commands.
    pub(crate) fn note_home_explained(&self) {
        self.state().has_explained_home = true;
    }

    pub(crate) fn has_explained_home(&self) -> bool {
        self.state().has_explained_home
    }

    /// Returns whether a user can be asked to allow more.
    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// Returns whether a user can allow something for the project.
    pub fn keeps_allowances(&self) -> bool {
        self.allowances.is_some()
    }

    /// Returns the working directory without links, unless the level is [`Level::Off`].
    pub fn directory(&self) -> Option<PathBuf> {
        let state = self.state();
        let confined = state.policy.level != Level::Off;
        state.workspace.clone().filter(|_| confined)
    }

    /// Returns the sandbox in force, which starts commands. Its temporary directory exists as long as
    /// this object does.
    pub fn sandbox(&self) -> Result<Arc<Sandbox>, SandboxError> {
        let mut state = self.state();
        let policy = state.policy.clone();
        if policy.level == Level::Off {
            if let Some(open) = &state.open {
                return Ok(Arc::clone(open));
            }
            let open = Arc::new(Sandbox::new(policy, self.surroundings.clone())?);
            return Ok(Arc::clone(state.open.insert(open)));
        }
        if let Some(confined) = &state.confined {
            return Ok(Arc::clone(confined));
        }
        let scratch = match &state.scratch {
            Some(scratch) => scratch.path().to_owned(),
            None => {
                let made = ScratchDirectory::new(Scratch::Jail).map_err(SandboxError::Scratch)?;
                state.scratch.insert(made).path().to_owned()
            }
        };
        let surroundings = Surroundings {
            workspace: self.find_workspace(&mut state)?,
            scratch,
            ..self.surroundings.clone()
        };
        let confined = Arc::new(Sandbox::new(policy, surroundings)?);
        Ok(Arc::clone(state.confined.insert(confined)))
    }

    /// Returns a sandbox at [`Level::Off`] with the limits and the environment of the policy, for a command
    /// that the user has allowed to run outside.
    pub(crate) fn outside(&self) -> Result<Sandbox, SandboxError> {
        let policy = Policy {
            level: Level::Off,
            ..self.policy()
        };
        Sandbox::new(policy, self.surroundings.clone())
    }

    /// Returns the files of `sandbox`, which is the one in force; `None` at [`Level::Off`].
    pub(crate) fn walls_of(&self, sandbox: &Sandbox) -> Option<Walls> {
        let (directory, scratch) = {
            let state = self.state();
            let scratch = state.scratch.as_ref();
            let scratch = scratch.map(|scratch| scratch.path().to_owned());
            (state.workspace.clone()?, scratch)
        };
        let home = self.surroundings.home.as_deref();
        Walls::of(sandbox, directory, scratch, home)
    }

    /// Returns what file tools may use; `None` at [`Level::Off`].
    pub(crate) fn walls(&self) -> Result<Option<Walls>, SandboxError> {
        if self.level() == Level::Off {
            return Ok(None);
        }
        Ok(self.walls_of(&*self.sandbox()?))
    }

    fn apply(
        &self,
        state: &mut State,
        mut policy: Policy,
        allowed: Vec<Allowance>,
    ) -> Result<(), SandboxError> {
        for allowance in &allowed {
            allowance.add_to(&mut policy.rules);
        }
        if policy.level != Level::Off {
            self.find_workspace(state)?;
            if let Some(confined) = &state.confined {
                confined.set_policy(policy.clone())?;
            }
        }
        state.policy = policy;
        state.allowed = allowed;
        state.open = None;
        Ok(())
    }

    fn find_workspace(&self, state: &mut State) -> Result<PathBuf, SandboxError> {
        if let Some(workspace) = &state.workspace {
            return Ok(workspace.clone());
        }
        let path = &self.surroundings.workspace;
        let failed = |source| SandboxError::Workspace {
            path: path.clone(),
            source,
        };
        let workspace = path.canonicalize().map_err(failed)?;
        Ok(state.workspace.insert(workspace).clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
