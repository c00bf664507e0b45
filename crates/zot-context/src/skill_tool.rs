//! The tool `skill`, and the restrictions of a loaded skill.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use serde_json::value::RawValue;
use zot_conversation::{BoxFuture, Tool, ToolDefinition, ToolEffect, ToolInvocation, ToolOutput};

use crate::skill::AllowedTools;
use crate::skills::SkillSet;

/// The name of the tool.
pub const SKILL_TOOL: &str = "skill";

const DESCRIPTION: &str = "Load a skill: instructions for a particular task. The system prompt \
lists the skills there are. Load one before you begin a task it fits, and follow what it says.";

const PARAMETERS: &str = r#"{"type":"object","properties":{"name":{"type":"string","description":"The skill's name, as listed in the system prompt"}},"required":["name"]}"#;

/// Gives the model the text of a skill.
pub struct SkillTool {
    definition: Arc<ToolDefinition>,
    skills: Arc<SkillSet>,
    guard: Arc<SkillGuard>,
}

impl SkillTool {
    pub fn new(skills: Arc<SkillSet>, guard: Arc<SkillGuard>) -> Self {
        let definition = ToolDefinition {
            name: SKILL_TOOL.to_owned(),
            description: DESCRIPTION.to_owned(),
            parameters: RawValue::from_string(PARAMETERS.to_owned())
                .unwrap_or_else(|_| RawValue::NULL.to_owned()),
            // A skill may restrict later calls, so they wait for it.
            effect: ToolEffect::Changes,
        };
        Self {
            definition: Arc::new(definition),
            skills,
            guard,
        }
    }

    fn load(&self, arguments: &RawValue) -> ToolOutput {
        let Some(name) = requested_name(arguments) else {
            return ToolOutput::error("invalid args: name must be a string");
        };
        let Some(skill) = self.skills.get(&name) else {
            let known: Vec<&str> = self
                .skills
                .iter()
                .map(|skill| skill.name.as_str())
                .collect();
            return ToolOutput::error(format!(
                "unknown skill {name:?}; available skills: {}",
                known.join(", ")
            ));
        };
        match skill.load() {
            Ok((skill, body)) => {
                let mut text = String::new();
                if let Some(directory) = skill.path.as_deref().and_then(Path::parent) {
                    text = format!(
                        "[Relative paths in this skill start at {}]\n",
                        directory.display()
                    );
                }
                if let Some(allowed) = skill.allowed_tools {
                    self.guard.restrict(&skill.name, allowed);
                    text.push_str(&format!(
                        "[Until the user's request is answered, {}]\n",
                        self.guard.rule().unwrap_or_default()
                    ));
                }
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&body);
                ToolOutput::text(text)
            }
            Err(cause) => ToolOutput::error(format!(
                "the skill {name:?} cannot be used any more: {cause}"
            )),
        }
    }
}

impl Tool for SkillTool {
    fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.load(invocation.arguments) })
    }

    fn preview(&self, arguments: &RawValue) -> Option<String> {
        let skill = self.skills.get(&requested_name(arguments)?)?;
        Some(format!("{}: {}", skill.name, skill.description))
    }
}

/// Returns the name in the arguments of a call.
fn requested_name(arguments: &RawValue) -> Option<String> {
    let arguments: Value = serde_json::from_str(arguments.get()).ok()?;
    let name = arguments.get("name")?.as_str()?;
    Some(name.trim().to_owned())
}

/// Holds the model to the `allowed-tools` of the skills it has loaded.
///
/// The restriction begins with the call after the one that loaded the skill and ends with the
/// prompt. With several such skills, a tool has to be allowed by each of them: loading another
/// skill cannot lift a restriction. `skill` itself is always allowed.
#[derive(Debug, Default)]
pub struct SkillGuard(Mutex<Vec<(String, AllowedTools)>>);

impl SkillGuard {
    /// Forgets all skills, because a new prompt begins.
    pub fn lift(&self) {
        self.lock().clear();
    }

    /// Returns why a call of `tool` is refused now, for the model to read.
    pub fn refusal(&self, tool: &str) -> Option<String> {
        let in_use = self.lock();
        let by = in_use.iter().find(|(_, allowed)| !allowed.allows(tool));
        let (skill, _) = by.filter(|_| tool != SKILL_TOOL)?;
        let rule = rule(&in_use)?;
        Some(format!(
            "refused: the skill {skill:?} does not allow the tool {tool:?}; until the user's \
             request is answered, {rule}. Go on with these, or tell the user what you would need"
        ))
    }

    fn restrict(&self, skill: &str, allowed: AllowedTools) {
        let mut in_use = self.lock();
        in_use.retain(|(name, _)| name != skill);
        in_use.push((skill.to_owned(), allowed));
    }

    fn rule(&self) -> Option<String> {
        rule(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(String, AllowedTools)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Describes the current restriction.
fn rule(in_use: &[(String, AllowedTools)]) -> Option<String> {
    let ((_, first), others) = in_use.split_first()?;
    let mut names: Vec<&str> = first
        .names()
        .iter()
        .map(String::as_str)
        .filter(|name| *name != SKILL_TOOL)
        .filter(|name| others.iter().all(|(_, allowed)| allowed.allows(name)))
        .collect();
    names.push(SKILL_TOOL);
    Some(format!(
        "only these tools may be used: {}",
        names.join(", ")
    ))
}
