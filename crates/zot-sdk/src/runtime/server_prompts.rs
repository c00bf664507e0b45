//! The prompts of MCP servers, as commands of a runtime.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use zot_mcp::ServerSet;
use zot_mcp::name::SEPARATOR;
use zot_wire::rpc::{CommandEntry, InvokedData};

use super::Runtime;
use crate::server_prompts::{PromptCommand, SOURCE, commands, text};

/// How long a prompt is waited for, with the start of its server.
///
/// Limit: the command fails.
const PROMPT_TIME: Duration = Duration::from_secs(60);

impl Runtime {
    /// Returns the commands for prompts of servers that are ready.
    pub(super) fn server_commands(&self) -> Vec<CommandEntry> {
        let commands = self.servers.set().map(|set| prompt_commands(&set));
        let commands = commands.unwrap_or_default();
        commands.iter().map(PromptCommand::entry).collect()
    }

    /// Fills the prompt that is called `name` as a command, if there is one. Waits for servers that are
    /// starting, if it may be one of theirs.
    pub(super) async fn invoke_prompt(&self, name: &str, arguments: &str) -> Option<InvokedData> {
        let filled = self.fill_prompt(name, arguments).await?;
        let (action, prompt, error) = match filled {
            Ok(prompt) => ("prompt", Some(prompt), None),
            Err(problem) => ("noop", None, Some(problem)),
        };
        Some(InvokedData {
            extension: String::new(),
            source: Some(SOURCE.to_owned()),
            action: action.to_owned(),
            prompt,
            insert: None,
            display: None,
            open_panel: None,
            error,
        })
    }

    /// Returns the text of the prompt that is called `name` as a command, or why it cannot be had; `None`
    /// if there is no such prompt.
    pub(crate) async fn fill_prompt(
        &self,
        name: &str,
        arguments: &str,
    ) -> Option<Result<String, String>> {
        if !name.contains(SEPARATOR) {
            return None;
        }
        let set = self.servers.set()?;
        let limit = format!("no answer within {} s", PROMPT_TIME.as_secs());
        let filled = timeout(PROMPT_TIME, async {
            let mut command = find(&set, name);
            if command.is_none() {
                set.settled().await;
                command = find(&set, name);
            }
            let command = command?;
            Some(fill(set, command, arguments).await)
        });
        match filled.await {
            Ok(filled) => filled,
            Err(_) => Some(Err(limit)),
        }
    }
}

async fn fill(
    set: Arc<ServerSet>,
    command: PromptCommand,
    arguments: &str,
) -> Result<String, String> {
    let filling = command.fill(arguments).map_err(|error| error.to_string())?;
    let PromptCommand { prompt, .. } = &command;
    let messages = set
        .prompt(&prompt.server, &prompt.name, &filling.arguments)
        .await
        .map_err(|error| crate::with_causes(&error))?;
    match text(&messages, &filling.added) {
        text if text.is_empty() => Err("the server sent an empty prompt".to_owned()),
        text => Ok(text),
    }
}

fn find(set: &ServerSet, name: &str) -> Option<PromptCommand> {
    let mut commands = prompt_commands(set).into_iter();
    commands.find(|command| command.name == name)
}

fn prompt_commands(set: &ServerSet) -> Vec<PromptCommand> {
    let statuses = set.servers();
    let servers: Vec<&str> = statuses.iter().map(|server| server.name.as_str()).collect();
    commands(&servers, set.prompts())
}
