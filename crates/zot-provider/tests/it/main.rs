//! The clients against a server that misbehaves on purpose.

mod server;
mod transport;
