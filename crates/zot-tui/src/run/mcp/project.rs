//! The question about a project's servers.

use zot_sdk::mcp::{Address, ProjectFile, ProjectState, ServerEntry};

use crate::app::{Input, McpInput, ProjectServers};

/// Returns the question, if the user has not been asked about this content.
pub(super) fn question_if_open(project: &ProjectFile) -> Option<Input> {
    (project.state == ProjectState::Unanswered).then(|| question(project))
}

pub(super) fn question(project: &ProjectFile) -> Input {
    let servers = project.servers.iter();
    Input::Mcp(McpInput::ProjectFound(ProjectServers {
        path: project.path.display().to_string(),
        servers: servers
            .map(|server| (server.name.clone(), facts(server)))
            .collect(),
        top: 0,
    }))
}

/// Returns everything that the user decides about: what is run with which variables, or where zot
/// connects.
fn facts(server: &ServerEntry) -> Vec<String> {
    let mut facts = Vec::new();
    match &server.address {
        Address::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            let words = std::iter::once(command).chain(args);
            facts.push(words.map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
            facts.extend(
                env.iter()
                    .map(|(name, value)| format!("{name}={}", quoted(value))),
            );
            facts.extend(cwd.as_ref().map(|cwd| format!("in {}", cwd.display())));
        }
        Address::Http { url, headers } | Address::Sse { url, headers } => {
            facts.push(format!("connects to {url}"));
            // A header may hold a secret of the project.
            facts.extend(headers.keys().map(|name| format!("with the header {name}")));
        }
    }
    if !server.enabled {
        facts.push("disabled".to_owned());
    }
    facts
}

/// Returns a word as a shell would need it, so that arguments can be told apart.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@,+%${}".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
