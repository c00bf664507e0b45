//! What an agent is told about where it works: instructions of the project, skills, prompt
//! templates, and the files a prompt mentions.
//!
//! Decisions are functions of texts; a thin reader beside each finds and reads the files, within
//! limits. This crate knows no model, no front end and no configuration: whoever uses it says where
//! to look.

mod attachment;
mod builtin;
mod cost;
mod file;
mod front_matter;
mod instructions;
mod mention;
mod problem;
mod skill;
mod skill_tool;
mod skills;
mod template;

pub use attachment::{Attached, Outcome, Part, attach, attached_parts};
pub use cost::{BYTES_PER_TOKEN, tokens};
pub use file::ReadError;
pub use front_matter::{FrontMatterError, MAX_FRONT_MATTER_BYTES};
pub use instructions::{InstructionFile, Instructions, find_instructions, project_root};
pub use mention::{Mention, mentions};
pub use problem::{Problem, ProblemCause};
pub use skill::{AllowedTools, MAX_SKILL_BYTES, Skill, SkillError, SkillSource, check_skill_name};
pub use skill_tool::{SKILL_TOOL, SkillGuard, SkillTool};
pub use skills::{FoundSkill, MAX_SKILLS, SkillDirectories, SkillSet, find_skills};
pub use template::{Template, TemplateSource, Templates};
