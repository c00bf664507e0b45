//! What a server offers and has logged.

use zot_sdk::mcp::open_log;
use zot_sdk::{Runtime, Tool as _};

use crate::app::Input;
use crate::run::listings::first_line;

/// How many lines of a log are shown.
const LOG_LINES: usize = 40;

/// Lists the tools, prompts and resources of a server.
pub(super) fn offers(runtime: &Runtime, name: &str) -> String {
    let Some(set) = runtime.mcp() else {
        return "there are no MCP servers".to_owned();
    };
    let mut text = format!("MCP server {name}:");
    let tools = set.tools().into_iter().filter(|tool| tool.server() == name);
    for tool in tools {
        let definition = tool.definition();
        let description = first_line(&definition.description);
        text.push_str(&format!("\ntool {}  {description}", definition.name));
    }
    let prompts = set
        .prompts()
        .into_iter()
        .filter(|prompt| prompt.server == name);
    for prompt in prompts {
        let description = prompt.description.or(prompt.title).unwrap_or_default();
        let arguments: Vec<String> = prompt
            .arguments
            .into_iter()
            .map(|argument| argument.name)
            .collect();
        let arguments = match arguments.is_empty() {
            true => String::new(),
            false => format!(" ({})", arguments.join(", ")),
        };
        text.push_str(&format!(
            "\nprompt {}{arguments}  {}",
            prompt.name,
            first_line(&description)
        ));
    }
    let resources = set.resources().into_iter().filter(|one| one.server == name);
    for resource in resources {
        let title = resource.title.unwrap_or(resource.name);
        text.push_str(&format!(
            "\n@{name}:{}  {}",
            resource.uri,
            first_line(&title)
        ));
    }
    let templates = set
        .resource_templates()
        .into_iter()
        .filter(|one| one.server == name);
    for template in templates {
        let title = template.title.unwrap_or(template.name);
        text.push_str(&format!(
            "\n@{name}:{}  {}",
            template.uri_template,
            first_line(&title)
        ));
    }
    let status = set.servers().into_iter().find(|status| status.name == name);
    for note in status.into_iter().flat_map(|status| status.notes) {
        text.push_str(&format!("\nnote: {note}"));
    }
    text
}

/// Shows the end of a server's log.
pub(super) fn log(runtime: &Runtime, name: &str) -> Input {
    let mut bytes = Vec::new();
    let copied = match open_log(runtime.workspace(), name) {
        Ok(mut log) => log.copy_last(LOG_LINES, &mut bytes),
        Err(error) => return Input::failure(error),
    };
    if let Err(error) = copied {
        return Input::failure(error);
    }
    let text = String::from_utf8_lossy(&bytes);
    match text.trim().is_empty() {
        true => Input::note(format!("the MCP server {name} has logged nothing")),
        false => Input::note(format!(
            "the end of the log of {name}:\n{}",
            text.trim_end()
        )),
    }
}
