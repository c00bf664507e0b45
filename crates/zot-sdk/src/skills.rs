//! Skills: instructions for particular tasks, which the model loads when it needs them.
//!
//! They are in `.zot/skills` and `$ZOT_HOME/skills`, in `.claude/skills` and `.agents/skills`
//! below the working directory and below the user's home, and built in.

mod create;
#[cfg(test)]
mod tests;

use std::path::Path;

use zot_context::{SkillDirectories, find_skills};

use crate::workspace::Workspace;

pub use create::{CreateError, CreatedSkill, SkillHome, create};
pub use zot_context::{AllowedTools, FoundSkill, Problem, ProblemCause, Skill, SkillSource};

/// The skills found from a working directory.
#[derive(Debug)]
pub struct SkillList {
    /// All skills, including those hidden by another of the same name.
    pub found: Vec<FoundSkill>,
    /// Why some cannot be used.
    pub problems: Vec<Problem>,
}

/// A skill and the instructions it gives the model.
#[derive(Debug, Clone)]
pub struct ShownSkill {
    /// The skill.
    pub skill: Skill,
    /// The instructions.
    pub body: String,
}

/// A skill cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// There is no such skill.
    #[error("unknown skill {name:?}; known: {}", .known.join(", "))]
    Unknown {
        /// The name that was requested.
        name: String,
        /// The names of all skills.
        known: Vec<String>,
    },
    /// The skill is invalid.
    #[error(transparent)]
    Broken(Problem),
    /// The skill cannot be read.
    #[error("the skill {name:?}: {cause}")]
    Unreadable {
        /// The name that was requested.
        name: String,
        /// The cause.
        cause: ProblemCause,
    },
}

/// Finds all skills.
pub fn list(workspace: &Workspace) -> SkillList {
    let Workspace {
        zot_home,
        cwd,
        user_home,
    } = workspace;
    let directories = SkillDirectories::usual(cwd, zot_home, user_home.as_deref());
    let (found, problems) = find_skills(&directories, cwd);
    SkillList { found, problems }
}

/// Reads the skill that a model would get under this name.
pub fn show(workspace: &Workspace, name: &str) -> Result<ShownSkill, ShowError> {
    let SkillList { found, problems } = list(workspace);
    let used = || found.iter().filter(|found| found.hidden_by.is_none());
    if let Some(found) = used().find(|found| found.skill.name == name) {
        let loaded = found.skill.load();
        let (skill, body) = loaded.map_err(|cause| ShowError::Unreadable {
            name: name.to_owned(),
            cause,
        })?;
        return Ok(ShownSkill { skill, body });
    }
    let is_meant = |problem: &Problem| {
        let directory = problem.path.parent().and_then(Path::file_name);
        directory.is_some_and(|directory| directory == name)
    };
    let known = used().map(|found| found.skill.name.clone()).collect();
    Err(match problems.into_iter().find(is_meant) {
        Some(problem) => ShowError::Broken(problem),
        None => ShowError::Unknown {
            name: name.to_owned(),
            known,
        },
    })
}
