//! The flags that choose which instructions and skills the model gets.

use clap::Args;
use zot_sdk::{ContextSearch, SkillSearch};

use super::heading;

#[derive(Args)]
#[command(next_help_heading = heading::CONTEXT)]
pub(super) struct ContextArguments {
    /// Offer your own and the project's skills in addition to the built-in ones
    #[arg(long, alias = "with-skill")]
    with_skills: bool,
    /// Offer no skills at all, even with --with-skills
    #[arg(long, alias = "no-skills")]
    no_skill: bool,
    /// Do not read AGENTS.md, CLAUDE.md and .zot/instructions.md
    #[arg(long)]
    no_context_files: bool,
}

impl From<ContextArguments> for ContextSearch {
    fn from(arguments: ContextArguments) -> Self {
        Self {
            instructions: !arguments.no_context_files,
            templates: true,
            skills: match (arguments.no_skill, arguments.with_skills) {
                (true, _) => SkillSearch::None,
                (false, true) => SkillSearch::All,
                (false, false) => SkillSearch::BuiltIn,
            },
        }
    }
}
