//! Services on real sockets, with a scripted model behind them.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod agent_loop;
mod agents;
mod authority;
mod bus;
mod captures;
mod certificates;
mod command_line;
mod conformance;
mod cut_cables;
mod degradation;
mod escapes;
mod executor;
mod executor_sandbox;
mod executor_validators;
mod installation;
mod kept_connections;
mod lost_connections;
mod machines;
mod mixed;
mod monitor;
mod network;
mod original;
mod privacy;
mod router;
mod stack;
mod store;
mod transcript;
mod watching;
mod wire;
