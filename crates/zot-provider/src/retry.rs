//! Which failed requests are sent again, how often, and after which wait.
//!
//! The only table for every front end, including ZINO's router; `docs/providers.md` shows it and a
//! test compares the two. Statuses, back-off, jitter and headers are those of the official SDKs
//! (`_base_client.py` of openai-python and anthropic-sdk-python). Pure: the clock and the jitter
//! are parameters.

mod headers;

use std::time::Duration;

use serde_json::Value;

pub(crate) use headers::{RetryHeaders, ShouldRetry};

/// The wait before the second attempt; it doubles with every further one.
///
/// Limit: the first wait between two attempts, where the server names none.
const FIRST_RETRY_DELAY: Duration = Duration::from_millis(500);

/// The longest wait where the server names none.
///
/// Limit: waits between attempts grow no longer.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(8);

/// The largest share of a delay that jitter takes away, so that clients do not return all at once.
///
/// Limit: a wait is shortened by at most this share.
const MAX_RETRY_JITTER: f64 = 0.25;

/// How often a request is sent in all.
///
/// Limit: the last failure is reported.
const MAX_REQUEST_ATTEMPTS: u32 = 3;
/// Limit: in the chat, the last failure is reported.
const MAX_PATIENT_REQUEST_ATTEMPTS: u32 = 6;

/// The longest wait that a server may ask for.
///
/// Limit: a longer wait requested by the server is reported instead of waited for.
const MAX_SERVER_WAIT: Duration = Duration::from_secs(60);
/// Limit: in the chat, a longer wait requested by the server is reported instead of waited for.
const MAX_PATIENT_SERVER_WAIT: Duration = Duration::from_secs(90);

/// How many attempts a request gets, and how long a server may make it wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    max_attempts: u32,
    max_server_wait: Duration,
}

impl Patience {
    /// What the official SDKs do: for `rpc`, `-p`, `--json`, the SDK and ZINO's router.
    pub(crate) const STANDARD: Self = Self {
        max_attempts: MAX_REQUEST_ATTEMPTS,
        max_server_wait: MAX_SERVER_WAIT,
    };

    /// For the chat, where a person sees the wait and can stop it.
    pub(crate) const LONG: Self = Self {
        max_attempts: MAX_PATIENT_REQUEST_ATTEMPTS,
        max_server_wait: MAX_PATIENT_SERVER_WAIT,
    };
}

/// Why an attempt failed, before any part of a response arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    Status {
        status: u16,
        /// How long the server asks clients to wait.
        retry_after: Option<Duration>,
        should_retry: Option<ShouldRetry>,
    },
    /// The account has no credit or quota left, whatever the status and the headers are.
    NoCredit,
    /// The connection failed before the first byte of a response.
    Connection,
    /// The response took too long or was not HTTP.
    NoResponse,
}

/// One row of the table: a kind of failure, and whether it is retried. The first matching row
/// counts.
struct Rule {
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a test finds it in docs/providers.md")
    )]
    failure: &'static str,
    matches: fn(&Failure) -> bool,
    is_retried: bool,
}

const RULES: [Rule; 8] = [
    Rule {
        failure: "no connection, or one that ends before the first byte of a response",
        matches: |failure| matches!(failure, Failure::Connection),
        is_retried: true,
    },
    Rule {
        failure: "no response in time",
        matches: |failure| matches!(failure, Failure::NoResponse),
        is_retried: false,
    },
    Rule {
        failure: "an account without credit (`insufficient_quota`)",
        matches: |failure| matches!(failure, Failure::NoCredit),
        is_retried: false,
    },
    Rule {
        failure: "any status with `x-should-retry: true`",
        matches: |failure| failure.should_retry() == Some(ShouldRetry::Yes),
        is_retried: true,
    },
    Rule {
        failure: "any status with `x-should-retry: false`",
        matches: |failure| failure.should_retry() == Some(ShouldRetry::No),
        is_retried: false,
    },
    Rule {
        failure: "408, 409, 429",
        matches: |failure| matches!(failure.status(), Some(408 | 409 | 429)),
        is_retried: true,
    },
    Rule {
        failure: "500 and above (529 among them)",
        matches: |failure| matches!(failure.status(), Some(500..)),
        is_retried: true,
    },
    Rule {
        failure: "any other status",
        matches: |failure| failure.status().is_some(),
        is_retried: false,
    },
];

impl Failure {
    fn status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            Self::NoCredit | Self::Connection | Self::NoResponse => None,
        }
    }

    fn should_retry(&self) -> Option<ShouldRetry> {
        match self {
            Self::Status { should_retry, .. } => *should_retry,
            Self::NoCredit | Self::Connection | Self::NoResponse => None,
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            Self::NoCredit | Self::Connection | Self::NoResponse => None,
        }
    }

    fn is_retried(&self) -> bool {
        let rule = RULES.iter().find(|rule| (rule.matches)(self));
        rule.is_some_and(|rule| rule.is_retried)
    }
}

/// Whether, and when, a failed request is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextAttempt {
    After(Duration),
    None,
    /// Not sent again because the server asks for a longer wait than the caller's patience allows.
    WaitTooLong(Duration),
}

/// Decides what follows a failure after `failures` earlier ones. `jitter` is from 0 to 1.
pub(crate) fn next_attempt(
    failures: u32,
    failure: Failure,
    patience: Patience,
    jitter: f64,
) -> NextAttempt {
    if !failure.is_retried() {
        return NextAttempt::None;
    }
    match failure.retry_after() {
        Some(wait) if wait > patience.max_server_wait => NextAttempt::WaitTooLong(wait),
        _ if failures + 1 >= patience.max_attempts => NextAttempt::None,
        // As in the SDKs, 0 means that the server names no wait.
        Some(wait) if !wait.is_zero() => NextAttempt::After(wait),
        _ => NextAttempt::After(delay(failures, jitter)),
    }
}

/// Returns the wait after `failures` earlier failures, where the server names none.
fn delay(failures: u32, jitter: f64) -> Duration {
    let doubled = FIRST_RETRY_DELAY.saturating_mul(1_u32.checked_shl(failures).unwrap_or(u32::MAX));
    let share = 1.0 - MAX_RETRY_JITTER * jitter.clamp(0.0, 1.0);
    doubled.min(MAX_RETRY_DELAY).mul_f64(share)
}

/// Returns a number from 0 to 1 that differs between processes and between calls.
pub(crate) fn random_jitter() -> f64 {
    use std::hash::{BuildHasher, RandomState};
    // The keys of a new state are random; hashing anything reveals them.
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
