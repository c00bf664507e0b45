//! A prompt that is under way.

use super::App;

/// What is known of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Work {
    pub(crate) started_ms: u64,
    /// What the conversation had cost before.
    cost_before: f64,
    /// When the running answer's first text came, and how much came since.
    answer: Option<(u64, usize)>,
    pub(crate) doing: &'static str,
    pub(crate) cancelling: bool,
    /// The provider did not take the request.
    pub(crate) retry: Option<Retry>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Retry {
    pub(crate) failures: u32,
    /// When it is sent again.
    pub(crate) at_ms: u64,
    pub(crate) message: String,
}

/// What a token is taken for until the provider has counted.
const BYTES_PER_TOKEN: usize = 4;

/// A rate is shown when so much time has passed.
const RATE_AFTER_MS: u64 = 500;

impl Work {
    pub(crate) fn new(now_ms: u64, cost_usd: f64) -> Self {
        Self {
            started_ms: now_ms,
            cost_before: cost_usd,
            answer: None,
            doing: "thinking",
            cancelling: false,
            retry: None,
        }
    }

    pub(crate) fn received(&mut self, bytes: usize, now_ms: u64) {
        let (_, count) = self.answer.get_or_insert((now_ms, 0));
        *count += bytes;
    }

    /// What this one has cost, of all that was spent.
    pub(crate) fn cost_of(&self, cost_usd: f64) -> f64 {
        (cost_usd - self.cost_before).max(0.0)
    }

    pub(crate) fn answer_ended(&mut self) {
        self.answer = None;
    }

    pub(crate) fn tokens_per_second(&self, now_ms: u64) -> Option<u64> {
        let (since, bytes) = self.answer?;
        let passed = now_ms.saturating_sub(since);
        (passed >= RATE_AFTER_MS).then(|| (bytes / BYTES_PER_TOKEN) as u64 * 1_000 / passed)
    }
}

impl App {
    /// The conversation is shortened before the prompt goes on.
    pub(super) fn begin_compaction(&mut self) {
        if let Some(work) = &mut self.work {
            work.doing = "compacting the conversation";
        }
    }

    pub(super) fn begin_work(&mut self) -> &mut Work {
        let work = Work::new(self.now_ms, self.info.cost_usd);
        self.work.insert(work)
    }
}
