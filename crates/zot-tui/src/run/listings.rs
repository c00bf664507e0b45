//! What the runtime can be asked about itself, for the user to read.

use std::path::Path;

use zot_sdk::sessions::{Library, Scope};
use zot_sdk::{ContentBlock, Message, Role, Runtime};

use crate::app::Input;

/// What of a description is shown.
const DESCRIPTION_CHARACTERS: usize = 90;

/// What the user said, in order.
pub(super) fn prompts(runtime: &Runtime) -> Vec<String> {
    let messages = runtime.messages();
    let prompts = messages.iter().filter_map(prompt).enumerate();
    prompts
        .map(|(index, text)| format!("{}  {}", index + 1, first_line(text)))
        .collect()
}

/// The sessions of the same folder, the newest first; this one is left out.
pub(super) fn sessions(runtime: &Runtime) -> Input {
    let own = runtime.session().map(|session| session.path.clone());
    let Some(folder) = own.as_deref().and_then(Path::parent).and_then(Path::parent) else {
        return note("this conversation has no session (--no-session)".to_owned());
    };
    let cwd = runtime.cwd().display().to_string();
    match Library::new(folder).list(Scope::Directory(&cwd)) {
        Ok(found) => {
            let others = found
                .into_iter()
                .filter(|one| Some(&one.path) != own.as_ref());
            let lines = others.map(|one| {
                let id: String = one.id.chars().take(8).collect();
                format!("{id}  {} prompts  {}", one.prompts, first_line(&one.title))
            });
            Input::Sessions(lines.collect())
        }
        Err(error) => note(format!("the sessions cannot be listed: {error}")),
    }
}

/// What was said before this chat began, as far as a screen has room.
pub(super) fn resumed(runtime: &Runtime, items: usize) -> Option<Input> {
    let messages = runtime.messages();
    let count = messages.len();
    let shown = messages.into_iter().skip(count.saturating_sub(items));
    (count > 0).then(|| Input::Earlier {
        title: format!("going on with a conversation of {count} messages"),
        messages: shown.collect(),
    })
}

/// One of the prompts and what came of it.
pub(super) fn earlier(runtime: &Runtime, index: usize) -> Vec<Input> {
    let messages = runtime.messages();
    let starts = messages.iter().enumerate();
    let starts: Vec<usize> = starts
        .filter(|(_, message)| prompt(message).is_some())
        .map(|(place, _)| place)
        .collect();
    let Some(&start) = starts.get(index) else {
        return Vec::new();
    };
    let end = starts.get(index + 1).copied().unwrap_or(messages.len());
    vec![Input::Earlier {
        title: format!("prompt {} of {}, again:", index + 1, starts.len()),
        messages: messages[start..end].to_vec(),
    }]
}

/// Every request begins with these.
pub(super) fn context(runtime: &Runtime) -> Input {
    let mut parts = runtime.context();
    let total: u64 = parts.iter().map(|part| part.tokens).sum();
    parts.sort_by_key(|part| std::cmp::Reverse(part.tokens));
    let mut text = format!("about {total} tokens before the conversation:");
    for part in parts {
        let from = part
            .extension
            .map(|name| format!(" ({name})"))
            .unwrap_or_default();
        let kind = part.kind.as_str();
        text.push_str(&format!(
            "\n{:>7}  {kind}  {}{from}",
            part.tokens, part.name
        ));
    }
    note(text)
}

pub(super) fn skills(runtime: &Runtime) -> Input {
    let skills = runtime.skills();
    let mut text = match skills.len() {
        0 => "there are no skills: docs/skills.md says where to put some".to_owned(),
        1 => "1 skill:".to_owned(),
        count => format!("{count} skills:"),
    };
    for skill in skills {
        let source = skill.source.as_str();
        let about = first_line(&skill.description);
        text.push_str(&format!("\n{}  {about} ({source})", skill.name));
    }
    note(text)
}

pub(super) fn tools(runtime: &Runtime) -> Input {
    let tools = runtime.tools();
    let mut text = format!("{} tools:", tools.len());
    for tool in tools {
        let from = tool
            .extension
            .map(|name| format!(" ({name})"))
            .unwrap_or_default();
        let state = if tool.enabled { "" } else { " (not given)" };
        let about = first_line(&tool.description);
        text.push_str(&format!("\n{}{from}{state}  {about}", tool.name));
    }
    note(text)
}

fn prompt(message: &Message) -> Option<&str> {
    let said = message.content.iter().find_map(|block| match block {
        ContentBlock::Text { text } => Some(text.as_str()),
        _ => None,
    });
    said.filter(|_| message.role == Role::User)
}

fn first_line(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or("");
    let mut short: String = line.chars().take(DESCRIPTION_CHARACTERS).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

fn note(text: String) -> Input {
    Input::Note {
        text,
        is_error: false,
    }
}
