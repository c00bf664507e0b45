//! The only way out for a child without a network: a proxy that connects to allowed hosts.

use super::host::ConnectRule;

/// A host that a child wanted to connect to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contact {
    pub host: String,
    pub port: u16,
    pub is_allowed: bool,
}

/// TODO(proxy): serves connections of a listener by a list of rules.
#[derive(Debug, Default)]
pub struct Proxy {
    #[expect(dead_code, reason = "not written yet")]
    rules: Vec<ConnectRule>,
}
