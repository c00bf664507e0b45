//! Who is there: instances announce themselves every second.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::instance::Instance;

/// How often an instance announces itself.
pub(super) const ANNOUNCE_INTERVAL: Duration = Duration::from_secs(1);

/// How long an instance counts as there after it has last announced itself.
///
/// Limit: an instance that was not heard of for this long is forgotten.
const PRESENCE_TIME: Duration = Duration::from_millis(3500);

/// How old an announcement may be before others are preferred: the next one is overdue.
const FRESH_TIME: Duration = Duration::from_millis(1500);

/// How long an instance that did not answer comes after the others.
const SUSPICION_TIME: Duration = Duration::from_secs(5);

/// The most instances that are remembered.
///
/// Limit: further instances are not seen.
const MAX_INSTANCES: usize = 10_000;

/// What is known about others.
#[derive(Default)]
pub(super) struct Presence {
    seen: Mutex<HashMap<(String, String), Seen>>,
}

#[derive(Debug, Clone)]
struct Seen {
    instance: Instance,
    at: Instant,
    suspected_until: Option<Instant>,
}

impl Presence {
    fn seen(&self) -> MutexGuard<'_, HashMap<(String, String), Seen>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn note(&self, instance: Instance) {
        let key = (instance.service.clone(), instance.instance.clone());
        let mut seen = self.seen();
        if instance.ended {
            seen.remove(&key);
            return;
        }
        let at = Instant::now();
        let is_full = seen.len() >= MAX_INSTANCES;
        match seen.entry(key) {
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                known.instance = instance;
                known.at = at;
            }
            Entry::Vacant(vacant) if !is_full => {
                vacant.insert(Seen {
                    instance,
                    at,
                    suspected_until: None,
                });
            }
            Entry::Vacant(_) => {}
        }
    }

    /// Forgets those that were not heard of for long.
    pub(super) fn forget_absent(&self) {
        self.seen()
            .retain(|_, seen| seen.at.elapsed() < PRESENCE_TIME);
    }

    /// After an outage of ours nobody could be heard: what was known counts from now.
    pub(super) fn forget_all(&self) {
        self.seen().clear();
    }

    /// Notes that an instance did not answer.
    pub(super) fn suspect(&self, service: &str, instance: &str) {
        let key = (service.to_owned(), instance.to_owned());
        if let Some(seen) = self.seen().get_mut(&key) {
            seen.suspected_until = Some(Instant::now() + SUSPICION_TIME);
        }
    }

    /// All instances, by service and instance.
    pub(super) fn instances(&self) -> Vec<Instance> {
        let seen = self.seen();
        let present = seen
            .values()
            .filter(|seen| seen.at.elapsed() < PRESENCE_TIME);
        let mut instances: Vec<Instance> = present.map(|seen| seen.instance.clone()).collect();
        drop(seen);
        instances.sort_by(|left, right| {
            (&left.service, &left.instance).cmp(&(&right.service, &right.instance))
        });
        instances
    }

    /// An instance of a service to send a request to, other than those already tried. The less it has to
    /// do, the likelier it is chosen: if it were always the one with the least, all callers would choose
    /// the same until its next announcement. `random` returns numbers from 0 to 1.
    pub(super) fn choose(
        &self,
        service: &str,
        tried: &[String],
        mut random: impl FnMut() -> f64,
    ) -> Option<String> {
        let now = Instant::now();
        let seen = self.seen();
        let candidates = seen.values().filter(|seen| {
            seen.instance.service == service
                && !seen.instance.draining
                && now.duration_since(seen.at) < PRESENCE_TIME
                && !tried.contains(&seen.instance.instance)
        });
        let ranked = candidates.map(|seen| (seen.doubt(now) + seen.load() * random(), seen));
        let best = ranked.min_by(|left, right| left.0.total_cmp(&right.0));
        best.map(|(_, seen)| seen.instance.instance.clone())
    }
}

impl Seen {
    /// Puts those that may be dead after all others.
    fn doubt(&self, now: Instant) -> f64 {
        let is_suspected = self.suspected_until.is_some_and(|until| now < until);
        let is_overdue = now.duration_since(self.at) > FRESH_TIME;
        match (is_suspected, is_overdue) {
            (false, false) => 0.0,
            (false, true) => 1e9,
            (true, false) => 2e9,
            (true, true) => 3e9,
        }
    }

    /// How much it has to do, more than 0 also for one that has nothing to do.
    fn load(&self) -> f64 {
        ratio(self.instance.in_flight + 1, self.instance.capacity)
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a load needs no more than a few digits"
)]
fn ratio(in_flight: usize, capacity: usize) -> f64 {
    (in_flight as f64 / capacity.max(1) as f64).min(1e6)
}

/// A service of this process, as it announces itself.
pub(super) struct Announced {
    pub(super) service: String,
    /// How many requests are taken.
    pub(super) capacity: usize,
    /// How many requests are handled at a time.
    pub(super) announced_capacity: AtomicUsize,
    pub(super) in_flight: AtomicUsize,
    pub(super) draining: AtomicBool,
}

impl Announced {
    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Begins a request, unless there are too many.
    pub(super) fn begin(self: &Arc<Self>) -> Option<InFlight> {
        let before = self.in_flight.fetch_add(1, Ordering::Relaxed);
        let running = InFlight(Arc::clone(self));
        (before < self.capacity).then_some(running)
    }
}

/// A request that is being handled.
pub(super) struct InFlight(Arc<Announced>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Services of which the bus may choose an instance that is gone: it notices late that a machine does not
/// answer.
#[derive(Default)]
pub(super) struct Doubts(Mutex<HashMap<String, Instant>>);

/// How long the bus does not choose after it has chosen badly.
const DOUBT_TIME: Duration = Duration::from_secs(10);

impl Doubts {
    fn since(&self) -> MutexGuard<'_, HashMap<String, Instant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add(&self, service: &str) {
        self.since().insert(service.to_owned(), Instant::now());
    }

    pub(super) fn contains(&self, service: &str) -> bool {
        let since = self.since();
        since
            .get(service)
            .is_some_and(|since| since.elapsed() < DOUBT_TIME)
    }
}
