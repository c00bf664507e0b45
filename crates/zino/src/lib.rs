//! ZINO: the agent as seven small services on Unix sockets.
//!
//! Each is a [`Service`](service::Service); [`serve`] puts one on a socket, a [`Peer`](peer::Peer)
//! calls one, over its socket or directly within one process.

pub mod agent_loop;
pub mod agents;
pub mod bus;
pub mod config;
pub mod context;
pub mod daemon;
pub mod definitions;
mod descriptors;
pub mod environment_file;
#[cfg(test)]
mod exchange;
pub mod executor;
pub mod kind;
mod lenient;
pub mod logging;
pub mod memory;
pub mod metrics;
pub mod monitor;
pub mod network;
pub mod peer;
pub mod postgres;
pub mod program;
mod request_line;
pub mod router;
pub mod serve;
pub mod service;
pub mod stack;
pub mod system_prompt;
mod unique_name;
