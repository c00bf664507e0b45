//! `[metrics]` and `[wire] drain_timeout`: what operators watch, and how services end.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;

use super::{Config, duration};
use crate::serve::SERVICE_ENDING_TIME;

/// How long running requests may take to finish after SIGTERM, where others take over new ones.
///
/// Limit: running requests are abandoned.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(100);

/// `[metrics]`, ours.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Metrics {
    /// Where `/metrics`, `/healthz` and `/readyz` are served; nowhere when not given.
    pub listen: Option<SocketAddr>,
}

impl Config {
    /// How long running requests may take to finish after the process was asked to stop: longer on a
    /// bus, where others take new requests meanwhile.
    pub fn drain_timeout(&self) -> Duration {
        match self.wire.drain_timeout {
            Some(seconds) => duration(seconds).unwrap_or(Duration::MAX),
            None if self.bus_url().is_some() => DRAIN_TIMEOUT,
            None => SERVICE_ENDING_TIME,
        }
    }
}
