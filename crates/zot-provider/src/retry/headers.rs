//! The headers of a refused request that concern retries.

use std::time::Duration;

use zot_conversation::Timestamp;

/// Numbers above this are a moment, in seconds since 1970, and not a wait.
const FIRST_EPOCH_SECONDS: f64 = 1e9;

/// The same in milliseconds.
const FIRST_EPOCH_MILLISECONDS: f64 = 1e12;

/// The headers that matter here, names in lower case.
#[derive(Debug, Clone, Default)]
pub(crate) struct RetryHeaders(Vec<(String, String)>);

/// The server's own decision on a retry, whatever the status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShouldRetry {
    Yes,
    No,
}

impl RetryHeaders {
    /// Keeps the header if it concerns retries; `name` is in lower case.
    pub(crate) fn add(&mut self, name: &str, value: &str) {
        let known = matches!(name, "retry-after" | "retry-after-ms" | "x-should-retry");
        if known || name.contains("ratelimit") {
            self.0.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    pub(crate) fn should_retry(&self) -> Option<ShouldRetry> {
        match self.get("x-should-retry")? {
            "true" => Some(ShouldRetry::Yes),
            "false" => Some(ShouldRetry::No),
            _ => None,
        }
    }

    /// Returns the wait that the server asks for.
    pub(crate) fn retry_after(&self, now: Timestamp) -> Option<Duration> {
        let milliseconds = self.get("retry-after-ms").and_then(number);
        let precise = milliseconds.and_then(|wait| Duration::try_from_secs_f64(wait / 1e3).ok());
        precise.or_else(|| retry_after(self.get("retry-after")?, now))
    }

    /// Returns how long until the exhausted limit resets, from OpenAI's `x-ratelimit-reset-tokens`,
    /// Anthropic's `anthropic-ratelimit-requests-reset` and headers like them. Only used if the
    /// server names no wait.
    pub(crate) fn limit_reset(&self, now: Timestamp) -> Option<Duration> {
        let resets = self.0.iter().filter_map(|(name, value)| {
            let remaining = self.get(&name.replace("reset", "remaining"));
            let used_up = remaining.and_then(number).is_some_and(|left| left <= 0.0);
            let wait = name.contains("reset").then(|| reset(value, now))??;
            Some((used_up, wait))
        });
        let resets: Vec<(bool, Duration)> = resets.collect();
        // All exhausted limits must reset. Where none is exhausted, too little was left of one of
        // them: wait for the first reset, and for more if another 429 follows.
        let used_up = resets.iter().filter(|(used_up, _)| *used_up);
        let all = resets.iter().map(|(_, wait)| *wait);
        used_up.map(|(_, wait)| *wait).max().or(all.min())
    }

    fn get(&self, name: &str) -> Option<&str> {
        let header = self.0.iter().find(|(known, _)| known == name);
        header.map(|(_, value)| value.as_str())
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Reads a `Retry-After` header: seconds, or a date.
fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    if let Some(seconds) = number(value) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::DateTimeParser::new()
        .parse_timestamp(value)
        .ok()?;
    Some(until(date, now))
}

/// Reads the time of a reset: a moment, a number of seconds, or a text such as `6m0.5s`.
fn reset(value: &str, now: Timestamp) -> Option<Duration> {
    if let Some(number) = number(value) {
        let moment = match number {
            _ if number >= FIRST_EPOCH_MILLISECONDS => number / 1e3,
            _ if number >= FIRST_EPOCH_SECONDS => number,
            _ => return Duration::try_from_secs_f64(number).ok(),
        };
        let moment = Timestamp::from_millisecond((moment * 1e3) as i64).ok()?;
        return Some(until(moment, now));
    }
    match value.parse::<Timestamp>() {
        Ok(moment) => Some(until(moment, now)),
        Err(_) => spelled_out(value),
    }
}

/// Returns the time until `moment`; zero if it has passed.
fn until(moment: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(moment.duration_since(now)).unwrap_or_default()
}

/// Reads a duration in Go's format: `1h2m3.5s`, `17ms`.
fn spelled_out(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = 0.0;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (amount, tail) = rest.split_at(unit_at);
        let unit_length = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_length);
        let seconds = match unit {
            "d" => 86_400.0,
            "h" => 3_600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            "us" | "µs" => 1e-6,
            "ns" => 1e-9,
            _ => return None,
        };
        total += number(amount)? * seconds;
        rest = tail;
    }
    (!text.is_empty()).then(|| Duration::try_from_secs_f64(total).ok())?
}

#[cfg(test)]
mod tests;
