//! The sandbox of the built-in tools.

use std::path::PathBuf;
use std::sync::Arc;

use zot_context::SkillSource;
use zot_process::sandbox::{Level, Policy, SandboxError};
use zot_tools::{CommandConfinement, ToolSandbox};

use crate::surroundings::Skills;
use crate::workspace::Workspace;

/// What the built-in tools are confined to, and known gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JailReport {
    /// The working directory, with links resolved.
    pub directory: PathBuf,
    /// How well `bash` is confined.
    pub commands: CommandConfinement,
    /// zot's own directory, with keys and sessions, if it is inside.
    pub own_directory_inside: Option<PathBuf>,
}

impl JailReport {
    /// Returns the gaps of the jail, one sentence each.
    pub fn caveats(&self) -> Vec<String> {
        let commands = match &self.commands {
            CommandConfinement::Full => None,
            CommandConfinement::Partial(gap) => Some(format!("bash is confined, but {gap}")),
            CommandConfinement::Impossible(reason) => Some(format!(
                "bash cannot be confined here ({reason}), so it is refused while zot is jailed"
            )),
        };
        let own_directory = self.own_directory_inside.as_ref().map(|directory| {
            format!(
                "zot's own directory, with keys and sessions, is inside it: {}",
                directory.display()
            )
        });
        commands.into_iter().chain(own_directory).collect()
    }
}

/// The sandbox of an agent.
pub(crate) struct Confines {
    sandbox: Arc<ToolSandbox>,
    home: PathBuf,
}

impl Confines {
    /// Creates an open sandbox around the working directory, in which the user's skills can be read when it
    /// is closed. Commands do not get the variables `withheld`.
    pub(crate) fn new(
        workspace: &Workspace,
        skills: Option<&Skills>,
        withheld: Vec<String>,
    ) -> Self {
        let skills = skills.iter().flat_map(|skills| skills.set.iter());
        let readable = skills
            .filter(|skill| is_of_user(skill.source))
            .filter_map(|skill| Some(skill.path.as_deref()?.parent()?.to_owned()))
            .collect();
        let sandbox = ToolSandbox::new(&workspace.cwd, workspace.user_home.clone())
            .readable(readable)
            .withheld(withheld);
        Self {
            sandbox: Arc::new(sandbox),
            home: workspace.zot_home.clone(),
        }
    }

    pub(crate) fn of_tools(&self) -> Arc<ToolSandbox> {
        Arc::clone(&self.sandbox)
    }

    /// Confines the tools as `--jail` does.
    pub(crate) fn close(&self) -> Result<JailReport, SandboxError> {
        let policy = self.sandbox.policy();
        let mut jail = Policy::jail();
        jail.rules.limits = policy.rules.limits;
        jail.rules.environment = policy.rules.environment;
        self.sandbox.set_policy(jail)?;
        let directory = self.sandbox.directory().unwrap_or_default();
        Ok(self.report_about(directory))
    }

    pub(crate) fn open(&self) {
        let policy = Policy {
            level: Level::Off,
            ..self.sandbox.policy()
        };
        // Nothing can fail at this level: nothing is confined.
        let _ = self.sandbox.set_policy(policy);
    }

    /// Returns the working directory without links, if the tools are confined to it.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        self.sandbox.directory()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.sandbox.level() != Level::Off
    }

    pub(crate) fn report(&self) -> Option<JailReport> {
        Some(self.report_about(self.sandbox.directory()?))
    }

    fn report_about(&self, directory: PathBuf) -> JailReport {
        let home = self.home.canonicalize().ok();
        JailReport {
            commands: CommandConfinement::here(),
            own_directory_inside: home.filter(|home| home.starts_with(&directory)),
            directory,
        }
    }
}

/// Returns whether a skill belongs to the user; those of a project are inside the jail.
fn is_of_user(source: SkillSource) -> bool {
    matches!(
        source,
        SkillSource::User | SkillSource::UserClaude | SkillSource::UserAgents
    )
}

#[cfg(test)]
mod tests;
