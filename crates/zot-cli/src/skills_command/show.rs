//! `zot skills show`.

use std::io::Write as _;

use serde_json::json;
use zot_sdk::context::{FoundSkill, Problem, Skill};

use super::{Failure, object};
use crate::output::say_json;

/// The skill of that name, as it is now.
pub(super) fn load(
    name: &str,
    found: &[FoundSkill],
    problems: &[Problem],
) -> Result<(Skill, String), Failure> {
    let counted = || found.iter().filter(|found| found.hidden_by.is_none());
    if let Some(found) = counted().find(|found| found.skill.name == name) {
        return found
            .skill
            .load()
            .map_err(|cause| Failure::Refused(format!("the skill {name:?}: {cause}")));
    }
    let directory = |problem: &&Problem| {
        let directory = problem
            .path
            .parent()
            .and_then(|directory| directory.file_name());
        directory.is_some_and(|directory| directory == name)
    };
    Err(Failure::Refused(match problems.iter().find(directory) {
        Some(problem) => problem.to_string(),
        None => {
            let names: Vec<&str> = counted().map(|found| found.skill.name.as_str()).collect();
            format!(
                "there is no skill {name:?} here; there are: {}",
                names.join(", ")
            )
        }
    }))
}

pub(super) fn text(skill: &Skill, body: &str) -> Result<(), Failure> {
    let mut output = zot_terminal::buffered_stdout();
    writeln!(output, "{}: {}", skill.name, skill.description)?;
    let from = match &skill.path {
        Some(path) => path.display().to_string(),
        None => skill.source.as_str().to_owned(),
    };
    writeln!(output, "from: {from}, about {} tokens", skill.tokens())?;
    if let Some(allowed) = &skill.allowed_tools {
        writeln!(output, "allowed tools: {}", allowed.names().join(", "))?;
        if !allowed.patterns().is_empty() {
            writeln!(
                output,
                "not enforced: what stands in parentheses in {}",
                allowed.patterns().join(", ")
            )?;
        }
    }
    if let Some(permissions) = &skill.permissions {
        writeln!(output, "permissions (for information): {permissions}")?;
    }
    write!(output, "\n{}", body)?;
    if !body.ends_with('\n') {
        writeln!(output)?;
    }
    Ok(output.flush()?)
}

pub(super) fn json(skill: &Skill, body: &str) -> Result<(), Failure> {
    let mut object = object(skill);
    object["body"] = json!(body);
    Ok(say_json(&object)?)
}
