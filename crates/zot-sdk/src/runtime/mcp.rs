//! The MCP servers of a runtime.

use std::sync::Arc;

use zot_mcp::ServerSet;
use zot_mcp::configuration::{ProjectFile, ProjectState};
use zot_mcp::entry::ServerEntry;
use zot_wire::rpc::{McpData, McpProject, McpServer};

use super::{Busy, Runtime};

impl Runtime {
    /// Returns the MCP servers, if any were opened: their states, prompts and resources.
    pub fn mcp(&self) -> Option<Arc<ServerSet>> {
        self.servers.set()
    }

    /// Returns the project's `.mcp.json`, if there is one and the configuration asked for any files.
    pub fn mcp_project(&self) -> Option<ProjectFile> {
        self.servers.project()
    }

    /// Uses these MCP servers from now on, between two prompts. Those that run already go on. Requires a
    /// tokio runtime.
    pub fn set_mcp_servers(&self, entries: Vec<ServerEntry>) -> Result<(), Busy> {
        if self.occupation.is_busy() {
            return Err(Busy);
        }
        self.servers.open(entries);
        self.toolbox.refresh(&self.settings);
        Ok(())
    }

    /// Waits until every MCP server is ready, has failed, or waits for something only people can do.
    pub async fn mcp_settled(&self) {
        self.servers.settled().await;
    }

    /// Returns the next MCP server whose state or lists have changed, at first each of them. Pending
    /// forever while nothing changes. Cancel-safe, for one reader.
    pub async fn next_mcp_change(&self) -> McpServer {
        self.servers.next_change().await
    }

    /// Returns the MCP servers in their wire form.
    pub fn mcp_data(&self) -> McpData {
        McpData {
            servers: self.servers.entries(),
            project: self.mcp_project().map(|project| McpProject {
                path: project.path.display().to_string(),
                used: project.state == ProjectState::Included,
                servers: project
                    .servers
                    .into_iter()
                    .map(|server| server.name)
                    .collect(),
            }),
        }
    }
}
