//! What can be counted: counters, gauges, and durations in fixed buckets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The upper bounds of the buckets in seconds: from a hop between services to a long model response.
pub(super) const BOUNDS: [f64; 16] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0,
];

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub fn add_one(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number that rises and falls.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    pub const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub fn raise(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub fn lower(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    pub fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// How often something took how long.
#[derive(Debug, Default)]
pub struct Histogram {
    /// One count for each bound, and the last for what took longer.
    counts: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl Histogram {
    pub const fn new() -> Self {
        Self {
            counts: [const { AtomicU64::new(0) }; BOUNDS.len() + 1],
            nanoseconds: AtomicU64::new(0),
        }
    }

    pub fn record(&self, duration: Duration) {
        let seconds = duration.as_secs_f64();
        let bucket = BOUNDS.partition_point(|bound| *bound < seconds);
        self.counts[bucket].fetch_add(1, Ordering::Relaxed);
        let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.fetch_add(nanoseconds, Ordering::Relaxed);
    }

    /// How many durations were at most each of [`BOUNDS`], and how many there are in all.
    pub(super) fn cumulative(&self) -> [u64; BOUNDS.len() + 1] {
        let mut sum = 0;
        std::array::from_fn(|bucket| {
            sum += self.counts[bucket].load(Ordering::Relaxed);
            sum
        })
    }

    pub(super) fn sum_seconds(&self) -> f64 {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed)).as_secs_f64()
    }
}
