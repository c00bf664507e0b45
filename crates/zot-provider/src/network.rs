//! Which hosts a configuration contacts, how, and whether they can be reached.
//!
//! [`Plan`] is pure: it describes what would be contacted. [`probe`] tries it, up to the TLS
//! handshake; no request is sent.

mod plan;
mod probe;
mod settings;

pub use plan::{Bypass, CertificateSource, Plan, PlanError, PlannedProxy};
pub use probe::{ProbeStage, ProbeStep, probe};
pub use settings::NetworkSettings;
pub(crate) use settings::{Proxy, Route};
