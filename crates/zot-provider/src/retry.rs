//! When a failed request is sent again without anyone being asked, and after which wait.
//!
//! The one table for every front end; `docs/providers.md` shows it. Statuses, back-off, jitter and
//! headers are those of the official SDKs (`_base_client.py` of openai-python and
//! anthropic-sdk-python). Pure: the clock and the jitter are parameters.

mod headers;

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;

pub(crate) use headers::{RetryHeaders, ShouldRetry};

/// The wait before the second attempt; it doubles with every further one.
///
/// Limit: the first wait between two attempts, where the server names none.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(500);

/// The longest wait that nobody asked for.
///
/// Limit: waits between attempts grow no longer.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(8);

/// How much of a delay jitter may take away, so that clients do not come back all at once.
///
/// Limit: a wait is shortened by at most this share.
const MAX_RETRY_JITTER: f64 = 0.25;

/// How often a request is sent in all.
///
/// Limit: the last failure is reported.
const MAX_REQUEST_ATTEMPTS: u32 = 3;
/// Limit: in the chat, the last failure is reported.
const MAX_PATIENT_REQUEST_ATTEMPTS: u32 = 6;

/// A server that asks for a longer wait than this is reported, not waited for.
///
/// Limit: a longer wait requested by the server is reported instead of waited for.
const MAX_SERVER_WAIT: Duration = Duration::from_secs(60);
/// Limit: in the chat, a longer wait requested by the server is reported instead of waited for.
const MAX_PATIENT_SERVER_WAIT: Duration = Duration::from_secs(90);

/// How much is put up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Patience {
    /// As much as the official SDKs put up with.
    #[default]
    Short,
    /// More: somebody sees what is waited for and can stop it.
    Long,
}

impl Patience {
    fn max_tries(self) -> u32 {
        match self {
            Self::Short => MAX_REQUEST_ATTEMPTS,
            Self::Long => MAX_PATIENT_REQUEST_ATTEMPTS,
        }
    }

    fn max_server_wait(self) -> Duration {
        match self {
            Self::Short => MAX_SERVER_WAIT,
            Self::Long => MAX_PATIENT_SERVER_WAIT,
        }
    }
}

/// Why an attempt failed, before any part of an answer arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    Status {
        status: StatusCode,
        /// How long the server asks to be left alone.
        retry_after: Option<Duration>,
        should_retry: Option<ShouldRetry>,
    },
    /// No connection, or it ended before the first byte of an answer.
    Connection,
    /// Sending again would fail in the same way or take too long.
    Final,
}

/// What to do about a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Send again after this wait.
    Wait(Duration),
    Report,
    /// Report it, and that the server asks for a longer wait than is put up with.
    ReportWait(Duration),
}

/// Decides when `failures` attempts had failed before this one. `jitter` is from 0 to 1.
pub(crate) fn next(failures: u32, failure: Failure, patience: Patience, jitter: f64) -> Next {
    let retry_after = match failure {
        Failure::Connection => None,
        Failure::Status {
            status,
            retry_after,
            should_retry,
        } if is_retried(status, should_retry) => retry_after,
        Failure::Status { .. } | Failure::Final => return Next::Report,
    };
    match retry_after {
        Some(wait) if wait > patience.max_server_wait() => Next::ReportWait(wait),
        _ if failures + 1 >= patience.max_tries() => Next::Report,
        // As the SDKs have it, 0 means that the server names no wait.
        Some(wait) if !wait.is_zero() => Next::Wait(wait),
        _ => Next::Wait(delay(failures, jitter)),
    }
}

fn is_retried(status: StatusCode, should_retry: Option<ShouldRetry>) -> bool {
    match should_retry {
        Some(ShouldRetry::Yes) => true,
        Some(ShouldRetry::No) => false,
        None => matches!(status.as_u16(), 408 | 409 | 429 | 500..),
    }
}

/// The wait after `failures` attempts had failed before this one, where the server names none.
fn delay(failures: u32, jitter: f64) -> Duration {
    let doubled = FIRST_RETRY_DELAY.saturating_mul(1_u32.checked_shl(failures).unwrap_or(u32::MAX));
    let share = 1.0 - MAX_RETRY_JITTER * jitter.clamp(0.0, 1.0);
    doubled.min(MAX_RETRY_DELAY).mul_f64(share)
}

/// A number from 0 to 1 that differs from process to process and from call to call.
pub(crate) fn random_jitter() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    // The keys of a new state are random; hashing anything brings them out.
    let random = RandomState::new().hash_one(0);
    // The upper half is enough, and fits a fraction exactly.
    (random >> 32) as f64 / f64::from(u32::MAX)
}

/// Reads the wait that Google names in the body of its errors, where others use the header.
pub(crate) fn retry_delay(body: &[u8]) -> Option<Duration> {
    let body: Value = serde_json::from_slice(body).ok()?;
    // The wire that is compatible with OpenAI's wraps it in an array.
    let body = body.get(0).unwrap_or(&body);
    let details = body.pointer("/error/details")?.as_array()?;
    let delay = details
        .iter()
        .find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests;
