//! Lists and reports about the runtime.

use std::path::Path;
use std::sync::Arc;

use zot_sdk::conversation::{ContentBlock, Message};
use zot_sdk::credentials::{CredentialKind, CredentialStatus, Credentials};
use zot_sdk::{ApprovalScope, Runtime};

use crate::app::{Input, Listed, LogAction};

/// The part of a description that is shown.
const DESCRIPTION_CHARACTERS: usize = 90;

/// The prompts of the conversation, in order.
pub(super) fn prompts(runtime: &Runtime) -> Vec<String> {
    let messages = runtime.transcript();
    let prompts = messages
        .iter()
        .filter_map(|message| prompt(message))
        .enumerate();
    prompts
        .map(|(index, text)| format!("{}  {}", index + 1, first_line(text)))
        .collect()
}

/// The text of the prompt with this index.
pub(super) fn prompt_at(runtime: &Runtime, index: usize) -> Option<String> {
    let messages = runtime.transcript();
    let text = messages
        .iter()
        .filter_map(|message| prompt(message))
        .nth(index)?;
    Some(text.to_owned())
}

/// The end of a conversation that this chat continues.
pub(super) fn resumed(runtime: &Runtime, items: usize) -> Option<Input> {
    let messages = runtime.transcript();
    let count = messages.len();
    let shown = messages.into_iter().skip(count.saturating_sub(items));
    (count > 0).then(|| Input::Earlier {
        title: format!("resumed a conversation of {count} messages"),
        messages: shown.collect(),
    })
}

/// The messages from each prompt to the next.
pub(super) fn turns(messages: &[Arc<Message>]) -> impl Iterator<Item = &[Arc<Message>]> {
    let starts = messages.iter().enumerate();
    let starts: Vec<usize> = starts
        .filter(|(_, message)| prompt(message).is_some())
        .map(|(place, _)| place)
        .collect();
    let ends: Vec<usize> = starts.iter().skip(1).copied().collect();
    let ends = ends.into_iter().chain([messages.len()]);
    let both = starts.into_iter().zip(ends);
    both.map(|(start, end)| &messages[start..end])
}

/// A prompt and what came of it.
pub(super) fn earlier(runtime: &Runtime, index: usize) -> Vec<Input> {
    let messages = runtime.transcript();
    let Some(turn) = turns(&messages).nth(index) else {
        return Vec::new();
    };
    let count = turns(&messages).count();
    vec![Input::Earlier {
        title: format!("prompt {} of {count}, again:", index + 1),
        messages: turn.to_vec(),
    }]
}

/// The parts that every request begins with.
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
    Input::note(text)
}

/// The problem with unknown tools in `scope`: mistyped, or of an extension that is still starting.
pub(super) fn unknown_tools(runtime: &Runtime, scope: &ApprovalScope) -> Option<String> {
    let ApprovalScope::Tools(wanted) = scope else {
        return None;
    };
    let known: Vec<String> = runtime.tools().into_iter().map(|tool| tool.name).collect();
    let unknown: Vec<&str> = wanted
        .iter()
        .filter(|name| !known.contains(name))
        .map(String::as_str)
        .collect();
    (!unknown.is_empty()).then(|| {
        format!(
            "no tool is called {} now, so nothing was changed: there are {}. /confirm on asks before \
             every tool, /confirm off stops asking",
            unknown.join(" or "),
            known.join(", ")
        )
    })
}

pub(super) fn skills(runtime: &Runtime) -> Input {
    let skills = runtime.skills().into_iter();
    Input::Listed(Listed::Skills(
        skills
            .map(|skill| (skill.name, first_line(&skill.description)))
            .collect(),
    ))
}

/// Providers to log in to: all. Providers to log out of: those in `auth.json`.
pub(super) fn providers(action: LogAction) -> Result<Input, String> {
    let credentials = Credentials::open(None).map_err(|error| error.to_string())?;
    let found = credentials.status().map_err(|error| error.to_string())?;
    let providers = match action {
        LogAction::In => {
            let all = credentials.providers().into_iter();
            all.map(|name| {
                let own = found.iter().find(|status| status.provider == name);
                let state = own.map_or_else(|| "no key".to_owned(), credential);
                (name, state)
            })
            .collect()
        }
        LogAction::Out => {
            let kept = credentials.file().path().display().to_string();
            let kept = found.iter().filter(|status| status.source == kept);
            kept.map(|status| (status.provider.clone(), credential(status)))
                .collect()
        }
    };
    Ok(Input::Listed(Listed::Providers { action, providers }))
}

/// The kind of a credential and its source, without the secret.
pub(super) fn credential(status: &CredentialStatus) -> String {
    let kind = match status.kind {
        CredentialKind::Key => "key",
        CredentialKind::Login => "login",
        CredentialKind::Foreign => "of another program",
    };
    let kind = match status.problem {
        Some(_) => format!("{kind} that cannot be used"),
        None => kind.to_owned(),
    };
    match status.source.strip_prefix('$') {
        Some(variable) => format!("{kind} from ${variable}"),
        None => {
            let file = Path::new(&status.source).file_name().unwrap_or_default();
            format!("{kind} in {}", file.to_string_lossy())
        }
    }
}

pub(super) fn tools(runtime: &Runtime) -> Input {
    let tools = runtime.tools();
    let mut text = format!("{} tools:", tools.len());
    for tool in tools {
        let from = tool
            .extension
            .map(|name| format!(" ({name})"))
            .unwrap_or_default();
        let state = if tool.enabled { "" } else { " (disabled)" };
        let about = first_line(&tool.description);
        text.push_str(&format!("\n{}{from}{state}  {about}", tool.name));
    }
    Input::note(text)
}

fn prompt(message: &Message) -> Option<&str> {
    let text = message.content.iter().find_map(|block| match block {
        ContentBlock::Text(text) => Some(text.as_str()),
        _ => None,
    });
    text.filter(|_| message.is_prompt())
}

pub(super) fn first_line(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or("");
    let mut short: String = line.chars().take(DESCRIPTION_CHARACTERS).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}
