//! When a failed request is sent again without anyone being asked. Pure: the clock is a parameter.

use std::time::Duration;

use http::StatusCode;
use serde_json::Value;
use zot_conversation::Timestamp;

/// The waits before the second and the third attempt.
const DELAYS: [Duration; 2] = [Duration::from_millis(250), Duration::from_millis(750)];

/// The same where somebody watches.
const PATIENT_DELAYS: [Duration; 5] = [
    DELAYS[0],
    DELAYS[1],
    Duration::from_secs(2),
    Duration::from_secs(5),
    Duration::from_secs(10),
];

/// A server that asks for a longer wait than this is reported, not waited for.
const MAX_SILENT_WAIT: Duration = Duration::from_secs(10);
const MAX_PATIENT_WAIT: Duration = Duration::from_secs(90);

/// Anthropic's word for a server that has too much to do.
const OVERLOADED: u16 = 529;

/// How much is put up with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Patience {
    /// What is over in a moment.
    #[default]
    Short,
    /// Rate limits as well: somebody sees what is waited for and can stop it.
    Long,
}

/// Why an attempt failed, before any part of an answer arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    Status {
        status: StatusCode,
        retry_after: Option<Duration>,
    },
    /// No connection, or it ended before the first byte of an answer.
    Connection,
    /// Sending again would fail in the same way or take too long.
    Final,
}

/// How long to wait before sending again when `failures` attempts had failed before this one; `None`
/// when the failure is to be reported.
pub(crate) fn delay(failures: u32, failure: Failure, patience: Patience) -> Option<Duration> {
    let is_busy = |status: StatusCode| {
        status == StatusCode::TOO_MANY_REQUESTS
            || status == StatusCode::SERVICE_UNAVAILABLE
            || status.as_u16() == OVERLOADED
    };
    match failure {
        Failure::Status {
            status,
            retry_after,
        } if patience == Patience::Long && is_busy(status) => {
            let delay = PATIENT_DELAYS.get(failures as usize).copied()?;
            let wait = retry_after.map_or(delay, |wait| wait.max(delay));
            (wait <= MAX_PATIENT_WAIT).then_some(wait)
        }
        _ => short_delay(failures, failure),
    }
}

fn short_delay(failures: u32, failure: Failure) -> Option<Duration> {
    let delay = DELAYS.get(failures as usize).copied()?;
    match failure {
        Failure::Connection => Some(delay),
        Failure::Status {
            status: StatusCode::SERVICE_UNAVAILABLE,
            retry_after: Some(wait),
        } => (wait <= MAX_SILENT_WAIT).then(|| wait.max(delay)),
        Failure::Status { status, .. } => matches!(
            status,
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
        )
        .then_some(delay),
        Failure::Final => None,
    }
}

/// Reads a `Retry-After` header: seconds, or a date.
pub(crate) fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(value)
        .ok()?;
    // A date in the past means now.
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
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
