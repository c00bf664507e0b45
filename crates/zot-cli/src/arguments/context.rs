//! The flags about what the model is told about the project.

use clap::Args;
use zot_sdk::{ContextSearch, SkillSearch};

#[derive(Args)]
pub(super) struct ContextArguments {
    /// Offer the skills of the project and the user, not only the built-in ones
    #[arg(long, alias = "with-skill")]
    with_skills: bool,
    /// Offer no skills and no `skill` tool, overriding --with-skills
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
