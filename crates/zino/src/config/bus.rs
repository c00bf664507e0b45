//! `[bus]`: the NATS server through which services find each other.

use std::env;
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;

use super::Config;

/// The variable that wins over `[bus] url`, so that a password need not be in a file.
pub const BUS_URL_VARIABLE: &str = "ZINO_BUS_URL";

/// The variable that wins over `[bus] identity`, so that several processes can share a file.
pub const BUS_IDENTITY_VARIABLE: &str = "ZINO_BUS_IDENTITY";

/// `[bus]`, ours: without it services are called at their sockets, or where `[peers]` says.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Bus {
    pub url: Option<BusUrl>,
    /// The authority that signed the server's certificate; the system's when not given.
    pub ca: Option<PathBuf>,
    /// The file with our nkey seed.
    pub nkey: Option<PathBuf>,
    /// The file with our credentials: a token of the server and the seed that goes with it.
    pub credentials: Option<PathBuf>,
    /// The name that the server's permissions have for this process; its first service, `agent` or
    /// `client` when not given.
    pub identity: Option<String>,
    /// Keeps several systems on one server apart; that of `[tls]` when not given.
    pub namespace: Option<String>,
}

/// The addresses of one bus, separated by commas. They may hold a password and are therefore never
/// printed.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct BusUrl(String);

impl BusUrl {
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for BusUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("BusUrl(…)")
    }
}

impl Config {
    /// `$ZINO_BUS_URL`, then `[bus] url`; `None` without a bus.
    pub fn bus_url(&self) -> Option<BusUrl> {
        let given = |url: &BusUrl| !url.0.is_empty();
        env::var(BUS_URL_VARIABLE)
            .ok()
            .map(BusUrl)
            .filter(given)
            .or_else(|| self.bus.url.clone().filter(given))
    }

    /// `$ZINO_BUS_IDENTITY`, then `[bus] identity`, then what the process is by itself.
    pub fn bus_identity(&self, by_itself: &str) -> String {
        env::var(BUS_IDENTITY_VARIABLE)
            .ok()
            .or_else(|| self.bus.identity.clone())
            .filter(|identity| !identity.is_empty())
            .unwrap_or_else(|| by_itself.to_owned())
    }

    /// The namespace of the bus.
    pub fn bus_namespace(&self) -> &str {
        self.bus.namespace.as_deref().unwrap_or(&self.tls.namespace)
    }
}
