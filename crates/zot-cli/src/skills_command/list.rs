//! `zot skills list`.

use std::io::Write as _;

use serde_json::json;
use zot_sdk::context::{FoundSkill, Problem, SkillSource};

use super::{Failure, object};
use crate::ext_command::terminal::{one_line, write_table};
use crate::output::say_json;
use crate::warn;

/// How much of a description fits on the line of its skill.
const SHOWN_CHARACTERS: usize = 60;

pub(super) fn text(found: &[FoundSkill], problems: &[Problem]) -> Result<(), Failure> {
    let mut rows = vec![["NAME", "TOKENS", "FROM", "OFFERED", "DESCRIPTION"].map(str::to_owned)];
    for FoundSkill { skill, hidden_by } in found {
        let offered = match (hidden_by, skill.source) {
            (Some(winner), _) => format!("no: {} has one", winner.as_str()),
            (None, SkillSource::BuiltIn) => "always".to_owned(),
            (None, _) => "--with-skills".to_owned(),
        };
        rows.push([
            skill.name.clone(),
            skill.tokens().to_string(),
            skill.source.as_str().to_owned(),
            offered,
            beginning(&one_line(&skill.description)),
        ]);
    }
    let mut output = zot_terminal::buffered_stdout();
    write_table(&mut output, &rows)?;
    output.flush()?;
    warn(problems);
    Ok(())
}

pub(super) fn json(found: &[FoundSkill], problems: &[Problem]) -> Result<(), Failure> {
    let skills: Vec<_> = found
        .iter()
        .map(|FoundSkill { skill, hidden_by }| {
            let mut object = object(skill);
            object["hidden_by"] = json!(hidden_by.map(SkillSource::as_str));
            object
        })
        .collect();
    let problems: Vec<_> = problems
        .iter()
        .map(|problem| {
            json!({
                "path": problem.path.display().to_string(),
                "error": problem.cause.to_string(),
            })
        })
        .collect();
    let report = json!({ "skills": skills, "problems": problems });
    Ok(say_json(&report)?)
}

fn beginning(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
