//! Several nodes of zino with one PostgreSQL database, on this machine: for proofs and benches.
//!
//! Nodes are real processes. Clients run here and use a node's Unix sockets; nodes call each other over
//! TLS, each on an address of its own.

mod authority;
mod client;
mod ledger;
mod load;
mod node;
mod site;

pub(crate) use authority::{Authority, Validity};
pub(crate) use client::{Ending, Turn, ask, begin, next_frame, turn};
pub(crate) use ledger::{Audit, Ledger};
pub(crate) use load::{Load, Sample};
pub(crate) use node::{Node, Place, Program};
pub(crate) use site::{Link, Site, loopback_places};
