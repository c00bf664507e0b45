//! Limits the rate of something.

#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::time::Instant;

/// Allows a rate per second, and bursts of one second's worth.
///
/// Anything beyond that is either refused or delayed: the writer of a pipe that is not read has to
/// wait.
#[derive(Debug)]
pub struct Throttle {
    per_second: f64,
    available: f64,
    updated: Instant,
    /// Since when there has been no full second without a pause.
    pausing_since: Option<Instant>,
    last_pause: Option<Instant>,
}

/// How long there must be no pause for a flood to count as over.
const CALM: Duration = Duration::from_secs(1);

impl Throttle {
    pub fn new(per_second: u32, now: Instant) -> Self {
        Self {
            per_second: f64::from(per_second),
            available: f64::from(per_second),
            updated: now,
            pausing_since: None,
            last_pause: None,
        }
    }

    /// Takes one if available. A refusal costs nothing.
    pub fn try_take(&mut self, now: Instant) -> bool {
        self.refill(now);
        let is_allowed = self.available >= 1.0;
        if is_allowed {
            self.available -= 1.0;
        }
        is_allowed
    }

    /// Counts `amount`, and returns when to continue if that is too much.
    pub fn take(&mut self, amount: usize, now: Instant) -> Option<Instant> {
        self.refill(now);
        self.available -= amount as f64;
        if self.available >= 0.0 {
            return None;
        }
        if self
            .last_pause
            .is_none_or(|last| now.duration_since(last) > CALM)
        {
            self.pausing_since = Some(now);
        }
        let until = now + Duration::from_secs_f64(-self.available / self.per_second);
        self.last_pause = Some(until);
        Some(until)
    }

    fn refill(&mut self, now: Instant) {
        let passed = now.duration_since(self.updated).as_secs_f64();
        self.updated = now;
        self.available = (self.available + passed * self.per_second).min(self.per_second);
    }

    /// Returns for how long pauses have been necessary.
    pub fn pausing_for(&self, now: Instant) -> Duration {
        match (self.pausing_since, self.last_pause) {
            (Some(since), Some(last)) if now.saturating_duration_since(last) <= CALM => {
                now.duration_since(since)
            }
            _ => Duration::ZERO,
        }
    }
}
