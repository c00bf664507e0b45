//! Creates a new skill from a skeleton.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde_json::json;
use zot_context::{SkillError, check_skill_name};

use crate::workspace::Workspace;

const DESCRIPTION: &str =
    "What this skill is for, and when to use it. Use the words of a typical request.";

/// Where a new skill is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillHome {
    /// `.zot/skills` of the working directory.
    Project,
    /// `$ZOT_HOME/skills`, for all projects.
    User,
}

/// A skill that was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedSkill {
    /// The name of the skill.
    pub name: String,
    /// Its `SKILL.md`.
    pub path: PathBuf,
}

/// A skill could not be created.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The name is invalid.
    #[error(transparent)]
    Name(#[from] SkillError),
    /// The directory exists already.
    #[error("{} exists already: choose another name", .0.display())]
    Exists(PathBuf),
    /// A file could not be written.
    #[error("{}: {source}", .path.display())]
    Write {
        /// The path concerned.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Creates a skill. The model sees only `description` before it decides to load the skill.
pub fn create(
    workspace: &Workspace,
    home: SkillHome,
    name: &str,
    description: Option<&str>,
) -> Result<CreatedSkill, CreateError> {
    check_skill_name(name)?;
    let skills = match home {
        SkillHome::Project => workspace.cwd.join(".zot/skills"),
        SkillHome::User => workspace.zot_home.join("skills"),
    };
    let directory = skills.join(name);
    let failed = |source| CreateError::Write {
        path: directory.clone(),
        source,
    };
    fs::create_dir_all(&skills).map_err(failed)?;
    fs::create_dir(&directory).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CreateError::Exists(directory.clone()),
        _ => failed(error),
    })?;
    let path = directory.join("SKILL.md");
    let text = skeleton(name, description.unwrap_or(DESCRIPTION));
    fs::write(&path, text).map_err(failed)?;
    Ok(CreatedSkill {
        name: name.to_owned(),
        path,
    })
}

fn skeleton(name: &str, description: &str) -> String {
    // Every JSON string is a YAML string.
    let description = json!(description);
    format!(
        "---\nname: {name}\ndescription: {description}\n\
         # To allow only some tools while the skill is in use, list them:\n\
         # allowed-tools: read, bash\n---\n\
         # {name}\n\n\
         1. What to look at first.\n\
         2. What to do, with the commands to run.\n\
         3. How to tell that it worked.\n\n\
         Refer to files beside this one by their path from this directory, such as `reference.md`;\n\
         they are read only when they are needed.\n"
    )
}

impl fmt::Display for CreatedSkill {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, path) = (&self.name, self.path.display());
        write!(
            formatter,
            "{name} is in {path}. Next:\n  \
             write down how the task is done, step by step\n  \
             zot skills show {name}\n  \
             zot -p --with-skills \"…\""
        )
    }
}
