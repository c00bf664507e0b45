//! The sandbox of an agent: what was chosen, and what is in force.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use zot_context::SkillSource;
use zot_process::sandbox::{Policy, SandboxError, has_views};
use zot_tools::ToolSandbox;

use super::allowances::{ForProject, ProjectAllowances};
use super::examined::ExaminedRules;
use super::report::SandboxReport;
use super::strictness::is_within;
use crate::config::{ToolChoice, jailed};
use crate::surroundings::Skills;
use crate::workspace::Workspace;

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
        let rules = directory
            .as_ref()
            .map(|directory| self.examined(&policy, directory));
        SandboxReport {
            chosen: chosen.policy,
            is_jailed: chosen.jail,
            enforcement: policy.enforcement(),
            has_namespaces: has_views(),
            home_inside: user_home.as_ref().is_some_and(is_inside),
            own_directory_rules: match (&rules, &home) {
                (Some(rules), Some(home)) => rules.opening(home),
                _ => Vec::new(),
            },
            own_directory_inside: home.filter(is_inside),
            missing: rules.as_ref().map_or_else(Vec::new, ExaminedRules::missing),
            linked: rules.as_ref().map_or_else(Vec::new, ExaminedRules::linked),
            missing_programs: rules
                .as_ref()
                .map_or_else(Vec::new, ExaminedRules::missing_programs),
            directory: directory.clone().unwrap_or_default(),
            policy: policy.clone(),
        }
    }

    /// Returns which of the protected paths, relative to the working directory, no rule gives free.
    pub(crate) fn protected(&self) -> Vec<&'static str> {
        let directory = self.sandbox.directory().unwrap_or_default();
        let policy = self.sandbox.policy();
        self.examined(&policy, &directory).protected()
    }

    fn examined<'a>(&'a self, policy: &'a Policy, directory: &'a Path) -> ExaminedRules<'a> {
        ExaminedRules {
            policy,
            directory,
            user_home: self.user_home.as_deref(),
        }
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
