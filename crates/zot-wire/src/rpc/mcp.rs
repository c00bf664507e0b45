//! Data about MCP servers in responses and events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `get_mcp`: the servers of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpData {
    pub servers: Vec<McpServer>,
    /// The project's `.mcp.json`, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<McpProject>,
}

/// An MCP server of the running agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpServer {
    pub name: String,
    /// Who configured it: `user`, `project` or `program`.
    pub origin: String,
    /// `disabled`, `starting`, `ready`, `needs_login`, `restarting` or `failed`.
    pub state: String,
    /// Why it is restarting or has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The revision of MCP that is spoken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol_version: Option<String>,
    /// What the server calls itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// How many tools, prompts and resources it offers.
    pub tools: u64,
    pub prompts: u64,
    pub resources: u64,
    /// What was left out of its lists, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The MCP servers that a project brings along.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct McpProject {
    /// The path of `.mcp.json`.
    pub path: String,
    /// Whether its servers are used.
    pub used: bool,
    /// The names of its servers.
    pub servers: Vec<String>,
}
