//! The flags about MCP servers.

use std::path::Path;

use clap::{ArgAction, Args};
use zot_sdk::McpChoice;
use zot_sdk::mcp::{Given, ProjectServers};

use super::heading;

#[derive(Args)]
#[command(next_help_heading = heading::MCP)]
pub(super) struct McpArguments {
    #[command(flatten)]
    given: GivenMcpArguments,
    /// Use only the MCP servers given with --mcp-config and --project-mcp
    #[arg(long, action = ArgAction::SetTrue)]
    no_mcp: bool,
}

/// The servers that are used only if they are asked for.
#[derive(Args)]
#[command(next_help_heading = heading::MCP)]
pub(super) struct GivenMcpArguments {
    /// Also use the MCP servers in this file, or in this JSON text (repeatable)
    #[arg(long, value_name = "FILE")]
    mcp_config: Vec<String>,
    /// Start the MCP servers of the project, which are in its .mcp.json (the chat asks instead)
    #[arg(long, action = ArgAction::SetTrue)]
    project_mcp: bool,
}

impl McpArguments {
    pub(super) fn unset_empty(&mut self) {
        self.given.unset_empty();
    }
}

impl GivenMcpArguments {
    pub(super) fn unset_empty(&mut self) {
        self.mcp_config.retain(|given| !given.is_empty());
    }
}

impl From<McpArguments> for McpChoice {
    fn from(arguments: McpArguments) -> Self {
        Self {
            user: !arguments.no_mcp,
            ..arguments.given.into()
        }
    }
}

impl From<GivenMcpArguments> for McpChoice {
    /// Leaves the user's servers out.
    fn from(arguments: GivenMcpArguments) -> Self {
        let given = arguments.mcp_config.iter();
        Self {
            project: match arguments.project_mcp {
                true => ProjectServers::Start,
                false => ProjectServers::Skip,
            },
            // Relative to the directory that zot was started in, like all paths of the command line.
            given: given
                .map(|word| Given::of_word(word, Path::new("")))
                .collect(),
            ..Self::default()
        }
    }
}
