//! `zot skills new`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::json;
use zot_sdk::context::check_skill_name;

use super::Failure;
use crate::output::say;

const DESCRIPTION: &str =
    "What this skill is for, and when to use it. Say it in the words of a request that it fits.";

/// Makes the directory and its file; returns the file.
pub(super) fn make(
    directory: &Path,
    name: &str,
    description: Option<&str>,
) -> Result<PathBuf, Failure> {
    check_skill_name(name).map_err(|error| Failure::Refused(error.to_string()))?;
    let directory = directory.join(name);
    let shown = directory.display();
    let failed = |error: io::Error| Failure::Refused(format!("{shown}: {error}"));
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    // Fails when there is anything of that name.
    match fs::create_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(Failure::Refused(format!(
                "{shown} exists already: choose another name"
            )));
        }
        made => made.map_err(failed)?,
    }
    let path = directory.join("SKILL.md");
    fs::write(&path, skeleton(name, description.unwrap_or(DESCRIPTION))).map_err(failed)?;
    Ok(path)
}

pub(super) fn text(name: &str, path: &Path) -> Result<(), Failure> {
    say(format_args!("{name} is in {}. Next:", path.display()))?;
    say(format_args!(
        "  write down how the task is done, step by step"
    ))?;
    say(format_args!("  zot skills show {name}"))?;
    say(format_args!("  zot -p --with-skills \"…\""))?;
    Ok(())
}

fn skeleton(name: &str, description: &str) -> String {
    // A JSON string is a YAML one, whatever is in it.
    let description = json!(description);
    format!(
        "---\nname: {name}\ndescription: {description}\n\
         # While the skill is in use, only the tools in such a line are there, if there is one:\n\
         # allowed-tools: read, bash\n---\n\
         # {name}\n\n\
         1. What to look at first.\n\
         2. What to do, with the commands to run.\n\
         3. How to tell that it worked.\n\n\
         Files beside this one can be named by their path from this directory, such as `reference.md`;\n\
         they are read only when they are needed.\n"
    )
}
