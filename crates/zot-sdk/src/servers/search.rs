//! The tool `tool_search`, with which the model finds tools of servers that are not declared.

use std::sync::{Arc, Weak};

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use zot_conversation::{BoxFuture, Tool, ToolDefinition, ToolEffect, ToolInvocation, ToolOutput};

use super::{SERVER_START_WAIT, Servers};

/// The name of the tool.
pub(crate) const TOOL_SEARCH: &str = "tool_search";

/// What a line of the result begins with that names a tool.
pub(crate) const FOUND: &str = "tool: ";

/// How many tools a search finds, unless the model wants another number.
const DEFAULT_RESULTS: usize = 8;

/// The most tools that one search finds.
///
/// Limit: a search for more finds this many.
const MAX_RESULTS: usize = 25;

const DESCRIPTION: &str = "Finds tools of MCP servers that are not declared yet, and declares them: \
    call them from your next message on. Waits for servers that are still starting.";

pub(crate) struct ToolSearch {
    servers: Weak<Servers>,
    definition: Arc<ToolDefinition>,
}

#[derive(Deserialize)]
struct SearchArguments {
    query: String,
    limit: Option<usize>,
}

impl ToolSearch {
    pub(crate) fn new(servers: Weak<Servers>) -> Self {
        let parameters = json!({
            "type": "object",
            "properties": {
                "query": {
                    "type": "string",
                    "description": "What the tool does, its name, or the name of its server",
                },
                "limit": {
                    "type": "integer",
                    "description": format!("How many tools to find; {DEFAULT_RESULTS} if not given"),
                },
            },
            "required": ["query"],
        });
        Self {
            servers,
            definition: Arc::new(ToolDefinition {
                name: TOOL_SEARCH.to_owned(),
                description: DESCRIPTION.to_owned(),
                // What was just made is valid.
                parameters: RawValue::from_string(parameters.to_string()).unwrap_or_default(),
                effect: ToolEffect::ReadOnly,
            }),
        }
    }
}

impl Tool for ToolSearch {
    fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let arguments = invocation.arguments.get();
            let SearchArguments { query, limit } = match serde_json::from_str(arguments) {
                Ok(arguments) => arguments,
                Err(error) => return ToolOutput::error(format!("invalid args: {error}")),
            };
            let Some(servers) = self.servers.upgrade() else {
                return ToolOutput::error("the servers have been shut down");
            };
            if let Some(starting) = servers.starting() {
                let waiting = format!("waiting for {starting} to start\n");
                invocation.progress.report(waiting).await;
                tokio::select! {
                    () = servers.settled() => {}
                    () = tokio::time::sleep(SERVER_START_WAIT) => {}
                    () = invocation.cancel.cancelled() => return ToolOutput::error("aborted"),
                }
            }
            let limit = limit.unwrap_or(DEFAULT_RESULTS).clamp(1, MAX_RESULTS);
            servers.search(&query, limit)
        })
    }
}
