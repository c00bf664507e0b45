//! A client of MCP servers (Model Context Protocol), in both eras of the protocol and over all of its
//! transports.
//!
//! [`configuration`] reads which servers exist, as a list of [`entry`] values. A [`Pool`](pool) runs each once per process, whatever number of
//! agents uses it, and offers what the servers have as tools, prompts and resources. Framing
//! ([`json_rpc`]), era ([`version`]) and transport ([`transport`]) are a module each, because the
//! protocol's next revisions change them one at a time.

pub mod configuration;
pub mod entry;
pub mod json_rpc;
pub mod transport;
pub mod version;
