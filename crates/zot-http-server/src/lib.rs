//! A small HTTP/1.1 server on hyper: the page of `zot login` and Glasspane's.
//!
//! Everything a client can take is limited ([`Limits`]), and every task belongs to [`Server::serve`].
//! Who may ask, and for what, is up to the handler.

mod body;
mod connection;
mod server;
mod silent;
mod timer;
mod transport;

pub use body::{Body, ChunkSender};
pub use bytes::Bytes;
pub use http;
pub use server::{Limits, Server};
pub use silent::{Silent, SilentGuard};
