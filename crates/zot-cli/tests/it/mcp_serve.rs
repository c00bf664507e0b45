//! `zot mcp serve`: MCP clients of both eras, on standard streams and over HTTP.

mod approvals;
mod built_in;
mod client;
mod http;
mod http_client;
mod own_client;
mod sessions;
mod stdio;
