//! One skill: the description in its `SKILL.md`, and how it is read.

mod allowed;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::cost;
use crate::file::read_text;
use crate::front_matter;
use crate::problem::ProblemCause;

pub use allowed::AllowedTools;

/// The longest `SKILL.md`. What a task rarely needs belongs in files next to it.
///
/// Limit: the skill is left out, with a warning.
pub const MAX_SKILL_BYTES: usize = 64 * 1024;

/// The longest description; every request contains all of them.
///
/// Limit: the skill is left out, with a warning.
const MAX_SKILL_DESCRIPTION_BYTES: usize = 1024;

/// Limit: the skill is left out, with a warning.
const MAX_SKILL_NAME_BYTES: usize = 64;

/// Where a skill was found. Of several with the same name, the first in this order is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillSource {
    /// `./.zot/skills`
    Project,
    /// `$ZOT_HOME/skills`
    User,
    /// `./.claude/skills`
    ProjectClaude,
    /// `~/.claude/skills`
    UserClaude,
    /// `./.agents/skills`
    ProjectAgents,
    /// `~/.agents/skills`
    UserAgents,
    BuiltIn,
}

impl SkillSource {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "./.zot/skills",
            Self::User => "$ZOT_HOME/skills",
            Self::ProjectClaude => "./.claude/skills",
            Self::UserClaude => "~/.claude/skills",
            Self::ProjectAgents => "./.agents/skills",
            Self::UserAgents => "~/.agents/skills",
            Self::BuiltIn => "built in",
        }
    }

    /// Returns whether the project's authors control the directory.
    pub(crate) fn is_of_project(self) -> bool {
        matches!(
            self,
            Self::Project | Self::ProjectClaude | Self::ProjectAgents
        )
    }
}

/// What is known about a skill before it is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    /// The only tools available while the skill is in use; `None` restricts nothing.
    pub allowed_tools: Option<AllowedTools>,
    /// The permissions that the author declares. For people.
    pub permissions: Option<Value>,
    pub source: SkillSource,
    /// Its `SKILL.md`; `None` for built-in skills.
    pub path: Option<PathBuf>,
    /// How long its text is, in bytes.
    pub length: usize,
    pub(crate) text: Text,
}

/// Where the text comes from when the skill is used. Files are read only then: they may be long,
/// and may have changed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Text {
    BuiltIn(&'static str),
    File(PathBuf),
}

/// A problem with a `SKILL.md`.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    #[error("it needs a description in its front matter: it is all a model sees before it decides")]
    NoDescription,
    #[error("its {field} must be {expected}")]
    WrongType {
        field: &'static str,
        expected: &'static str,
    },
    #[error(
        "{0:?} is no name that can be used: write letters, digits, -, _ and ., at most 64 bytes"
    )]
    Name(String),
    #[error("its description is longer than 1024 bytes")]
    LongDescription,
    #[error("no text after the front matter")]
    Empty,
}

/// Refuses a name that could not be a directory or a model's argument.
pub fn check_skill_name(name: &str) -> Result<(), SkillError> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let good = !name.is_empty()
        && name.len() <= MAX_SKILL_NAME_BYTES
        && !name.starts_with('.')
        && name.bytes().all(fits);
    match good {
        true => Ok(()),
        false => Err(SkillError::Name(name.to_owned())),
    }
}

impl Skill {
    /// Reads the skill at `path`, a `SKILL.md` in a directory called `directory`.
    pub(crate) fn read(
        path: &Path,
        directory: &str,
        source: SkillSource,
    ) -> Result<Self, ProblemCause> {
        let text = read_text(path, MAX_SKILL_BYTES)?;
        let (mut skill, _) = Self::parse(&text, directory, source, Text::File(path.to_owned()))?;
        skill.path = Some(path.to_owned());
        Ok(skill)
    }

    /// Creates a skill that is part of the program.
    pub(crate) fn built_in(text: &'static str, name: &str) -> Result<Self, ProblemCause> {
        let (skill, _) = Self::parse(text, name, SkillSource::BuiltIn, Text::BuiltIn(text))?;
        Ok(skill)
    }

    fn parse<'a>(
        text: &'a str,
        directory: &str,
        source: SkillSource,
        origin: Text,
    ) -> Result<(Self, &'a str), ProblemCause> {
        let document = front_matter::split(text)?;
        let header = Header::of(document.fields, directory)?;
        if document.body.trim().is_empty() {
            return Err(SkillError::Empty.into());
        }
        let skill = Self {
            name: header.name,
            description: header.description,
            allowed_tools: header.allowed_tools,
            permissions: header.permissions,
            source,
            path: None,
            length: document.body.len(),
            text: origin,
        };
        Ok((skill, document.body))
    }

    /// Reads the current version of the skill, and its text.
    pub fn load(&self) -> Result<(Self, String), ProblemCause> {
        let text = match &self.text {
            Text::BuiltIn(text) => (*text).to_owned(),
            Text::File(path) => read_text(path, MAX_SKILL_BYTES)?,
        };
        let (mut skill, body) = Self::parse(&text, &self.name, self.source, self.text.clone())?;
        skill.path.clone_from(&self.path);
        Ok((skill, body.to_owned()))
    }

    /// Estimates the tokens of its text.
    pub fn tokens(&self) -> u64 {
        cost::tokens(self.length)
    }
}

/// The front matter of a skill.
struct Header {
    name: String,
    description: String,
    allowed_tools: Option<AllowedTools>,
    permissions: Option<Value>,
}

impl Header {
    fn of(mut fields: Map<String, Value>, directory: &str) -> Result<Self, SkillError> {
        let name = match text(&mut fields, "name")? {
            Some(name) => name,
            None => directory.to_owned(),
        };
        check_skill_name(&name)?;
        let description = text(&mut fields, "description")?.ok_or(SkillError::NoDescription)?;
        if description.len() > MAX_SKILL_DESCRIPTION_BYTES {
            return Err(SkillError::LongDescription);
        }
        Ok(Self {
            name,
            description: one_line(&description),
            allowed_tools: match fields.remove("allowed-tools") {
                None | Some(Value::Null) => None,
                Some(value) => Some(AllowedTools::of(&value)?),
            },
            permissions: fields
                .remove("permissions")
                .filter(|permissions| !permissions.is_null()),
        })
    }
}

fn text(
    fields: &mut Map<String, Value>,
    field: &'static str,
) -> Result<Option<String>, SkillError> {
    match fields.remove(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            let text = text.trim();
            Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
        }
        Some(_) => Err(SkillError::WrongType {
            field,
            expected: "a text",
        }),
    }
}

/// A manifest has one line for each skill.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
