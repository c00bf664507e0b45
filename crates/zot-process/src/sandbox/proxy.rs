//! The only way out for a child without a network: a proxy that connects to allowed hosts.

mod contacts;

pub use contacts::{Contact, ContactLog, ContactMark};

use super::host::ConnectRule;

/// Serves connections of a listener by a list of rules.
#[derive(Debug, Default)]
pub struct Proxy {
    #[expect(dead_code, reason = "not written yet")]
    rules: Vec<ConnectRule>,
}
