//! A small HTTP/1.1 server on hyper, for the pages of `zot login` and of Glasspane.
//!
//! Everything a client can use is limited ([`Limits`]), and every task belongs to [`Server::serve`].
//! Access control is up to the handler.

mod body;
mod connection;
mod idle;
mod server;
mod timer;
mod transport;

pub use body::{Body, ChunkSender};
pub use bytes::Bytes;
pub use http;
pub use idle::{IdleConnections, IdleGuard};
pub use server::{Limits, Server};
