//! The services of zino: how soon they answer, what they cost at rest, under many clients, on long
//! answers and on long memories.
//!
//! Clients live in this process and know the wire only. The floor of a figure is the model server
//! asked by the same clients without zino between, or a server that sends every request back.

mod client;
mod corpus;
mod crowd;
mod installation;
mod memory;
mod requests;
mod start;
mod turns;
