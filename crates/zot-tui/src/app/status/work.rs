//! The running prompt or compaction.

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Work {
    pub(crate) started_ms: u64,
    /// Cost of the session before this started.
    cost_before: f64,
    /// When the current response began to arrive, and how many bytes have arrived since.
    received: Option<(u64, usize)>,
    pub(crate) activity: &'static str,
    pub(crate) is_cancelling: bool,
    /// The request failed and will be sent again.
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

/// No rate is shown before this much time has passed.
const RATE_AFTER_MS: u64 = 500;

impl Work {
    pub(crate) fn new(now_ms: u64, cost_usd: f64, activity: &'static str) -> Self {
        Self {
            started_ms: now_ms,
            cost_before: cost_usd,
            received: None,
            activity,
            is_cancelling: false,
            retry: None,
        }
    }

    pub(crate) fn count_received(&mut self, bytes: usize, now_ms: u64) {
        let (_, count) = self.received.get_or_insert((now_ms, 0));
        *count += bytes;
    }

    /// Returns what this has added to the session's cost.
    pub(crate) fn own_cost(&self, cost_usd: f64) -> f64 {
        (cost_usd - self.cost_before).max(0.0)
    }

    pub(crate) fn end_response(&mut self) {
        self.received = None;
    }

    pub(crate) fn tokens_per_second(&self, now_ms: u64) -> Option<u64> {
        let (since, bytes) = self.received?;
        let elapsed = now_ms.saturating_sub(since);
        (elapsed >= RATE_AFTER_MS).then(|| (bytes / BYTES_PER_TOKEN) as u64 * 1_000 / elapsed)
    }
}
