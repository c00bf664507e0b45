//! The subcommands of the `zino` binary.

#[cfg(feature = "nats")]
pub mod bus;
pub mod certs;
pub mod check;
pub mod client;
pub mod init;
pub mod notify;
pub mod run;
pub mod status;
pub mod store;
