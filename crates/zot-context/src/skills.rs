//! Finds all skills in their directories.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::builtin;
use crate::file::{entries, require_inside};
use crate::problem::{Problem, ProblemCause};
use crate::skill::{Skill, SkillSource};

/// How many skills are read, including unusable ones.
///
/// Limit: further skills are left out, with a warning.
pub const MAX_SKILLS: usize = 256;

/// The directories that are searched for skills, in order.
#[derive(Debug, Clone, Default)]
pub struct SkillDirectories(Vec<(SkillSource, PathBuf)>);

impl SkillDirectories {
    /// Returns the usual directories: of the project at `cwd`, of zot's own `home`, of the user.
    pub fn usual(cwd: &Path, home: &Path, user: Option<&Path>) -> Self {
        let mut directories = vec![
            (SkillSource::Project, cwd.join(".zot/skills")),
            (SkillSource::User, home.join("skills")),
        ];
        for (project, user_source, name) in [
            (
                SkillSource::ProjectClaude,
                SkillSource::UserClaude,
                ".claude/skills",
            ),
            (
                SkillSource::ProjectAgents,
                SkillSource::UserAgents,
                ".agents/skills",
            ),
        ] {
            directories.push((project, cwd.join(name)));
            directories.extend(user.map(|user| (user_source, user.join(name))));
        }
        Self(directories)
    }
}

/// A skill, and whether it is used.
#[derive(Debug)]
pub struct FoundSkill {
    pub skill: Skill,
    /// The source of the skill of the same name that is used instead.
    pub hidden_by: Option<SkillSource>,
}

/// The skills of an agent: unique names, in the order they were found.
#[derive(Debug, Default)]
pub struct SkillSet {
    skills: Vec<Skill>,
}

impl SkillSet {
    /// Creates a set of the skills in `found` that are not hidden.
    pub fn new(found: Vec<FoundSkill>) -> Self {
        let counted = found.into_iter().filter(|found| found.hidden_by.is_none());
        Self {
            skills: counted.map(|found| found.skill).collect(),
        }
    }

    /// Creates a set of the built-in skills only.
    pub fn built_in() -> Self {
        Self {
            skills: builtin::skills(),
        }
    }

    pub fn get(&self, name: &str) -> Option<&Skill> {
        self.skills.iter().find(|skill| skill.name == name)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Skill> {
        self.skills.iter()
    }

    /// Returns the list of skills for the system prompt.
    pub fn manifest(&self) -> String {
        let mut manifest = "Skills are instructions for particular tasks. When a task fits one of \
            these, call the tool `skill` with its name before you begin, and follow what it says:"
            .to_owned();
        for skill in &self.skills {
            // Writing to a String cannot fail.
            let _ = write!(manifest, "\n- {}: {}", skill.name, skill.description);
        }
        manifest
    }
}

/// Searches all directories, then adds the built-in skills. What cannot be used is reported and
/// skipped.
///
/// A skill of the project whose files are outside of `cwd` is not used: a project could expose its
/// user's files to the model that way.
pub fn find_skills(directories: &SkillDirectories, cwd: &Path) -> (Vec<FoundSkill>, Vec<Problem>) {
    let root = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let mut found: Vec<FoundSkill> = Vec::new();
    let mut problems = Vec::new();
    let mut searched = HashSet::new();
    let mut left = MAX_SKILLS;
    for (source, directory) in &directories.0 {
        // In the user's home, a project's directory and the user's are the same.
        if let Ok(resolved) = directory.canonicalize()
            && !searched.insert(resolved)
        {
            continue;
        }
        for (name, path) in candidates(directory) {
            if left == 0 {
                let cause = ProblemCause::TooMany { limit: MAX_SKILLS };
                problems.push(Problem::new(directory, cause));
                break;
            }
            left -= 1;
            let inside = match source.is_of_project() {
                true => require_inside(&path, &root).map(|_| ()),
                false => Ok(()),
            };
            let read = inside
                .map_err(ProblemCause::from)
                .and_then(|()| Skill::read(&path, &name, *source));
            match read {
                Ok(skill) => add(&mut found, skill),
                Err(cause) => problems.push(Problem::new(path, cause)),
            }
        }
    }
    for skill in builtin::skills() {
        add(&mut found, skill);
    }
    (found, problems)
}

fn add(found: &mut Vec<FoundSkill>, skill: Skill) {
    let mut winners = found.iter().filter(|found| found.hidden_by.is_none());
    let hidden_by = winners
        .find(|found| found.skill.name == skill.name)
        .map(|winner| winner.skill.source);
    found.push(FoundSkill { skill, hidden_by });
}

/// Returns the directories below `directory` that have a `SKILL.md`, sorted by name.
fn candidates(directory: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = entries(directory) else {
        return Vec::new();
    };
    let mut candidates: Vec<(String, PathBuf)> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = entry.path().join("SKILL.md");
            let there = !name.starts_with('.') && path.symlink_metadata().is_ok();
            there.then_some((name, path))
        })
        .collect();
    candidates.sort();
    candidates
}
