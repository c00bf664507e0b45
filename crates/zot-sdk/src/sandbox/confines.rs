//! The sandbox of an agent: what was chosen, and what is in force.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zot_context::SkillSource;
use zot_process::launch::{Enforcement, Status, programs_needed};
use zot_process::sandbox::{Level, PROTECTED, Policy, SandboxError, has_views};
use zot_tools::ToolSandbox;

use super::allowances::{ForProject, ProjectAllowances};
use super::strictness::is_within;
use crate::config::{ToolChoice, jailed};
use crate::surroundings::Skills;
use crate::workspace::Workspace;

/// What the built-in tools may do, and known gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxReport {
    /// What is in force.
    pub policy: Policy,
    /// What was chosen besides the jail.
    pub chosen: Policy,
    /// Whether the jail adds to it.
    pub is_jailed: bool,
    /// The working directory, with links resolved.
    pub directory: PathBuf,
    /// What this system enforces of it.
    pub enforcement: Enforcement,
    /// Whether this system has the namespaces that enforce it best.
    pub has_namespaces: bool,
    /// Whether the user's home directory is inside.
    pub home_inside: bool,
    /// zot's own directory, with keys and sessions, if it is inside.
    pub own_directory_inside: Option<PathBuf>,
    /// Paths of rules that open zot's own directory although it is empty otherwise.
    pub own_directory_rules: Vec<PathBuf>,
    /// Paths of rules that do not exist, which therefore allow nothing.
    pub missing: Vec<PathBuf>,
    /// Programs of the rule `run` that were not found.
    pub missing_programs: Vec<PathBuf>,
}

impl SandboxReport {
    /// Returns the gaps of the sandbox and the rules without effect, one sentence each.
    pub fn caveats(&self) -> Vec<String> {
        let files = match &self.enforcement.files {
            Status::Enforced | Status::NotRequested => None,
            Status::Partly(gap) => Some(format!("bash is confined, but {gap}")),
            Status::NotEnforced(reason) => Some(format!(
                "bash cannot be confined here ({reason}), so it is refused in the sandbox"
            )),
        };
        let can_run = !matches!(self.enforcement.files, Status::NotEnforced(_));
        let others = [
            ("the programs that bash starts", &self.enforcement.execution),
            ("the network of bash", &self.enforcement.network),
            ("the memory of bash", &self.enforcement.memory),
            ("the processes of bash", &self.enforcement.process_count),
        ];
        let others = others
            .into_iter()
            .filter_map(|(part, status)| match status {
                Status::Enforced | Status::NotRequested => None,
                Status::Partly(gap) => Some(format!("{part}: {gap}")),
                Status::NotEnforced(reason) => {
                    Some(format!("{part} cannot be limited here ({reason})"))
                }
            });
        // With namespaces, it is empty there.
        let own_directory = self.own_directory_inside.as_ref();
        let own_directory = own_directory.filter(|_| !self.has_namespaces);
        let own_directory = own_directory.map(|directory| {
            format!(
                "zot's own directory, with keys and sessions, is inside it: {}",
                directory.display()
            )
        });
        let gaps = files.into_iter().chain(others.filter(|_| can_run));
        if self.policy.level == Level::Off {
            return gaps.collect();
        }
        let opened = self.own_directory_rules.iter().map(|path| {
            let path = path.display();
            format!("a rule opens zot's own directory, with keys, sessions and extensions: {path}")
        });
        let missing = self.missing.iter().map(|path| {
            let path = path.display();
            format!("{path} does not exist, so the rule that names it has no effect")
        });
        let programs = self.missing_programs.iter().map(|program| {
            let program = program.display();
            format!("{program} was not found, so the rule for programs does not let it start")
        });
        gaps.chain(self.gaps_without_namespaces().filter(|_| can_run))
            .chain(self.home_gap())
            .chain(own_directory)
            .chain(opened)
            .chain(missing)
            .chain(programs)
            .collect()
    }

    /// Returns what is enforced less well because there are no namespaces.
    fn gaps_without_namespaces(&self) -> impl Iterator<Item = String> {
        let rules = &self.policy.rules;
        let is_writable = self.policy.level == Level::Workspace || !rules.write.is_empty();
        let has_hosts = !rules.connect.is_empty() && !rules.allows_every_host();
        let gaps = [
            (
                is_writable,
                "protected files can be changed here; zot reports it afterwards",
            ),
            (
                true,
                "modes and times of files cannot be changed here, so what compilers make is not executable",
            ),
            (
                has_hosts,
                "connections to hosts are refused here, also to those that rules allow",
            ),
        ];
        let has_gaps = !self.has_namespaces;
        let gaps = gaps
            .into_iter()
            .filter(move |(applies, _)| has_gaps && *applies);
        gaps.map(|(_, gap)| gap.to_owned())
    }

    fn home_gap(&self) -> Option<String> {
        let allowed = match self.policy.level {
            Level::ReadOnly => "read",
            Level::Off | Level::Workspace => "read and changed",
        };
        self.home_inside.then(|| {
            format!(
                "the working directory contains your home directory: everything in it, keys in ~/.ssh \
                 included, can be {allowed}"
            )
        })
    }
}

/// Why the sandbox was not changed.
#[derive(Debug, thiserror::Error)]
pub enum SandboxChangeError {
    /// [`SandboxChoice::is_fixed`](crate::SandboxChoice::is_fixed).
    #[error("the sandbox of this agent is fixed: it can only become stricter")]
    Fixed,
    /// It cannot be applied; the former one stays.
    #[error(transparent)]
    Unusable(#[from] SandboxError),
}

/// The sandbox of an agent.
pub(crate) struct Confines {
    sandbox: Arc<ToolSandbox>,
    home: PathBuf,
    user_home: Option<PathBuf>,
    initial: Chosen,
    is_fixed: bool,
    chosen: Mutex<Chosen>,
}

/// The two things that users choose: a policy, and the jail.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Chosen {
    policy: Policy,
    jail: bool,
}

impl Chosen {
    fn in_force(&self) -> Policy {
        match self.jail {
            true => jailed(self.policy.clone()),
            false => self.policy.clone(),
        }
    }
}

impl Confines {
    /// Applies what `choice` says, with what the user once allowed for this directory. The skills of the
    /// user can be read; commands do not get the variables `withheld`. Returns warnings as well.
    pub(crate) fn new(
        choice: &ToolChoice,
        workspace: &Workspace,
        skills: Option<&Skills>,
        withheld: Vec<String>,
    ) -> Result<(Self, Vec<String>), SandboxError> {
        let skills = skills.iter().flat_map(|skills| skills.set.iter());
        let readable = skills
            .filter(|skill| is_of_user(skill.source))
            .filter_map(|skill| Some(skill.path.as_deref()?.parent()?.to_owned()))
            .collect();
        let mut sandbox = ToolSandbox::new(&workspace.cwd, workspace.user_home.clone())
            .readable(readable)
            .hidden(vec![workspace.zot_home.clone()])
            .withheld(withheld);
        let mut warnings = Vec::new();
        let mut policy = choice.sandbox.policy();
        if choice.sandbox.is_fixed {
            sandbox = sandbox.fixed();
        } else {
            let store = ProjectAllowances::new(&workspace.zot_home);
            match store.list(&workspace.cwd) {
                Ok(allowed) => allowed
                    .iter()
                    .for_each(|allowance| allowance.add_to(&mut policy.rules)),
                Err(error) => warnings.push(crate::with_causes(&error)),
            }
            sandbox = sandbox.allowances(Arc::new(ForProject {
                store,
                directory: workspace.cwd.clone(),
            }));
        }
        let chosen = Chosen {
            policy,
            jail: choice.jail,
        };
        sandbox.set_policy(chosen.in_force())?;
        let confines = Self {
            sandbox: Arc::new(sandbox),
            home: workspace.zot_home.clone(),
            user_home: workspace.user_home.clone(),
            initial: chosen.clone(),
            is_fixed: choice.sandbox.is_fixed,
            chosen: Mutex::new(chosen),
        };
        warnings.extend(confines.report().caveats());
        Ok((confines, warnings))
    }

    pub(crate) fn of_tools(&self) -> Arc<ToolSandbox> {
        Arc::clone(&self.sandbox)
    }

    /// Returns the policy that was chosen at the start, without the jail.
    pub(crate) fn initial(&self) -> &Policy {
        &self.initial.policy
    }

    /// Replaces the policy; the jail stays as it is.
    pub(crate) fn set(&self, policy: Policy) -> Result<SandboxReport, SandboxChangeError> {
        self.change(|chosen| chosen.policy = policy)
    }

    pub(crate) fn set_jail(&self, jail: bool) -> Result<SandboxReport, SandboxChangeError> {
        self.change(|chosen| chosen.jail = jail)
    }

    fn change(
        &self,
        change: impl FnOnce(&mut Chosen),
    ) -> Result<SandboxReport, SandboxChangeError> {
        {
            let mut chosen = self.chosen();
            let mut changed = chosen.clone();
            change(&mut changed);
            let policy = changed.in_force();
            if self.is_fixed && !is_within(&policy, &self.initial.in_force()) {
                return Err(SandboxChangeError::Fixed);
            }
            self.sandbox.set_policy(policy)?;
            *chosen = changed;
        }
        Ok(self.report())
    }

    /// Returns the working directory without links, if the tools are confined to it.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        self.sandbox.directory()
    }

    pub(crate) fn report(&self) -> SandboxReport {
        let chosen = self.chosen().clone();
        let directory = self.sandbox.directory();
        let home = self.home.canonicalize().ok();
        let user_home = self.user_home.as_ref();
        let user_home = user_home.and_then(|home| home.canonicalize().ok());
        let is_inside = |home: &PathBuf| {
            let directory = directory.as_deref();
            directory.is_some_and(|directory: &Path| home.starts_with(directory))
        };
        // With what the user has allowed when a command asked for it.
        let policy = self.sandbox.policy();
        SandboxReport {
            chosen: chosen.policy,
            is_jailed: chosen.jail,
            enforcement: policy.enforcement(),
            has_namespaces: has_views(),
            home_inside: user_home.as_ref().is_some_and(is_inside),
            own_directory_rules: match (&directory, &home) {
                (Some(directory), Some(home)) => self.rules_that_open(home, &policy, directory),
                _ => Vec::new(),
            },
            own_directory_inside: home.filter(is_inside),
            missing: match &directory {
                Some(directory) => self.missing(&policy, directory),
                None => Vec::new(),
            },
            missing_programs: match &directory {
                Some(directory) => self.missing_programs(&policy, directory),
                None => Vec::new(),
            },
            directory: directory.unwrap_or_default(),
            policy,
        }
    }

    /// Returns the paths of rules that name `home`, or let something in it be changed: what is in it, such as
    /// extensions, runs outside of the sandbox.
    fn rules_that_open(&self, home: &Path, policy: &Policy, directory: &Path) -> Vec<PathBuf> {
        let opens = |path: &&PathBuf, is_change: bool| {
            let full = self.path_of_rule(path, directory);
            full == home || is_change && full.starts_with(home)
        };
        let rules = &policy.rules;
        let read = rules.read.iter().filter(|path| opens(path, false));
        let write = rules.write.iter().filter(|path| opens(path, true));
        read.chain(write).cloned().collect()
    }

    /// Returns the path of a rule, without links and steps upwards as far as it exists.
    fn path_of_rule(&self, path: &Path, directory: &Path) -> PathBuf {
        let path = match (path.strip_prefix("~"), &self.user_home) {
            (Ok(inside), Some(home)) => home.join(inside),
            _ => directory.join(path),
        };
        let parent = || {
            let parent = path.parent()?.canonicalize().ok()?;
            Some(parent.join(path.file_name()?))
        };
        let found = path.canonicalize().ok().or_else(parent);
        found.unwrap_or(path)
    }

    /// Returns the paths of rules that do not exist.
    fn missing(&self, policy: &Policy, directory: &Path) -> Vec<PathBuf> {
        let rules = &policy.rules;
        let full = |path: &PathBuf| self.path_of_rule(path, directory);
        let writable: Vec<PathBuf> = rules.write.iter().map(full).collect();
        // A rule may name a protected file before it exists.
        let may_be_created = |path: &PathBuf| {
            let workspace = (policy.level == Level::Workspace).then_some(directory);
            let mut places = writable.iter().map(PathBuf::as_path).chain(workspace);
            places.any(|place| path != place && path.starts_with(place) && place.exists())
        };
        let mut missing: Vec<PathBuf> = writable.clone();
        missing.retain(|path| !may_be_created(path));
        let others = rules.read.iter().chain(&rules.unix_sockets);
        missing.extend(others.map(full));
        missing.retain(|path| !path.exists());
        missing
    }

    /// Returns the programs of the rule `run` that cannot be found.
    fn missing_programs(&self, policy: &Policy, directory: &Path) -> Vec<PathBuf> {
        // Names are looked up as a shell does.
        let search_path = std::env::var_os("PATH").unwrap_or_default();
        let is_found = |program: &PathBuf| match program.components().count() {
            1 => !programs_needed(program, &search_path).is_empty(),
            _ => self.path_of_rule(program, directory).exists(),
        };
        let programs = policy.rules.run.iter().flatten();
        programs
            .filter(|program| !is_found(program))
            .cloned()
            .collect()
    }

    /// Returns which of the protected paths, relative to the working directory, no rule gives free.
    pub(crate) fn protected(&self) -> Vec<&'static str> {
        let directory = self.sandbox.directory().unwrap_or_default();
        let rules = self.sandbox.policy().rules;
        let named = rules.write.iter();
        let named: Vec<PathBuf> = named
            .map(|path| self.path_of_rule(path, &directory))
            .filter(|path| *path != directory)
            .collect();
        let is_free = |name: &&str| {
            let path = directory.join(name);
            named.iter().any(|named| path.starts_with(named))
        };
        let protected = PROTECTED.into_iter();
        protected.filter(|name| !is_free(name)).collect()
    }

    /// Returns what was chosen, with what the user has allowed meanwhile because a command needed it.
    fn chosen(&self) -> MutexGuard<'_, Chosen> {
        let mut chosen = self.chosen.lock().unwrap_or_else(PoisonError::into_inner);
        let (live, applied) = (self.sandbox.policy().rules, chosen.in_force().rules);
        let rules = &mut chosen.policy.rules;
        add_new(&mut rules.connect, live.connect, &applied.connect);
        add_new(&mut rules.read, live.read, &applied.read);
        add_new(&mut rules.write, live.write, &applied.write);
        chosen
    }
}

/// Adds the entries of `live` that are not in `applied`.
fn add_new<T: PartialEq>(list: &mut Vec<T>, live: Vec<T>, applied: &[T]) {
    list.extend(live.into_iter().filter(|entry| !applied.contains(entry)));
}

/// Returns whether a skill belongs to the user; those of a project are inside the sandbox.
fn is_of_user(source: SkillSource) -> bool {
    matches!(
        source,
        SkillSource::User | SkillSource::UserClaude | SkillSource::UserAgents
    )
}
