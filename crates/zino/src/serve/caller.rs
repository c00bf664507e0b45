//! Who calls over the network, and what they may ask for.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use zot_wire::zino::{Frame, any_service, claims};

use crate::config::Config;
use crate::kind::ServiceKind;

/// The names in certificates that may call one service.
#[derive(Debug)]
pub(crate) struct AllowTable {
    service: ServiceKind,
    callers: Vec<String>,
    /// Who may also use the claims of `mem`, without a right to its other requests.
    claimant: Option<String>,
    /// How the names of our namespace end.
    namespace_ending: String,
}

impl AllowTable {
    pub(crate) fn of(config: &Config, service: ServiceKind) -> Self {
        Self {
            service,
            callers: config.callers(service),
            claimant: (service == ServiceKind::Memory).then(|| {
                let executor = ServiceKind::Executor.name();
                config.tls.certificate_name(executor)
            }),
            namespace_ending: config.tls.certificate_name(""),
        }
    }
}

/// The other end of a connection.
#[derive(Debug)]
pub(crate) enum Caller {
    /// A process of this machine, without a certificate.
    Local,
    Certified {
        /// The names in the certificate.
        names: Vec<String>,
        table: Arc<AllowTable>,
    },
}

/// What a request is, as far as permissions are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// `ping` and `version`.
    Probe,
    /// The running of code is claimed, see [`claims`].
    Claim,
    Work,
}

impl Purpose {
    pub(crate) fn of(frame: &Frame) -> Self {
        if any_service::Request::of(frame).is_some() {
            return Self::Probe;
        }
        match frame.type_name() {
            Some(name) if claims::Request::is_named(name) => Self::Claim,
            _ => Self::Work,
        }
    }
}

impl Caller {
    /// Returns why the request is refused, if it is.
    pub(crate) fn refusal(&self, purpose: Purpose) -> Option<String> {
        let Self::Certified { names, table } = self else {
            return None;
        };
        if names.iter().any(|name| table.callers.contains(name)) {
            return None;
        }
        let is_claimant = |name: &String| table.claimant.as_ref() == Some(name);
        if purpose == Purpose::Claim && names.iter().any(is_claimant) {
            return None;
        }
        let is_ours = |name: &String| name.ends_with(&table.namespace_ending);
        if purpose == Purpose::Probe && names.iter().any(is_ours) {
            return None;
        }
        let caller = match names.as_slice() {
            [] => "a certificate without a name".to_owned(),
            names => names.join(", "),
        };
        let service = table.service.name();
        Some(match table.callers.as_slice() {
            [] => format!("{caller} may not call {service}: [allow] {service} is empty"),
            allowed => format!(
                "{caller} may not call {service}: allowed are {}",
                allowed.join(", ")
            ),
        })
    }
}
