//! The subcommands of the `zino` binary.

pub mod agent;
pub mod attach;
#[cfg(feature = "nats")]
pub mod bus;
pub mod certs;
pub mod check;
pub mod client;
pub mod events;
pub mod init;
pub mod notify;
pub mod run;
pub mod status;
pub mod store;
