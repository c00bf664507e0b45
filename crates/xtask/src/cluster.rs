//! Several nodes of zino with one PostgreSQL database, on this machine: for proofs and benches.
//!
//! Nodes are real processes. Clients run here and use a node's Unix sockets; nodes call each other over
//! TLS, each on an address of its own, or through a bus.

mod authority;
mod bus_client;
mod client;
mod health;
mod ledger;
mod load;
mod node;
mod site;
mod worker;

pub(crate) use authority::{Authority, Validity};
pub(crate) use bus_client::BusClient;
pub(crate) use client::{Ending, Turn, ask, begin, next_frame, turn};
pub(crate) use ledger::{Audit, Ledger};
pub(crate) use load::{Entrance, Load, Sample};
pub(crate) use node::{Node, Place, Program, daemons};
pub(crate) use site::{Layout, Link, Site, loopback_places, recommended_bus};
