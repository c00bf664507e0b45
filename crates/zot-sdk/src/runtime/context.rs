//! The context of a runtime: system prompt, tools, skills, templates, mentioned files.

use std::path::PathBuf;

use zot_context::{Problem, Skill};

use super::Runtime;
use crate::system_prompt::ContextKind;

/// A part of the context of every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextPart {
    /// What the part is.
    pub kind: ContextKind,
    /// The tool's name, or where the part comes from.
    pub name: String,
    /// The file it comes from, if it comes from one.
    pub path: Option<PathBuf>,
    /// The extension that the tool belongs to, if any.
    pub extension: Option<String>,
    /// The MCP server that the tool belongs to, if any.
    pub server: Option<String>,
    /// The size of the part.
    pub bytes: usize,
    /// An estimate of four bytes per token.
    pub tokens: u64,
}

impl Runtime {
    /// Returns the parts of the system prompt, then the tools, each with its cost.
    pub fn context(&self) -> Vec<ContextPart> {
        if !self.occupation.is_busy() {
            self.toolbox.refresh(&self.settings);
        }
        self.toolbox.context()
    }

    /// Returns the skills that the model can load.
    pub fn skills(&self) -> Vec<Skill> {
        self.toolbox.skills()
    }

    /// Expands a text that starts with `/name`, if that is a [template]. This is for text typed by a
    /// user; prompts are not expanded on their own.
    ///
    /// [template]: crate::ContextSearch::templates
    pub fn expand_template(&self, text: &str) -> Result<Option<String>, Problem> {
        self.templates.expand(text)
    }

    /// Returns a warning if `text` starts with the name of a template that does not exist.
    pub(crate) fn missing_template(&self, text: &str) -> Option<String> {
        let name = self.templates.missing(text)?;
        let (known, _) = self.templates.list();
        let known: Vec<String> = known
            .iter()
            .map(|template| format!("/{}", template.name))
            .collect();
        let known = match known.is_empty() {
            true => String::new(),
            false => format!(" (available: {})", known.join(", ")),
        };
        Some(format!("no template /{name}{known}; sent as text"))
    }
}
