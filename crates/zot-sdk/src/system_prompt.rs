//! The system prompt.
//!
//! Parts are ordered by how often they change, so that providers can reuse their cache: common parts come
//! first, then the project's, then the date and the working directory. The last two also follow a replaced
//! prompt, as users of the original expect.

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use zot_context::{InstructionFile, Instructions, SKILL_TOOL, SkillSet};
use zot_conversation::ToolSet;

const IDENTITY: &str = "You are zot, an agent that works for the user on this machine through \
tools. Do what was asked, completely, and nothing beyond it. Look before you change something; \
prefer the smallest change that really solves the problem; check your work by running it where \
that is possible. Say briefly what you did and what you found. When something is unclear and \
guessing wrong would be costly, ask.";

/// The beginning of the system prompt.
pub(crate) enum Base {
    /// The built-in one, which names the tools.
    BuiltIn,
    /// A replacement from the caller.
    Given(String),
    /// `$ZOT_HOME/SYSTEM.md`.
    File { path: PathBuf, text: String },
}

/// The parts of the system prompt.
pub(crate) struct PromptParts {
    pub(crate) base: Base,
    pub(crate) instructions: Vec<InstructionFile>,
    /// All skills; listed only for a model that can load them.
    pub(crate) skills: Option<Arc<SkillSet>>,
    pub(crate) appended: Vec<String>,
    pub(crate) cwd: PathBuf,
}

/// The kind of a part of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ContextKind {
    /// How the agent should work: built in, from `SYSTEM.md`, or given.
    SystemPrompt,
    /// The list of skills.
    Skills,
    /// A file of the project.
    Instructions,
    /// Text that the caller added.
    Appended,
    /// The list of MCP servers.
    Servers,
    /// The date and the working directory.
    Environment,
    /// The name, description and schema of a tool.
    Tool,
}

impl ContextKind {
    /// Returns the name of the kind, as in `zot context --json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SystemPrompt => "system_prompt",
            Self::Skills => "skills",
            Self::Instructions => "instructions",
            Self::Appended => "appended",
            Self::Servers => "mcp_servers",
            Self::Environment => "environment",
            Self::Tool => "tool",
        }
    }
}

/// A part of the system prompt.
pub(crate) struct Section {
    pub(crate) kind: ContextKind,
    /// Where it comes from, in words.
    pub(crate) origin: String,
    pub(crate) path: Option<PathBuf>,
    pub(crate) text: String,
}

impl Section {
    fn new(kind: ContextKind, origin: &str, text: String) -> Self {
        Self {
            kind,
            origin: origin.to_owned(),
            path: None,
            text,
        }
    }

    fn of_file(kind: ContextKind, path: &Path, origin: String, text: String) -> Self {
        Self {
            kind,
            origin,
            path: Some(path.to_owned()),
            text,
        }
    }
}

impl PromptParts {
    /// Composes the system prompt. It contains the date of `began`, even if the session is resumed later:
    /// caches and signed thinking are valid only with the same prompt.
    ///
    /// It names the tools in `base`, which are not those of servers: these are appended while the
    /// conversation goes on, and described by `servers`, which does not change.
    pub(crate) fn compose(
        &self,
        base: &ToolSet,
        servers: Option<&str>,
        began: Timestamp,
    ) -> Arc<str> {
        let sections = self.sections(base, servers, began);
        let texts: Vec<&str> = sections
            .iter()
            .map(|section| section.text.as_str())
            .collect();
        texts.join("\n\n").into()
    }

    pub(crate) fn sections(
        &self,
        base: &ToolSet,
        servers: Option<&str>,
        began: Timestamp,
    ) -> Vec<Section> {
        let tools = base;
        let mut sections = vec![match &self.base {
            Base::BuiltIn => {
                let text = default_prompt(tools, servers);
                Section::new(ContextKind::SystemPrompt, "built in", text)
            }
            Base::Given(text) => Section::new(ContextKind::SystemPrompt, "given", text.clone()),
            Base::File { path, text } => Section::of_file(
                ContextKind::SystemPrompt,
                path,
                "SYSTEM.md".to_owned(),
                text.clone(),
            ),
        }];
        if let Some(skills) = &self.skills
            && tools.get(SKILL_TOOL).is_some()
        {
            let origin = match skills.iter().len() {
                1 => "1 skill".to_owned(),
                count => format!("{count} skills"),
            };
            let manifest = skills.manifest();
            sections.push(Section::new(ContextKind::Skills, &origin, manifest));
        }
        for (index, file) in self.instructions.iter().enumerate() {
            let text = match index {
                0 => format!("{}\n\n{}", Instructions::HEADING, file.section()),
                _ => file.section(),
            };
            let origin = file.shown.clone();
            sections.push(Section::of_file(
                ContextKind::Instructions,
                &file.path,
                origin,
                text,
            ));
        }
        for addition in &self.appended {
            let addition = Section::new(ContextKind::Appended, "given", addition.clone());
            sections.push(addition);
        }
        if let Some(servers) = servers {
            let servers = servers.to_owned();
            sections.push(Section::new(ContextKind::Servers, "MCP servers", servers));
        }
        let environment = environment(&self.cwd, began);
        sections.push(Section::new(
            ContextKind::Environment,
            "built in",
            environment,
        ));
        sections.retain(|section| !section.text.is_empty());
        sections
    }
}

fn default_prompt(tools: &ToolSet, servers: Option<&str>) -> String {
    let names: Vec<&str> = tools
        .definitions()
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    if names.is_empty() && servers.is_some() {
        IDENTITY.to_owned()
    } else if names.is_empty() {
        format!("{IDENTITY}\n\nNo tools are available: answer from what you know and are told.")
    } else {
        format!("{IDENTITY}\n\nTools: {}.", names.join(", "))
    }
}

fn environment(cwd: &Path, began: Timestamp) -> String {
    format!(
        "Current date: {}\nCurrent working directory: {}",
        began.strftime("%Y-%m-%d"),
        cwd.display()
    )
}
