//! What a runtime tells its model besides the conversation, and what prompts can refer to.

use std::env;
use std::path::PathBuf;

use zot_context::{Attached, Problem, Skill, attach, project_root};

use super::Runtime;
use crate::system_prompt::ContextKind;

/// A piece of what every request begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextPart {
    pub kind: ContextKind,
    /// A tool's name, or where the piece comes from.
    pub name: String,
    /// The file it comes from, if it comes from one.
    pub path: Option<PathBuf>,
    /// Whose tool it is, if it is not the agent's own.
    pub extension: Option<String>,
    pub bytes: usize,
    /// An estimate: four bytes make a token.
    pub tokens: u64,
}

impl Runtime {
    /// The system prompt in its parts, then the tools, with what each costs.
    pub fn context(&self) -> Vec<ContextPart> {
        if !self.occupation.is_busy() {
            self.toolbox.refresh(&self.settings);
        }
        self.toolbox.context()
    }

    /// The skills that the model can load.
    pub fn skills(&self) -> Vec<Skill> {
        self.toolbox.skills()
    }

    /// What a text that begins with `/name` expands to, if that is a [template]. Prompts are not
    /// expanded without being asked for: this is for what a user typed.
    ///
    /// [template]: crate::ContextSearch::templates
    pub fn expand_template(&self, text: &str) -> Result<Option<String>, Problem> {
        self.templates.expand(text)
    }

    /// The files and directories that a text mentions as `@path`, to be put behind it. This is for what
    /// a user typed: text from elsewhere could mention what its author is not to see.
    pub fn attach_mentions(&self, text: &str) -> Attached {
        let root = match self.jail.directory() {
            Some(directory) => directory.to_owned(),
            None => project_root(&self.cwd),
        };
        attach(text, &self.cwd, env::home_dir().as_deref(), &root)
    }
}
