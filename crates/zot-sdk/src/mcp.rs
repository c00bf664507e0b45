//! MCP servers: which are configured, how they are, and changes to both.

pub use zot_mcp::configuration::{Decision, ProjectFile, ProjectServers, ProjectState};
pub use zot_mcp::entry::{Address, EntryOrigin, ServerEntry};
pub use zot_mcp::oauth::{Login, OAuthError};
pub use zot_mcp::{ServerSet, ServerState, ServerStatus};
