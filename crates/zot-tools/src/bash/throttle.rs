//! Limits the rate at which a command's output is reported.

use std::time::Instant;

use zot_conversation::Progress;

/// How much may be forwarded at once, before the rate applies.
///
/// Limit: progress is left out and counted.
const PROGRESS_BURST_BYTES: f64 = 256.0 * 1024.0;

/// How much may be forwarded in the long run: more than anyone can read.
///
/// Limit: progress is left out and counted.
const PROGRESS_BYTES_PER_SECOND: f64 = 64.0 * 1024.0;

/// Forwards progress up to a rate, and reports how much it left out.
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
            allowance: PROGRESS_BURST_BYTES,
            since: Instant::now(),
            left_out: 0,
        }
    }

    /// Returns whether `bytes` more may be forwarded now. If not, they count as left out.
    pub(super) fn admits(&mut self, bytes: usize) -> bool {
        let now = Instant::now();
        let earned = (now - self.since).as_secs_f64() * PROGRESS_BYTES_PER_SECOND;
        self.since = now;
        self.allowance = (self.allowance + earned).min(PROGRESS_BURST_BYTES);
        let admitted = bytes as f64 <= self.allowance;
        if admitted {
            self.allowance -= bytes as f64;
        } else {
            self.left_out += bytes;
        }
        admitted
    }

    /// Forwards `text`, after a note if something was left out before it.
    pub(super) async fn report(&mut self, text: String) {
        self.finish().await;
        if !text.is_empty() {
            self.progress.report(text).await;
        }
    }

    /// Reports how much was left out since the last forwarded text.
    pub(super) async fn finish(&mut self) {
        if self.left_out > 0 {
            let note = format!("\n... [{} bytes not shown]\n", self.left_out);
            self.left_out = 0;
            self.progress.report(note).await;
        }
    }
}
