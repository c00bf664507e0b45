//! What a runtime knows of its servers, and what it says about them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use zot_conversation::Tool;
use zot_mcp::configuration::ProjectFile;
use zot_mcp::entry::{Exposure, ServerEntry};
use zot_mcp::name::SEPARATOR;
use zot_mcp::{McpTool, Pool, ServerSet, ServerState, ServerStatus};

use super::offer::{Candidate, Offer, Offered, Outlook};
use super::search::FOUND;
use super::section::{self, Listed, Section};
use crate::config::{ToolOrigin, ToolSelection};

/// The most of a description that a search shows; the declaration has more.
///
/// Limit: the rest is cut.
const MAX_SHOWN_DESCRIPTION: usize = 240;

pub(super) struct State {
    pub(super) pool: PoolUse,
    pub(super) set: Option<Arc<ServerSet>>,
    /// What the set was opened with.
    pub(super) entries: Vec<ServerEntry>,
    pub(super) project: Option<ProjectFile>,
    pub(super) selection: ToolSelection,
    /// Names that tools of servers cannot have.
    pub(super) taken: HashSet<String>,
    pub(super) offer: Offer,
    /// The section of the system prompt, once a request may have been sent.
    pub(super) section: Option<Section>,
    /// The servers whose instructions the model has got.
    pub(super) instructed: HashSet<String>,
    /// What the user was told about servers that are missing.
    pub(super) told: HashMap<String, &'static str>,
    pub(super) notices: Vec<String>,
    /// What [`Servers::next_change`] has reported.
    pub(super) reported: HashMap<String, zot_wire::rpc::McpServer>,
}

/// Who ends the servers.
pub(super) enum PoolUse {
    /// They belong to this runtime. Created with the first server.
    Own(Option<Arc<Pool>>),
    /// They are shared with other runtimes.
    Shared(Arc<Pool>),
}

impl State {
    pub(super) fn statuses(&self) -> Vec<ServerStatus> {
        self.set.iter().flat_map(|set| set.servers()).collect()
    }

    /// Returns the tools that the configuration does not hide.
    pub(super) fn exposed(&self) -> impl Iterator<Item = Arc<McpTool>> {
        let tools = self.set.iter().flat_map(|set| set.tools());
        tools.filter(|tool| tool.exposure() != Some(Exposure::Hidden))
    }

    /// Returns the tools that the model may have.
    pub(super) fn candidates(&self) -> Vec<Arc<McpTool>> {
        let mut tools: Vec<Arc<McpTool>> = self.exposed().collect();
        tools.retain(|tool| {
            let name = &tool.definition().name;
            !self.taken.contains(name) && self.is_selected(name)
        });
        tools
    }

    pub(super) fn is_selected(&self, name: &str) -> bool {
        self.selection.includes(name, ToolOrigin::Server)
    }

    pub(super) fn offered(&mut self, search: &Arc<dyn Tool>) -> Offered {
        let candidates: Vec<Candidate> = self
            .candidates()
            .into_iter()
            .map(|tool| Candidate {
                // A tool that is selected by its exact name is declared.
                exposure: match self.selection.names(&tool.definition().name) {
                    true => Some(Exposure::Direct),
                    false => tool.exposure(),
                },
                tool,
            })
            .collect();
        let statuses = self.statuses();
        let outlook = match statuses.iter().all(|server| server.state.is_settled()) {
            true => Outlook::Settled,
            false => Outlook::MoreToCome,
        };
        let selection = self.selection.clone();
        let search_name = search.definition().name.clone();
        // It comes with the tools that it finds, unless it was removed.
        let can_find = match &selection {
            ToolSelection::Exactly(names) => {
                let finds = |name: &String| name.contains(SEPARATOR) || *name == search_name;
                names.iter().any(finds)
            }
            other => !other.removed().contains(&search_name),
        };
        let is_selected = move |name: &str| match name == search_name {
            true => can_find,
            false => selection.includes(name, ToolOrigin::Server),
        };
        self.offer
            .update(&candidates, search, outlook, &is_selected)
    }

    /// Writes the section of the system prompt as it would be now.
    pub(super) fn compose(&mut self, search: &Arc<dyn Tool>) -> Section {
        let offered = self.offered(search);
        let count = |tools: &[Arc<dyn Tool>], server: &str| {
            let of_server = |tool: &&Arc<dyn Tool>| {
                let origin = tool.origin();
                origin.is_some_and(|origin| origin.server() == Some(server))
            };
            tools.iter().filter(of_server).count()
        };
        let statuses = self.statuses();
        let listed: Vec<Listed<'_>> = statuses
            .iter()
            .map(|status| Listed {
                status,
                deferred: count(&offered.undeclared, &status.name),
                declared: count(&offered.declared, &status.name),
            })
            .collect();
        section::section(&listed)
    }

    /// Tells the user about servers that are missing, once for each state, and what else they have to hear.
    pub(super) fn notice_missing(&mut self) {
        let warnings = self.set.iter().flat_map(|set| set.take_warnings());
        self.notices.extend(warnings);
        for status in self.statuses() {
            let name = status.state.name();
            let Some(notice) = missing_notice(&status) else {
                self.told.remove(&status.name);
                continue;
            };
            if self.told.insert(status.name.clone(), name) != Some(name) {
                self.notices.push(notice);
            }
        }
    }

    /// Writes the result of a search.
    pub(super) fn describe(&mut self, query: &str, found: &[&Arc<McpTool>], all: usize) -> String {
        let mut parts = vec![match found.len() {
            0 => format!("No tool matches {query:?}; {all} tools can be found with other words."),
            1 => "Found 1 tool, which can be called now:".to_owned(),
            count => format!("Found {count} tools, which can be called now:"),
        }];
        for tool in found {
            let definition = tool.definition();
            let description = definition.description.split_whitespace();
            let description = description.collect::<Vec<_>>().join(" ");
            let end = description.floor_char_boundary(MAX_SHOWN_DESCRIPTION);
            parts.push(format!(
                "{FOUND}{}\n{}",
                definition.name,
                &description[..end]
            ));
        }
        let statuses = self.statuses();
        for status in &statuses {
            let is_used = found.iter().any(|tool| tool.server() == status.name);
            if let Some(instructions) = &status.instructions
                && is_used
                && self.instructed.insert(status.name.clone())
            {
                parts.push(section::tagged(&status.name, instructions));
            }
        }
        let is_missing = |status: &&ServerStatus| {
            !matches!(status.state, ServerState::Ready | ServerState::Disabled)
        };
        let missing: Vec<String> = statuses
            .iter()
            .filter(is_missing)
            .map(section::missing)
            .collect();
        if !missing.is_empty() {
            parts.push(format!(
                "Servers that are not available: {}",
                missing.join("; ")
            ));
        }
        parts.join("\n\n")
    }
}

/// Says why a server is missing and what to do about it; `None` if it is not.
pub(super) fn missing_notice(status: &ServerStatus) -> Option<String> {
    let name = &status.name;
    let problem = match &status.state {
        ServerState::Ready | ServerState::Disabled => return None,
        ServerState::Starting => "is still starting; its tools follow".to_owned(),
        ServerState::Restarting { reason } => format!("is restarting: {reason}"),
        ServerState::NeedsLogin => format!("wants a login: zot mcp login {name}"),
        ServerState::Failed { reason } => {
            format!("is not available: {reason} (zot mcp logs {name})")
        }
    };
    Some(format!("MCP server {name} {problem}"))
}
