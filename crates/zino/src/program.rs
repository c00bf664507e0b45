//! What the `zino` binary does beside serving.

pub mod check;
pub mod client;
pub mod init;
pub mod notify;
pub mod run;
pub mod status;
