//! Counts what this process does, as Prometheus text.
//!
//! Everything is a static atomic: counting costs an addition, whether or not anybody asks. A service
//! appears in the text once its capacity is set.

mod service;
#[cfg(test)]
mod tests;
mod text;
mod value;

use std::sync::{Mutex, PoisonError};

use crate::kind::ServiceKind;

pub use service::{ErrorLabel, Running, ServiceMetrics};
pub use text::text;
pub use value::{Counter, Gauge, Histogram};

/// How long the first instance asked took to accept a call over the bus.
pub static BUS_ACCEPT_SECONDS: Histogram = Histogram::new();

/// Attempts after the first, of calls over the bus.
pub static BUS_RETRIES: Counter = Counter::new();

/// How often a response waited for its reader's credit.
pub static BUS_CREDIT_STALLS: Counter = Counter::new();

pub static BUS_RECONNECTS: Counter = Counter::new();

/// 1 while the bus is connected.
pub static BUS_CONNECTED: Gauge = Gauge::new();

/// Sessions that were taken over from another worker after its lease had ended.
pub static LEASE_TAKEOVERS: Counter = Counter::new();

/// How long an append to the store took, as the caller sees it.
pub static APPEND_SECONDS: Histogram = Histogram::new();

/// Turns whose client was told that they were not, or may not have been, stored.
pub static UNSAVED_TURNS: Counter = Counter::new();

/// Sessions that this worker runs.
pub static SESSIONS_OPEN: Gauge = Gauge::new();

/// Sessions that were opened with what another worker, or an earlier run, had recorded.
pub static SESSIONS_RESUMED: Counter = Counter::new();

/// Microseconds that the last statement of the database took.
pub static STORE_LAG_MICROSECONDS: Gauge = Gauge::new();

/// 1 from SIGTERM on.
pub static DRAINING: Gauge = Gauge::new();

static SERVICES: [ServiceMetrics; ServiceKind::ALL.len()] =
    [const { ServiceMetrics::new() }; ServiceKind::ALL.len()];

/// The services that are not one of the seven, by name.
static OTHERS: Mutex<Vec<(String, &'static ServiceMetrics)>> = Mutex::new(Vec::new());

/// The metrics of one of the seven services.
pub fn of(kind: ServiceKind) -> &'static ServiceMetrics {
    &SERVICES[kind as usize]
}

/// The metrics of another service, such as `agent.build`: ask once, when it starts. They last as long as
/// the process.
pub fn of_named(name: &str) -> &'static ServiceMetrics {
    let mut others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, metrics)) = others.iter().find(|(known, _)| known == name) {
        return metrics;
    }
    let metrics: &'static ServiceMetrics = Box::leak(Box::new(ServiceMetrics::new()));
    others.push((name.to_owned(), metrics));
    metrics
}

/// How many requests a service handles, of how many at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    pub in_flight: usize,
    pub capacity: usize,
}

/// The load of a service of this process.
pub fn load_of(name: &str) -> Option<Load> {
    let service = match ServiceKind::named(name) {
        Some(kind) => of(kind),
        None => {
            let others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
            others.iter().find(|(known, _)| known == name)?.1
        }
    };
    let count = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    (service.capacity() > 0).then(|| Load {
        in_flight: count(service.in_flight()),
        capacity: count(service.capacity()),
    })
}

/// The services of this process, by name.
fn services() -> Vec<(String, &'static ServiceMetrics)> {
    let known = ServiceKind::ALL
        .into_iter()
        .map(|kind| (kind.name().to_owned(), of(kind)));
    let others = OTHERS.lock().unwrap_or_else(PoisonError::into_inner);
    known
        .chain(others.iter().cloned())
        .filter(|(_, metrics)| metrics.capacity() > 0)
        .collect()
}
