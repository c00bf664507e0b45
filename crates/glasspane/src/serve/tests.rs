//! The server over real sockets.

mod access;
mod client;
mod feed;
mod limits;
mod merging;
mod tokens;
