//! Keeps a command that floods its output from flooding everyone who watches.

use std::time::Instant;

use zot_conversation::Progress;

/// What may be passed on at once, before the rate matters.
const BURST_BYTES: f64 = 256.0 * 1024.0;

/// What may be passed on in the long run: more than anyone can read.
const BYTES_PER_SECOND: f64 = 64.0 * 1024.0;

/// Passes progress on up to a rate, and says how much it left out.
pub(super) struct Throttle<'a> {
    progress: &'a dyn Progress,
    allowance: f64,
    since: Instant,
    left_out: usize,
}

impl<'a> Throttle<'a> {
    pub(super) fn new(progress: &'a dyn Progress) -> Self {
        Self {
            progress,
            allowance: BURST_BYTES,
            since: Instant::now(),
            left_out: 0,
        }
    }

    /// Passes `text` on, or leaves it out when there has been too much lately.
    pub(super) async fn report(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        let now = Instant::now();
        let earned = (now - self.since).as_secs_f64() * BYTES_PER_SECOND;
        self.since = now;
        self.allowance = (self.allowance + earned).min(BURST_BYTES);
        if text.len() as f64 > self.allowance {
            self.left_out += text.len();
            return;
        }
        self.allowance -= text.len() as f64;
        self.finish().await;
        self.progress.report(text).await;
    }

    /// Says how much was left out since the last text passed on.
    pub(super) async fn finish(&mut self) {
        if self.left_out > 0 {
            let note = format!("\n... [{} bytes not shown]\n", self.left_out);
            self.left_out = 0;
            self.progress.report(note).await;
        }
    }
}
