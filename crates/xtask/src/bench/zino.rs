//! Measures the services of zino: response times, the cost when idle, many clients, long answers and
//! large memories.
//!
//! The clients run in this process and use only the wire. The floor of a figure is either the model
//! server, called by the same clients without zino in between, or a server that echoes every request.

mod client;
mod corpus;
mod crowd;
mod installation;
mod memory;
mod requests;
mod start;
mod turns;

pub(crate) use corpus::{Corpus, write_memories};
