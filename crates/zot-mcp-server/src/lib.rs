//! `zot mcp serve`: zot as an MCP server (Model Context Protocol).
//!
//! The tools `zot` and `zot_reply` run a prompt to its end, each in an ordinary session file; built-in
//! tools can be offered beside them. One [`Service`] answers clients of both eras of the protocol;
//! [`serve_stdio`] and [`HttpServer`] carry the messages. How a runtime is assembled is the matter of
//! `zot-sdk`, and which flags exist that of `zot-cli`.

mod agent;
mod call;
mod connection;
mod elicitation;
mod frame;
mod http;
mod jobs;
mod offered;
mod request;
mod result;
mod service;
mod stdio;
mod suspended;

pub use http::{AddressError, HttpServer, Token, TokenError};
pub use offered::UnknownTool;
pub use service::{OptionsError, ServeOptions, Service};
pub use stdio::{Exit, serve_stdio};
/// Ends an [`HttpServer`] when cancelled.
pub use tokio_util::sync::CancellationToken as Shutdown;
