//! Agents on many machines: workers that run sessions of zot for clients on the bus.

pub mod profile;
mod service;
mod store;
mod watched;
pub mod wire;

pub use service::AgentService;
pub use store::PostgresSessions;
pub use watched::{SESSION_EVENTS, SessionLine};
