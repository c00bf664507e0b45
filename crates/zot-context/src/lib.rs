//! The context of an agent's work: instructions of the project, skills, prompt templates, and the
//! files a prompt mentions.
//!
//! Decisions are pure functions of texts; a thin reader next to each finds and reads the files,
//! within limits. This crate does not depend on models, front ends or configuration: the caller
//! decides where to search.

mod attachment;
mod builtin;
mod cost;
mod file;
mod front_matter;
mod instructions;
mod mention;
mod problem;
mod resource;
mod skill;
mod skill_tool;
mod skills;
mod template;

pub use attachment::{
    Attached, Outcome, Part, attach, attach_resources, attach_with, attached_parts,
};
pub use cost::{BYTES_PER_TOKEN, tokens};
pub use file::ReadError;
pub use front_matter::{FrontMatterError, MAX_FRONT_MATTER_BYTES};
pub use instructions::{InstructionFile, Instructions, find_instructions, project_root};
pub use mention::{Mention, mentions};
pub use problem::{Problem, ProblemCause};
pub use resource::{MentionedResource, Resources};
pub use skill::{AllowedTools, MAX_SKILL_BYTES, Skill, SkillError, SkillSource, check_skill_name};
pub use skill_tool::{SKILL_TOOL, SkillGuard, SkillTool};
pub use skills::{FoundSkill, MAX_SKILLS, SkillDirectories, SkillSet, find_skills};
pub use template::{Template, TemplateSource, Templates, split_words};
