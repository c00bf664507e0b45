//! `zot skills show`.

use std::io;

use serde_json::json;
use zot_sdk::skills::ShownSkill;
use zot_terminal::Print;

use super::as_json;
use crate::failure::Failure;
use crate::output::{Format, print, print_json};

pub(super) fn run(shown: &ShownSkill, format: Format) -> Result<(), Failure> {
    match format {
        Format::Text => print(|output| write(output, shown)),
        Format::Json => {
            let mut object = as_json(&shown.skill);
            object["body"] = json!(shown.body);
            print_json(&object)
        }
    }
}

fn write(output: &mut dyn Print, shown: &ShownSkill) -> io::Result<()> {
    let ShownSkill { skill, body } = shown;
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
                "not enforced: the part in parentheses of {}",
                allowed.patterns().join(", ")
            )?;
        }
    }
    if let Some(permissions) = &skill.permissions {
        writeln!(output, "permissions (for information): {permissions}")?;
    }
    write!(output, "\n{body}")?;
    if !body.ends_with('\n') {
        writeln!(output)?;
    }
    Ok(())
}
