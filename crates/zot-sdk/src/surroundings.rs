//! Finds the project's instructions, skills and prompt templates.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use zot_agent::{Hooks, ToolVerdict};
use zot_context::{
    InstructionFile, SkillDirectories, SkillGuard, SkillSet, SkillTool, Templates,
    find_instructions, find_skills,
};
use zot_conversation::{BoxFuture, Tool, ToolCall};

use crate::config::{ContextSearch, SkillSearch};
use crate::workspace::Workspace;

#[derive(Default)]
pub(crate) struct Surroundings {
    pub(crate) instructions: Vec<InstructionFile>,
    pub(crate) skills: Option<Skills>,
    pub(crate) templates: Templates,
    pub(crate) warnings: Vec<String>,
}

/// The skills of an agent, and the guard that enforces them.
#[derive(Clone)]
pub(crate) struct Skills {
    pub(crate) set: Arc<SkillSet>,
    pub(crate) guard: Arc<SkillGuard>,
}

impl Surroundings {
    pub(crate) fn find(search: &ContextSearch, workspace: &Workspace) -> Self {
        let Workspace {
            cwd,
            zot_home,
            user_home,
        } = workspace;
        let mut surroundings = Self::default();
        let mut problems = Vec::new();
        if search.instructions {
            let found = find_instructions(cwd);
            surroundings.instructions = found.files;
            problems.extend(found.problems);
        }
        let set = match search.skills {
            SkillSearch::None => None,
            SkillSearch::BuiltIn => Some(SkillSet::built_in()),
            SkillSearch::All => {
                let directories = SkillDirectories::usual(cwd, zot_home, user_home.as_deref());
                let (found, broken) = find_skills(&directories, cwd);
                problems.extend(broken);
                Some(SkillSet::new(found))
            }
        };
        surroundings.skills = set.map(|set| Skills {
            set: Arc::new(set),
            guard: Arc::default(),
        });
        if search.templates {
            surroundings.templates = Templates::usual(cwd, zot_home);
        }
        surroundings.warnings = problems.iter().map(ToString::to_string).collect();
        surroundings
    }
}

impl Skills {
    pub(crate) fn tool(&self) -> Arc<dyn Tool> {
        let (set, guard) = (Arc::clone(&self.set), Arc::clone(&self.guard));
        Arc::new(SkillTool::new(set, guard))
    }
}

/// Refuses the calls that a skill in use does not allow.
pub(crate) struct SkillHooks(pub(crate) Arc<SkillGuard>);

impl Hooks for SkillHooks {
    fn before_tool<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolVerdict> {
        let verdict = match self.0.refusal(&call.name) {
            Some(reason) => ToolVerdict::Block { reason },
            None => ToolVerdict::Proceed,
        };
        Box::pin(std::future::ready(verdict))
    }
}
