//! The jail of the built-in tools.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zot_context::SkillSource;
use zot_tools::{CommandConfinement, Jail, JailError};

use crate::surroundings::Skills;

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

/// The jail of an agent.
pub(crate) struct Confines {
    jail: Arc<Jail>,
    home: PathBuf,
}

impl Confines {
    /// Creates a jail around `cwd` in which the user's skills can still be read.
    pub(crate) fn new(cwd: &Path, home: &Path, skills: Option<&Skills>) -> Self {
        let skills = skills.iter().flat_map(|skills| skills.set.iter());
        let readable = skills
            .filter(|skill| is_of_user(skill.source))
            .filter_map(|skill| Some(skill.path.as_deref()?.parent()?.to_owned()))
            .collect();
        Self {
            jail: Arc::new(Jail::new(cwd, readable)),
            home: home.to_owned(),
        }
    }

    pub(crate) fn of_tools(&self) -> Arc<Jail> {
        Arc::clone(&self.jail)
    }

    pub(crate) fn close(&self) -> Result<JailReport, JailError> {
        let directory = self.jail.close()?;
        Ok(self.report_about(directory))
    }

    pub(crate) fn open(&self) {
        self.jail.open();
    }

    /// Returns the directory of the jail, if it is closed.
    pub(crate) fn directory(&self) -> Option<&Path> {
        self.jail.directory()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.jail.directory().is_some()
    }

    pub(crate) fn report(&self) -> Option<JailReport> {
        Some(self.report_about(self.jail.directory()?))
    }

    fn report_about(&self, directory: &Path) -> JailReport {
        let home = self.home.canonicalize().ok();
        JailReport {
            directory: directory.to_owned(),
            commands: CommandConfinement::here(),
            own_directory_inside: home.filter(|home| home.starts_with(directory)),
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
