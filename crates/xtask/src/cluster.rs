//! Several nodes of zino with one PostgreSQL database, on this machine: for proofs and benches.
//!
//! Nodes are real processes. Clients run here and use a node's Unix sockets; nodes call each other over
//! TLS, each on an address of its own.

mod client;
mod ledger;
mod node;
mod site;

pub(crate) use client::{Ending, Turn, ask, begin, next_frame, turn};
pub(crate) use ledger::{Audit, Ledger};
pub(crate) use node::{Node, Place, Program};
pub(crate) use site::{Site, loopback_places};
