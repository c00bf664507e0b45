//! The prompts of MCP servers as slash commands: `/server__prompt arguments`.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use zot_context::split_words;
use zot_conversation::{ContentBlock, Role};
use zot_mcp::name::{server_prefixes, tool_names};
use zot_mcp::{PromptArgument, PromptInfo, PromptMessage};
use zot_wire::rpc::CommandEntry;

/// The source of a command that is a prompt of a server.
pub(crate) const SOURCE: &str = "mcp";

/// The longest description of a command, in characters.
///
/// Limit: the rest is cut off.
const MAX_COMMAND_DESCRIPTION: usize = 400;

/// A prompt with the name of its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PromptCommand {
    pub(crate) name: String,
    pub(crate) prompt: PromptInfo,
}

/// The arguments do not fit the prompt.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("/{name} needs {}: /{name} {usage}", .missing.join(" and "))]
pub(crate) struct MissingArguments {
    name: String,
    missing: Vec<String>,
    usage: String,
}

/// What a prompt is filled with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Filling {
    pub(crate) arguments: BTreeMap<String, String>,
    /// Text after the name of a prompt that takes no arguments: it is added to the prompt.
    pub(crate) added: String,
}

/// Names the prompts as commands. `servers` are the names of all servers, so that a name does not depend
/// on which of them are ready.
pub(crate) fn commands(servers: &[&str], prompts: Vec<PromptInfo>) -> Vec<PromptCommand> {
    let prefixes = server_prefixes(servers);
    let mut commands = Vec::with_capacity(prompts.len());
    for server in servers {
        let Some(prefix) = prefixes.get(server) else {
            continue;
        };
        let of_server = prompts.iter().filter(|prompt| prompt.server == *server);
        let of_server: Vec<&PromptInfo> = of_server.collect();
        let listed: Vec<&str> = of_server
            .iter()
            .map(|prompt| prompt.name.as_str())
            .collect();
        let names = tool_names(prefix, &listed);
        commands.extend(
            of_server
                .into_iter()
                .zip(names)
                .map(|(prompt, name)| PromptCommand {
                    name,
                    prompt: prompt.clone(),
                }),
        );
    }
    commands
}

impl PromptCommand {
    /// Returns the command as front ends list it.
    pub(crate) fn entry(&self) -> CommandEntry {
        let prompt = &self.prompt;
        let text = prompt.description.as_deref().or(prompt.title.as_deref());
        let text = text.unwrap_or(&prompt.name);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text: String = text.chars().take(MAX_COMMAND_DESCRIPTION).collect();
        let usage = self.usage();
        CommandEntry {
            name: self.name.clone(),
            description: match usage.is_empty() {
                true => text,
                false => format!("{usage}  {text}"),
            },
            extension: String::new(),
            source: Some(SOURCE.to_owned()),
        }
    }

    /// `CITY [DAYS]`.
    fn usage(&self) -> String {
        let arguments = self.prompt.arguments.iter();
        let shown = arguments.map(|argument| match argument.required {
            true => argument.name.to_uppercase(),
            false => format!("[{}]", argument.name.to_uppercase()),
        });
        shown.collect::<Vec<_>>().join(" ")
    }

    /// Distributes typed words: `name=value` by name, others in the order of the arguments. The last
    /// argument takes the rest.
    pub(crate) fn fill(&self, typed: &str) -> Result<Filling, MissingArguments> {
        let declared = &self.prompt.arguments;
        if declared.is_empty() {
            return Ok(Filling {
                arguments: BTreeMap::new(),
                added: typed.trim().to_owned(),
            });
        }
        let mut arguments = BTreeMap::new();
        let mut others = Vec::new();
        for word in split_words(typed) {
            match named(declared, &word) {
                Some((name, value)) if !arguments.contains_key(name) => {
                    arguments.insert(name.to_owned(), value.to_owned());
                }
                _ => others.push(word),
            }
        }
        let open = declared
            .iter()
            .filter(|one| !arguments.contains_key(&one.name));
        let open: Vec<&PromptArgument> = open.collect();
        let mut others = others.into_iter();
        for (index, argument) in open.iter().enumerate() {
            let value = match index + 1 == open.len() {
                true => others.by_ref().collect::<Vec<_>>().join(" "),
                false => others.next().unwrap_or_default(),
            };
            if !value.is_empty() {
                arguments.insert(argument.name.clone(), value);
            }
        }
        let missing = declared
            .iter()
            .filter(|one| one.required && !arguments.contains_key(&one.name));
        let missing: Vec<String> = missing.map(|argument| argument.name.clone()).collect();
        match missing.is_empty() {
            true => Ok(Filling {
                arguments,
                added: String::new(),
            }),
            false => Err(MissingArguments {
                name: self.name.clone(),
                missing,
                usage: self.usage(),
            }),
        }
    }
}

fn named<'a>(declared: &[PromptArgument], word: &'a str) -> Option<(&'a str, &'a str)> {
    let (name, value) = word.split_once('=')?;
    let is_declared = declared.iter().any(|argument| argument.name == name);
    is_declared.then_some((name, value))
}

/// Writes the messages of a prompt as one text. If the server speaks for the assistant as well, each
/// message says whose it is.
pub(crate) fn text(messages: &[PromptMessage], added: &str) -> String {
    let is_dialogue = messages.iter().any(|message| message.role != Role::User);
    let mut parts = Vec::new();
    for message in messages {
        if is_dialogue {
            parts.push(match message.role {
                Role::User => "[user]".to_owned(),
                _ => "[assistant]".to_owned(),
            });
        }
        for block in &message.content {
            match block {
                ContentBlock::Text(text) => parts.push(text.trim_end().to_owned()),
                ContentBlock::Image(_) => {
                    parts.push("[an image of this prompt was left out]".to_owned());
                }
                _ => {}
            }
        }
    }
    parts.push(added.to_owned());
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}
