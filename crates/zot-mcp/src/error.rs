//! Why something asked of a server did not work.

use std::time::Duration;

use crate::transport::CallError;

/// No server of this name is in the set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown MCP server {0:?}: `zot mcp list` shows the servers there are")]
pub struct UnknownServer(pub String);

/// Why something asked of a server has no answer.
#[derive(Debug, thiserror::Error)]
pub enum McpError {
    #[error(transparent)]
    UnknownServer(#[from] UnknownServer),
    /// It is disabled, has failed, or did not become ready in time.
    #[error("the MCP server {server:?} is not available: {reason}")]
    NotAvailable { server: String, reason: String },
    /// It wants a login first.
    #[error("the MCP server {server:?} asks for a login: run `zot mcp login {server}`")]
    NeedsLogin { server: String },
    /// The server refused, went away, or sent something else than an answer.
    #[error("the MCP server {server:?}: {source}")]
    Call {
        server: String,
        #[source]
        source: CallError,
    },
    #[error("the MCP server {server:?} did not answer within {limit:?}")]
    TimedOut { server: String, limit: Duration },
    /// It asked for input more often than a call allows.
    #[error("the MCP server {server:?} asked for input {rounds} times in one call")]
    TooManyRounds { server: String, rounds: usize },
    /// The caller gave the request up.
    #[error("aborted")]
    Cancelled,
}
