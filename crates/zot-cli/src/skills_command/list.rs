//! `zot skills list`.

use std::io;

use serde_json::{Value, json};
use zot_sdk::skills::{FoundSkill, SkillList, SkillSource};
use zot_terminal::Print;

use super::as_json;
use crate::failure::Failure;
use crate::output::{Format, print, print_json};
use crate::text::{one_line, write_table};
use crate::warn;

/// How many characters of a description are shown.
const SHOWN_CHARACTERS: usize = 60;

pub(super) fn run(list: &SkillList, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return print_json(&list_as_json(list));
    }
    print(|output| write(output, &list.found))?;
    warn(&list.problems);
    Ok(())
}

fn write(output: &mut dyn Print, found: &[FoundSkill]) -> io::Result<()> {
    let mut rows = vec![["NAME", "TOKENS", "FROM", "OFFERED", "DESCRIPTION"].map(str::to_owned)];
    for FoundSkill { skill, hidden_by } in found {
        let offered = match (hidden_by, skill.source) {
            (Some(winner), _) => format!("no, hidden by {}", winner.as_str()),
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
    write_table(output, &rows)
}

fn list_as_json(list: &SkillList) -> Value {
    let skills = list.found.iter().map(|FoundSkill { skill, hidden_by }| {
        let mut object = as_json(skill);
        object["hidden_by"] = json!(hidden_by.map(SkillSource::as_str));
        object
    });
    let problems = list.problems.iter().map(|problem| {
        json!({
            "path": problem.path.display().to_string(),
            "error": problem.cause.to_string(),
        })
    });
    json!({
        "skills": skills.collect::<Vec<_>>(),
        "problems": problems.collect::<Vec<_>>(),
    })
}

fn beginning(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
