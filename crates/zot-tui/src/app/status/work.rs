//! The prompt or compaction that runs.

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Work {
    pub(crate) started_ms: u64,
    /// Cost of the session before this started.
    cost_before: f64,
    /// When the first text of the current response came, and how many bytes came since.
    received: Option<(u64, usize)>,
    pub(crate) doing: &'static str,
    pub(crate) is_cancelling: bool,
    /// The provider rejected the request, which is sent again.
    pub(crate) retry: Option<Retry>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Retry {
    pub(crate) failures: u32,
    /// When the request is sent again.
    pub(crate) at_ms: u64,
    pub(crate) message: String,
}

/// Estimated size of a token until the provider reports the count.
const BYTES_PER_TOKEN: usize = 4;

/// A rate is shown after this time.
const RATE_AFTER_MS: u64 = 500;

impl Work {
    pub(crate) fn new(now_ms: u64, cost_usd: f64, doing: &'static str) -> Self {
        Self {
            started_ms: now_ms,
            cost_before: cost_usd,
            received: None,
            doing,
            is_cancelling: false,
            retry: None,
        }
    }

    pub(crate) fn received(&mut self, bytes: usize, now_ms: u64) {
        let (_, count) = self.received.get_or_insert((now_ms, 0));
        *count += bytes;
    }

    /// The part of the session's cost that belongs to this.
    pub(crate) fn cost_of(&self, cost_usd: f64) -> f64 {
        (cost_usd - self.cost_before).max(0.0)
    }

    pub(crate) fn answer_ended(&mut self) {
        self.received = None;
    }

    pub(crate) fn tokens_per_second(&self, now_ms: u64) -> Option<u64> {
        let (since, bytes) = self.received?;
        let passed = now_ms.saturating_sub(since);
        (passed >= RATE_AFTER_MS).then(|| (bytes / BYTES_PER_TOKEN) as u64 * 1_000 / passed)
    }
}
