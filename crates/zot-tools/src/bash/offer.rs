//! Asks the user whether a command that the sandbox was in the way of may do more.

use serde::Deserialize;
use serde_json::json;
use zot_conversation::{Answer, JsonObject, Question, QuestionKind};
use zot_process::sandbox::Level;

use crate::sandbox::{Allowance, AllowedFor};

/// The longest part of a command that the question shows, in characters.
///
/// Limit: the rest of the command is left out of the question.
const MAX_SHOWN_COMMAND: usize = 300;

/// What the user decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// The command is run once more outside of the sandbox.
    Once,
    /// What was refused is allowed, and the command is run once more.
    Allow(AllowedFor),
    No,
}

/// Whether something can be allowed for the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    Yes,
    No,
}

/// Returns the question. Everything that can be allowed is named in full.
pub(super) fn question(
    level: Level,
    command: &str,
    allowances: &[Allowance],
    kept: Kept,
) -> Option<Question> {
    let names: Vec<String> = allowances.iter().map(ToString::to_string).collect();
    let names = names.join(", ");
    let mut options = vec![json!({
        "const": "once",
        "title": "Run this command once more, outside of the sandbox",
    })];
    if !allowances.is_empty() {
        options.push(json!({
            "const": "session",
            "title": format!("Allow {names} for this session, and run it once more"),
        }));
        if kept == Kept::Yes {
            options.push(json!({
                "const": "project",
                "title": format!("Allow {names} in this project from now on, and run it once more"),
            }));
        }
    }
    options.push(json!({"const": "no", "title": "No"}));
    let refused = match allowances.is_empty() {
        true => "something the command needs".to_owned(),
        false => names,
    };
    let schema = json!({
        "type": "object",
        "properties": {"choice": {
            "type": "string",
            "title": "What shall happen?",
            "oneOf": options,
            "default": "no",
        }},
        "required": ["choice"],
    });
    Some(Question {
        origin: "sandbox".to_owned(),
        message: format!(
            "The sandbox (level {level}) refused {refused}. The command: {}",
            one_line(command)
        ),
        kind: QuestionKind::Form {
            schema: JsonObject::parse(&schema.to_string()).ok()?,
        },
    })
}

/// Returns what the answer decides. Everything but a clear yes is a no.
pub(super) fn choice(answer: &Answer, allowances: &[Allowance], kept: Kept) -> Choice {
    #[derive(Deserialize)]
    struct Content {
        choice: String,
    }
    let Answer::Accept {
        content: Some(content),
    } = answer
    else {
        return Choice::No;
    };
    let Ok(Content { choice }) = serde_json::from_str(content.as_str()) else {
        return Choice::No;
    };
    match choice.as_str() {
        "once" => Choice::Once,
        "session" if !allowances.is_empty() => Choice::Allow(AllowedFor::Session),
        "project" if !allowances.is_empty() && kept == Kept::Yes => {
            Choice::Allow(AllowedFor::Project)
        }
        _ => Choice::No,
    }
}

/// Returns the beginning of a command on one line, so that it cannot look like another part of the
/// question.
fn one_line(command: &str) -> String {
    let visible = |character: char| match crate::sandbox::is_plain(character) {
        true => character,
        false => ' ',
    };
    let mut text: String = command
        .chars()
        .take(MAX_SHOWN_COMMAND)
        .map(visible)
        .collect();
    if command.chars().nth(MAX_SHOWN_COMMAND).is_some() {
        text.push_str(" …");
    }
    text
}

#[cfg(test)]
mod tests;
