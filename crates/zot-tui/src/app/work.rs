//! A prompt that is under way.

/// What is known of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Work {
    pub(crate) started_ms: u64,
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
    pub(crate) fn new(now_ms: u64) -> Self {
        Self {
            started_ms: now_ms,
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

    pub(crate) fn answer_ended(&mut self) {
        self.answer = None;
    }

    pub(crate) fn tokens_per_second(&self, now_ms: u64) -> Option<u64> {
        let (since, bytes) = self.answer?;
        let passed = now_ms.saturating_sub(since);
        (passed >= RATE_AFTER_MS).then(|| (bytes / BYTES_PER_TOKEN) as u64 * 1_000 / passed)
    }
}
