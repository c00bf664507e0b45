//! Slows down who does too much.

#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::time::Instant;

/// Allows so much a second, and a burst of one second's worth.
///
/// Going over is either refused, or paid for by waiting: whoever writes to a pipe that is not read
/// waits too.
#[derive(Debug)]
pub(crate) struct Throttle {
    per_second: f64,
    available: f64,
    updated: Instant,
    /// Since when there was no full second without a pause.
    pausing_since: Option<Instant>,
    last_pause: Option<Instant>,
}

/// One that was not slowed down for so long has calmed down.
const CALM: Duration = Duration::from_secs(1);

impl Throttle {
    pub(crate) fn new(per_second: u32, now: Instant) -> Self {
        Self {
            per_second: f64::from(per_second),
            available: f64::from(per_second),
            updated: now,
            pausing_since: None,
            last_pause: None,
        }
    }

    /// Takes one if there is one. Who is refused owes nothing for having asked.
    pub(crate) fn try_take(&mut self, now: Instant) -> bool {
        self.refill(now);
        let is_allowed = self.available >= 1.0;
        if is_allowed {
            self.available -= 1.0;
        }
        is_allowed
    }

    /// Counts `amount`, and tells when there may be more.
    pub(crate) fn take(&mut self, amount: usize, now: Instant) -> Option<Instant> {
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

    /// For how long it has had to be slowed down again and again.
    pub(crate) fn pausing_for(&self, now: Instant) -> Duration {
        match (self.pausing_since, self.last_pause) {
            (Some(since), Some(last)) if now.saturating_duration_since(last) <= CALM => {
                now.duration_since(since)
            }
            _ => Duration::ZERO,
        }
    }
}
