//! Turns what went wrong into a [`ModelError`]: the provider's name, the server's words, a kind.

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;

use http::StatusCode;
use zot_conversation::{ModelError, ModelErrorKind};

/// The most bytes of a server's answer that an error text carries.
const MAX_BODY_TEXT: usize = 4 * 1024;

/// Shorter keys are placeholders, and hiding them would garble the text.
const MIN_SECRET_BYTES: usize = 8;

/// What providers say when a conversation no longer fits, in lower case.
const OVERFLOW_SIGNS: [&str; 15] = [
    "context_length_exceeded",
    "context length exceeded",
    "prompt is too long",
    "maximum context length",
    "context window",
    "context size",
    "exceeds the context",
    "input is too long",
    "input length and `max_tokens` exceed",
    "request_too_large",
    "maximum prompt length",
    "too many tokens",
    "reduce the length of the messages",
    "exceeded model token limit",
    "exceeds the maximum number of tokens",
];

pub(crate) fn is_context_overflow(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    OVERFLOW_SIGNS.iter().any(|sign| text.contains(sign))
}

/// An answer with a status other than success.
pub(crate) fn http_error(
    provider: &str,
    status: StatusCode,
    retry_after: Option<Duration>,
    body: &[u8],
    secret: Option<&str>,
) -> ModelError {
    let text = String::from_utf8_lossy(body);
    let text = text.trim();
    let kind = match status.as_u16() {
        401 | 403 => ModelErrorKind::Unauthorized,
        429 => ModelErrorKind::RateLimited,
        // Google refuses a key as if the request were wrong.
        400 if text.contains("API_KEY_INVALID") => ModelErrorKind::Unauthorized,
        400 | 413 | 422 if is_context_overflow(text) => ModelErrorKind::ContextOverflow,
        500.. => ModelErrorKind::Unavailable,
        _ => ModelErrorKind::Invalid,
    };
    let text = shortened(&without_secret(text, secret));
    ModelError::new(
        kind,
        format!("{provider}: http {}: {text}", status.as_u16()),
    )
    .with_retry_after(retry_after)
}

/// An error event inside an accepted answer.
pub(crate) fn event_error(
    provider: &str,
    code: Option<&str>,
    message: &str,
    secret: Option<&str>,
) -> ModelError {
    let code = code.unwrap_or_default();
    let kind = match code {
        "rate_limit_error" | "rate_limit_exceeded" | "RESOURCE_EXHAUSTED" | "429" => {
            ModelErrorKind::RateLimited
        }
        "authentication_error"
        | "permission_error"
        | "invalid_api_key"
        | "UNAUTHENTICATED"
        | "PERMISSION_DENIED"
        | "401"
        | "403" => ModelErrorKind::Unauthorized,
        _ if is_context_overflow(code) || is_context_overflow(message) => {
            ModelErrorKind::ContextOverflow
        }
        "invalid_request_error"
        | "not_found_error"
        | "invalid_prompt"
        | "INVALID_ARGUMENT"
        | "NOT_FOUND"
        | "FAILED_PRECONDITION"
        | "400"
        | "404" => ModelErrorKind::Invalid,
        _ => ModelErrorKind::Unavailable,
    };
    let message = shortened(&without_secret(message.trim(), secret));
    let text = match code {
        "" => format!("{provider}: {message}"),
        code => format!("{provider}: {code}: {message}"),
    };
    ModelError::new(kind, text)
}

/// A request that got no answer at all.
pub(crate) fn connection_error(provider: &str, url: &str, cause: &str) -> ModelError {
    ModelError::new(
        ModelErrorKind::Connection,
        format!("{provider}: Post \"{url}\": {cause}"),
    )
}

/// An answer that broke off, stalled or made no sense.
pub(crate) fn stream_error(provider: &str, cause: impl std::fmt::Display) -> ModelError {
    ModelError::new(ModelErrorKind::Stream, format!("{provider}: {cause}"))
}

/// An answer that ended before its end marker, after `skipped` events that were not JSON.
pub(crate) fn broke_off(provider: &str, cause: &str, skipped: u64) -> ModelError {
    match skipped {
        0 => stream_error(provider, format_args!("stream broke off: {cause}")),
        skipped => stream_error(
            provider,
            format_args!("stream broke off: {cause} ({skipped} malformed events skipped)"),
        ),
    }
}

/// The causes of `error`, outermost first, each named once.
pub(crate) fn cause_chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

fn shortened(text: &str) -> String {
    if text.len() <= MAX_BODY_TEXT {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_BODY_TEXT);
    format!("{}…", text.get(..end).unwrap_or_default())
}

/// Servers sometimes quote the credential they refuse.
fn without_secret<'a>(text: &'a str, secret: Option<&str>) -> Cow<'a, str> {
    match secret {
        Some(secret) if secret.len() >= MIN_SECRET_BYTES && text.contains(secret) => {
            Cow::Owned(text.replace(secret, "[redacted]"))
        }
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests;
