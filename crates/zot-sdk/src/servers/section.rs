//! What the system prompt says about servers. It is written once per conversation: providers cache it.

#[cfg(test)]
mod tests;

use zot_mcp::{ServerState, ServerStatus};

use super::search::TOOL_SEARCH;

/// The most that all servers together may say about their use in the system prompt.
///
/// Limit: instructions beyond it come with what `tool_search` finds, or not at all.
const MAX_INSTRUCTION_BYTES: usize = 4 * 1024;

/// The most that is said about why a server is missing.
///
/// Limit: the rest of the reason is cut; front ends show all of it.
const MAX_MISSING_REASON_BYTES: usize = 160;

/// The part of the system prompt about servers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Section {
    /// Empty if there are no servers.
    pub(crate) text: String,
    /// The servers whose instructions it has.
    pub(crate) instructed: Vec<String>,
}

/// A server, and how its tools are offered.
pub(crate) struct Listed<'a> {
    pub(crate) status: &'a ServerStatus,
    /// How many of its tools have to be searched for.
    pub(crate) deferred: usize,
    /// How many are declared.
    pub(crate) declared: usize,
}

/// Describes the servers that are not disabled.
pub(crate) fn section(servers: &[Listed<'_>]) -> Section {
    let enabled = |listed: &&Listed<'_>| listed.status.state != ServerState::Disabled;
    let servers: Vec<&Listed<'_>> = servers.iter().filter(enabled).collect();
    if servers.is_empty() {
        return Section::default();
    }
    let can_search =
        |listed: &&Listed<'_>| listed.deferred > 0 || !listed.status.state.is_settled();
    let searching = match servers.iter().any(can_search) {
        true => format!(
            " Those that are not declared are found with {TOOL_SEARCH}, and can be called from then on."
        ),
        false => String::new(),
    };
    let mut lines = vec![format!(
        "# MCP servers\n\nTools called SERVER__TOOL are provided by MCP servers.{searching}\n"
    )];
    let is_missing = |listed: &&&Listed<'_>| listed.status.state != ServerState::Ready;
    lines.extend(
        servers
            .iter()
            .filter(|listed| !is_missing(listed))
            .map(|listed| available(listed)),
    );
    let missing: Vec<String> = servers
        .iter()
        .filter(is_missing)
        .map(|listed| missing(listed.status))
        .collect();
    if !missing.is_empty() {
        lines.push(format!(
            "Not available yet: {}.{}",
            missing.join("; "),
            match servers
                .iter()
                .any(|listed| !listed.status.state.is_settled())
            {
                true => format!(" {TOOL_SEARCH} waits for servers that are starting."),
                false => String::new(),
            }
        ));
    }
    let mut instructed = Vec::new();
    let mut bytes = 0;
    for listed in servers {
        let Some(instructions) = &listed.status.instructions else {
            continue;
        };
        if bytes + instructions.len() <= MAX_INSTRUCTION_BYTES {
            bytes += instructions.len();
            lines.push(format!("\n{}", tagged(&listed.status.name, instructions)));
            instructed.push(listed.status.name.clone());
        }
    }
    Section {
        text: lines.join("\n"),
        instructed,
    }
}

fn available(listed: &Listed<'_>) -> String {
    let name = &listed.status.name;
    match (listed.declared, listed.deferred) {
        (0, 0) => format!("- {name}: no tools"),
        (_, 0) => format!("- {name}"),
        (0, 1) => format!("- {name}: 1 tool to search for"),
        (0, count) => format!("- {name}: {count} tools to search for"),
        (_, count) => format!("- {name}: {count} more to search for"),
    }
}

/// Says in a few words why a server is missing.
pub(crate) fn missing(status: &ServerStatus) -> String {
    let name = &status.name;
    match &status.state {
        ServerState::Starting => format!("{name} (starting)"),
        ServerState::NeedsLogin => format!("{name} (the user has to sign in first)"),
        ServerState::Restarting { reason } => format!("{name} (restarting: {})", short(reason)),
        ServerState::Failed { reason } => format!("{name} (failed: {})", short(reason)),
        ServerState::Ready | ServerState::Disabled => name.clone(),
    }
}

/// Marks what a server says about itself as the server's.
pub(crate) fn tagged(server: &str, instructions: &str) -> String {
    format!("<server_instructions server=\"{server}\">\n{instructions}\n</server_instructions>")
}

/// Returns the first line, cut.
fn short(reason: &str) -> &str {
    let line = reason.lines().next().unwrap_or_default();
    &line[..line.floor_char_boundary(MAX_MISSING_REASON_BYTES)]
}
