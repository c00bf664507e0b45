//! Asks the user whether a command that the sandbox was in the way of may do more.

use serde::Deserialize;
use serde_json::json;
use zot_conversation::{Answer, JsonObject, Question, QuestionKind};
use zot_process::sandbox::Level;

use crate::sandbox::{Allowance, AllowedFor};

/// The longest part of a command that the question shows, in characters.
///
/// Limit: the question says how much of the command it leaves out.
const MAX_SHOWN_COMMAND: usize = 2000;

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

/// Returns the question. Everything that can be allowed is named in full; `remark` says more about it.
pub(super) fn question(
    level: Level,
    command: &str,
    allowances: &[Allowance],
    remark: Option<&str>,
    kept: Kept,
) -> Option<Question> {
    let names: Vec<String> = allowances.iter().map(ToString::to_string).collect();
    let names = names.join(", ");
    let mut options = vec![json!({
        "const": "once",
        "title": "Yes, outside of the sandbox, this time only",
    })];
    if !allowances.is_empty() {
        options.push(json!({
            "const": "session",
            "title": format!("Session: yes, and allow {names}"),
        }));
        if kept == Kept::Yes {
            options.push(json!({
                "const": "project",
                "title": format!("Project: yes, and always allow {names}"),
            }));
        }
    }
    options.push(json!({"const": "no", "title": "No"}));
    let refused = match (allowances.is_empty(), remark) {
        (true, _) => "may have refused something the command needs".to_owned(),
        (false, None) => format!("refused {names}"),
        (false, Some(remark)) => format!("refused {names} ({remark})"),
    };
    let schema = json!({
        "type": "object",
        "properties": {"choice": {
            "type": "string",
            "title": "Run it again?",
            "oneOf": options,
            "default": "no",
        }},
        "required": ["choice"],
    });
    Some(Question {
        origin: "sandbox".to_owned(),
        message: format!(
            "The sandbox (level {level}) {refused}. The command: {}",
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

/// Returns a command on one line, so that it cannot look like another part of the question.
fn one_line(command: &str) -> String {
    let mut text = String::new();
    for character in command.chars().take(MAX_SHOWN_COMMAND) {
        match character {
            '\n' => text.push_str(" ⏎ "),
            character if crate::sandbox::is_plain(character) => text.push(character),
            _ => text.push('\u{fffd}'),
        }
    }
    let more = command.chars().skip(MAX_SHOWN_COMMAND).count();
    if more > 0 {
        text.push_str(&format!(" … ({more} more characters, see the call)"));
    }
    text
}

#[cfg(test)]
mod tests;
