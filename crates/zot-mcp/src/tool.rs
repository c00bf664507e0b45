//! A tool of a server, as the agent runs it.

use std::sync::Arc;
use std::time::Duration;

use zot_conversation::{BoxFuture, Tool, ToolDefinition, ToolInvocation, ToolOrigin, ToolOutput};

use crate::catalog::ListedTool;
use crate::entry::Exposure;
use crate::server::Server;

/// A tool of an MCP server. Its name for the model is `server__tool`, made valid for every provider.
pub struct McpTool {
    pub(crate) server: Arc<Server>,
    pub(crate) server_name: String,
    pub(crate) listed: ListedTool,
    /// How long a call may take without progress.
    pub(crate) patience: Option<Duration>,
    pub(crate) exposure: Option<Exposure>,
    pub(crate) definition: Arc<ToolDefinition>,
}

impl McpTool {
    /// Returns the name of the server's entry.
    pub fn server(&self) -> &str {
        &self.server_name
    }

    /// Returns what the server calls it.
    pub fn tool(&self) -> &str {
        &self.listed.name
    }

    /// Returns its name for people, if it has one.
    pub fn title(&self) -> Option<&str> {
        self.listed.title.as_deref()
    }

    /// Returns how the configuration wants it to reach the model; `None` if its size decides.
    pub fn exposure(&self) -> Option<Exposure> {
        self.exposure
    }
}

impl Tool for McpTool {
    fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    fn origin(&self) -> Option<ToolOrigin> {
        Some(ToolOrigin::Server {
            server: self.server_name.clone(),
            tool: self.listed.name.clone(),
        })
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            match self
                .server
                .call_tool(&self.listed, self.patience, &invocation)
                .await
            {
                Ok(output) => output,
                Err(error) => ToolOutput::error(error.to_string()),
            }
        })
    }
}
