//! `zot skills`: lists, shows and creates skills.

mod list;
mod show;

use clap::{Parser, Subcommand};
use serde_json::{Value, json};
use zot_sdk::Workspace;
use zot_sdk::skills::{self, Skill, SkillHome, SkillSource};

use crate::failure::Failure;
use crate::output::{Format, print_json, print_line};

/// List, show and create skills
#[derive(Parser)]
#[command(
    name = "zot skills",
    bin_name = "zot skills",
    after_help = "Without a command: list.\n\
                  A skill is a directory with a SKILL.md: instructions that the model loads when it needs them. zot looks for skills in ./.zot/skills, $ZOT_HOME/skills, ./.claude/skills, \
                  ~/.claude/skills, ./.agents/skills and ~/.agents/skills; if two have the same name, the first wins.\n\
                  Without --with-skills, zot offers only the built-in skills.\n\n\
                  Exit codes: 0 done, 1 failed, 2 usage."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    /// List the skills found from here, and report those that cannot be used
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the instructions of a skill
    Show {
        /// The name of the skill
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Create a skill in ./.zot/skills
    New {
        /// The name of the skill
        name: String,
        /// Create it in $ZOT_HOME/skills instead, for all projects
        #[arg(long)]
        global: bool,
        /// When to use the skill; the model sees only this until it loads the skill
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let workspace = &Workspace::of_process();
    match arguments.action.unwrap_or(Action::List { json: false }) {
        Action::List { json } => list::run(&skills::list(workspace), Format::of(json)),
        Action::Show { name, json } => {
            show::run(&skills::show(workspace, &name)?, Format::of(json))
        }
        Action::New {
            name,
            global,
            description,
            json,
        } => {
            let home = match global {
                true => SkillHome::User,
                false => SkillHome::Project,
            };
            let made = skills::create(workspace, home, &name, description.as_deref())?;
            match json {
                true => print_json(&json!({ "name": made.name, "path": made.path })),
                false => print_line(made),
            }
        }
    }
}

/// A skill as JSON.
fn as_json(skill: &Skill) -> Value {
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
