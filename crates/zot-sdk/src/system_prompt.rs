//! What the model is told about its situation.

use std::fmt::Write as _;
use std::path::Path;

use jiff::Timestamp;
use zot_conversation::ToolSet;

const IDENTITY: &str = "You are zot, an agent that works for the user on this machine through \
tools. Do what was asked, completely, and nothing beyond it. Look before you change something; \
prefer the smallest change that really solves the problem; check your work by running it where \
that is possible. Say briefly what you did and what you found. When something is unclear and \
guessing wrong would be costly, ask.";

/// Puts the system prompt together: the base, then what the user appended.
pub(crate) fn compose(
    replaced_by: Option<&str>,
    appended: &[String],
    cwd: &Path,
    tools: &ToolSet,
) -> String {
    let mut prompt = replaced_by.map_or_else(|| default_prompt(cwd, tools), ToOwned::to_owned);
    for addition in appended {
        prompt.push_str("\n\n");
        prompt.push_str(addition);
    }
    prompt
}

fn default_prompt(cwd: &Path, tools: &ToolSet) -> String {
    let mut prompt = IDENTITY.to_owned();
    let names: Vec<&str> = tools
        .definitions()
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    if names.is_empty() {
        prompt.push_str("\n\nNo tools are available: answer from what you know and are told.");
    } else {
        // Writing to a String cannot fail.
        let _ = write!(prompt, "\n\nTools: {}.", names.join(", "));
    }
    let _ = write!(
        prompt,
        "\nWorking directory: {}\nCurrent date: {}",
        cwd.display(),
        Timestamp::now().strftime("%Y-%m-%d")
    );
    prompt
}
