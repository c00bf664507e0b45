//! Lists and reports for the user.

use std::path::Path;
use std::sync::Arc;

use zot_sdk::conversation::{ContentBlock, Message};
use zot_sdk::credentials::{CredentialKind, CredentialStatus, Credentials};
use zot_sdk::{ApprovalScope, Runtime};

use crate::app::{Input, Listed, LogAction};

/// How many characters of a description are shown.
const DESCRIPTION_CHARACTERS: usize = 90;

/// Returns the prompts of the conversation, in order.
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

/// Returns the text of the prompt with this index.
pub(super) fn prompt_at(runtime: &Runtime, index: usize) -> Option<String> {
    let messages = runtime.transcript();
    let text = messages
        .iter()
        .filter_map(|message| prompt(message))
        .nth(index)?;
    Some(text.to_owned())
}

/// Returns the end of the conversation that this chat resumes.
pub(super) fn resumed(runtime: &Runtime, items: usize) -> Option<Input> {
    let messages = runtime.transcript();
    let count = messages.len();
    let shown = messages.into_iter().skip(count.saturating_sub(items));
    (count > 0).then(|| Input::Earlier {
        title: format!("resumed a conversation of {count} messages"),
        messages: shown.collect(),
    })
}

/// Returns the messages from each prompt to the next.
pub(super) fn turns(messages: &[Arc<Message>]) -> impl Iterator<Item = &[Arc<Message>]> {
    let starts = messages.iter().enumerate();
    let starts: Vec<usize> = starts
        .filter(|(_, message)| prompt(message).is_some())
        .map(|(index, _)| index)
        .collect();
    let ends: Vec<usize> = starts.iter().skip(1).copied().collect();
    let ends = ends.into_iter().chain([messages.len()]);
    let ranges = starts.into_iter().zip(ends);
    ranges.map(|(start, end)| &messages[start..end])
}

/// Returns a prompt and the response to it.
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

/// Reports the parts that every request begins with.
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

/// Returns the error about unknown tools in `scope`: mistyped, or of an extension still starting.
pub(super) fn unknown_tools(runtime: &Runtime, scope: &ApprovalScope) -> Option<String> {
    let ApprovalScope::Tools(names) = scope else {
        return None;
    };
    let known: Vec<String> = runtime.tools().into_iter().map(|tool| tool.name).collect();
    let unknown: Vec<&str> = names
        .iter()
        .filter(|name| !known.contains(name))
        .map(String::as_str)
        .collect();
    (!unknown.is_empty()).then(|| {
        format!(
            "unknown tool {}, so nothing was changed. Available: {}. /confirm on asks before every \
             tool, /confirm off stops asking",
            unknown.join(", "),
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

/// Lists the providers: all to log in to, and those in `auth.json` to log out of.
pub(super) fn providers(action: LogAction) -> Result<Input, String> {
    let credentials = Credentials::open(None).map_err(|error| error.to_string())?;
    let found = credentials.status().map_err(|error| error.to_string())?;
    let providers = match action {
        LogAction::In => {
            let all = credentials.providers().into_iter();
            all.map(|name| {
                let status = found.iter().find(|status| status.provider == name);
                let state = status.map_or_else(|| "no key".to_owned(), describe_credential);
                (name, state)
            })
            .collect()
        }
        LogAction::Out => {
            let stored = credentials.file().path().display().to_string();
            let stored = found.iter().filter(|status| status.source == stored);
            stored
                .map(|status| (status.provider.clone(), describe_credential(status)))
                .collect()
        }
    };
    Ok(Input::Listed(Listed::Providers { action, providers }))
}

/// Describes a credential by its kind and source, without the secret.
pub(super) fn describe_credential(status: &CredentialStatus) -> String {
    let kind = match status.kind {
        CredentialKind::Key => "key",
        CredentialKind::Login => "login",
        CredentialKind::Foreign => "login of another program",
    };
    let kind = match status.problem {
        Some(_) => format!("unusable {kind}"),
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
        let description = first_line(&tool.description);
        text.push_str(&format!("\n{}{from}{state}  {description}", tool.name));
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
