//! `zot skills`: shows the skills there are, and makes new ones.

mod list;
mod new;
mod show;

use std::env;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use zot_sdk::context::{FoundSkill, Problem, Skill, SkillDirectories, SkillSource, find_skills};
use zot_sdk::zot_home;

use crate::command::CommandFailure;
use crate::failure::FAILED;
use crate::output::say_json;

/// Skills: instructions for particular tasks, which the model loads when it needs them.
#[derive(Parser)]
#[command(
    name = "zot skills",
    bin_name = "zot skills",
    after_help = "A skill is a directory with a SKILL.md. They are found in ./.zot/skills, $ZOT_HOME/skills, ./.claude/skills,\n\
                  ~/.claude/skills, ./.agents/skills and ~/.agents/skills; of two with one name the first wins.\n\
                  Without --with-skills, zot offers the built-in ones only.\n\n\
                  Exit codes: 0 done, 1 failed, 2 usage."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show the skills found from here, and what is wrong with those that cannot be used
    List {
        /// Print an object for programs
        #[arg(long)]
        json: bool,
    },
    /// Show what a skill says
    Show {
        name: String,
        /// Print an object for programs
        #[arg(long)]
        json: bool,
    },
    /// Make a skill to start from, in ./.zot/skills
    New {
        name: String,
        /// Make it in $ZOT_HOME/skills instead, for all your projects
        #[arg(long)]
        global: bool,
        /// When to use it: all a model sees before it decides
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Print an object for programs
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Refused(String),
    #[error("{0}")]
    Output(#[from] io::Error),
}

impl CommandFailure for Failure {
    fn exit_code(&self) -> u8 {
        FAILED
    }

    fn of_output(&self) -> Option<&io::Error> {
        match self {
            Self::Output(error) => Some(error),
            _ => None,
        }
    }
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let cwd = env::current_dir()?;
    let home = zot_home(&|name| env::var(name).ok());
    match arguments.action {
        Action::List { json } => {
            let (found, problems) = find(&cwd, &home);
            match json {
                true => list::json(&found, &problems),
                false => list::text(&found, &problems),
            }
        }
        Action::Show { name, json } => {
            let (found, problems) = find(&cwd, &home);
            let (skill, body) = show::load(&name, &found, &problems)?;
            match json {
                true => show::json(&skill, &body),
                false => show::text(&skill, &body),
            }
        }
        Action::New {
            name,
            global,
            description,
            json,
        } => {
            let directory: PathBuf = match global {
                true => home.join("skills"),
                false => cwd.join(".zot/skills"),
            };
            let path = new::make(&directory, &name, description.as_deref())?;
            match json {
                true => {
                    let made = json!({ "name": name, "path": path.display().to_string() });
                    Ok(say_json(&made)?)
                }
                false => new::text(&name, &path),
            }
        }
    }
}

fn find(cwd: &Path, home: &Path) -> (Vec<FoundSkill>, Vec<Problem>) {
    let directories = SkillDirectories::usual(cwd, home, env::home_dir().as_deref());
    find_skills(&directories, cwd)
}

/// What programs are told about a skill.
fn object(skill: &Skill) -> Value {
    let allowed = skill.allowed_tools.as_ref();
    json!({
        "name": skill.name,
        "description": skill.description,
        "source": skill.source.as_str(),
        "path": skill.path.as_ref().map(|path| path.display().to_string()),
        "tokens": skill.tokens(),
        "allowed_tools": allowed.map(|allowed| allowed.names()),
        "unenforced_patterns": allowed.map_or(&[][..], |allowed| allowed.patterns()),
        "permissions": skill.permissions,
        "built_in": skill.source == SkillSource::BuiltIn,
    })
}
