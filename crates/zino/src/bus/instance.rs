//! What an instance of a service says about itself.

use serde::{Deserialize, Serialize};

/// One process that serves one service, as it last announced itself. Fields of later versions are
/// ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    /// The name of the service on the bus, such as `rtr` or `agent.coder`.
    pub service: String,
    pub instance: String,
    #[serde(default)]
    pub host: String,
    #[serde(default)]
    pub pid: u32,
    #[serde(default)]
    pub version: String,
    /// How many requests it is handling.
    #[serde(default)]
    pub in_flight: usize,
    /// How many requests it handles at a time.
    #[serde(default)]
    pub capacity: usize,
    /// Whether it refuses new requests because it is about to end.
    #[serde(default)]
    pub draining: bool,
    /// Whether it has ended: this was its last announcement.
    #[serde(default, skip_serializing_if = "is_false")]
    pub ended: bool,
    /// How long its store last took for a statement, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_lag_ms: Option<f64>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}
