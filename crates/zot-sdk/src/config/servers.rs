//! Which MCP servers are used.

use std::sync::Arc;

use zot_mcp::Pool;
use zot_mcp::configuration::{Given, ProjectServers};
use zot_mcp::entry::ServerEntry;
use zot_process::sandbox::Level;

/// Which MCP servers are used; none by default.
///
/// Of several servers with the same name the last one counts: the user's, the project's, those of
/// [`given`](Self::given), those of [`servers`](Self::servers).
#[derive(Clone)]
pub struct McpChoice {
    /// Whether the user's servers are, `$ZOT_HOME/mcp.json`.
    pub user: bool,
    /// Whether the project's servers are, `.mcp.json`. They are programs that the project's author
    /// chose, so by default they are not.
    pub project: ProjectServers,
    /// More configuration in the shape of these files.
    pub given: Vec<Given>,
    /// Servers of the embedding program.
    pub servers: Vec<ServerEntry>,
    /// Runs the servers of several runtimes of one executor, each server once. Without it, the runtime has
    /// servers of its own, and ends them.
    pub pool: Option<Arc<Pool>>,
    /// The least that programs are confined to. What the permissions in the entry of a server allow is
    /// added, unless the project describes it. Has no effect on a pool that is given.
    pub sandbox: Level,
}

impl Default for McpChoice {
    fn default() -> Self {
        Self {
            user: false,
            project: ProjectServers::Skip,
            given: Vec::new(),
            servers: Vec::new(),
            pool: None,
            sandbox: Level::Off,
        }
    }
}
