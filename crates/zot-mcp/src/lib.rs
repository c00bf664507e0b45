//! A client of MCP servers (Model Context Protocol), in both eras of the protocol and over all of its
//! transports.
//!
//! [`configuration`] reads which servers exist, as a list of [`entry`] values. A [`Pool`] runs each once
//! per process, whatever number of agents uses it, and offers what the servers have as tools, prompts and
//! resources. Framing ([`json_rpc`]), era ([`version`]) and transport ([`transport`]) are a module each,
//! because the protocol's next revisions change them one at a time.

pub mod authorization;
mod catalog;
pub mod configuration;
mod connection;
mod content;
pub mod entry;
mod eras;
mod error;
pub mod json_rpc;
mod log;
pub mod name;
pub mod oauth;
mod pool;
mod results;
mod server;
mod set;
mod status;
mod tool;
pub mod transport;
pub mod version;

pub use error::{McpError, UnknownServer};
pub use log::{ServerLog, log_path};
pub use pool::{Pool, PoolSettings};
pub use set::ServerSet;
pub use status::{
    PromptArgument, PromptInfo, PromptMessage, ResourceInfo, ResourceTemplate, ServerState,
    ServerStatus,
};
pub use tool::McpTool;
