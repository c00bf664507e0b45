//! Turns failures into a [`ModelError`]: a kind, the provider's name, the status, the server's message.

use std::borrow::Cow;
use std::error::Error;
use std::time::Duration;

use http::StatusCode;
use serde_json::Value;
use zot_conversation::{ImageBlame, ModelError, ModelErrorKind};

/// The most bytes of a response body that an error message includes.
///
/// Limit: the rest of an error response is not shown.
const MAX_SHOWN_BODY_BYTES: usize = 4 * 1024;

/// Shorter keys are placeholders, and hiding them would garble the text.
///
/// Limit: a shorter key is not removed from error messages.
const MIN_SECRET_BYTES: usize = 8;

/// Parts of providers' messages about a conversation that no longer fits, in lower case.
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

/// Parts of providers' messages about an account without credit or quota, in lower case. Sources:
/// the error pages of OpenAI, Anthropic, OpenRouter, DeepSeek, Moonshot, xAI and Alibaba Cloud.
const QUOTA_SIGNS: [&str; 19] = [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
    "exceeded_current_quota",
    "insufficient_user_quota",
    "credit balance is too low",
    "insufficient balance",
    "insufficient_balance",
    "insufficient credit",
    "insufficient_credit",
    "used all available credits",
    "spending limit",
    "key limit exceeded",
    "payment required",
    "payment_required",
    "arrearage",
    "freetieronly",
    "余额不足",
];

/// OpenAI's words for an empty account, and Google's for every quota.
const QUOTA_OR_RATE: &str = "exceeded your current quota";

/// Returns whether an account has no credit or quota left, so that neither a retry nor a short wait
/// helps.
pub(crate) fn is_insufficient_quota(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    if QUOTA_SIGNS.iter().any(|sign| text.contains(sign)) {
        return true;
    }
    // Google names the quota that is used up, for example
    // `GenerateRequestsPerDayPerProjectPerModel-FreeTier`. Those per minute are rate limits.
    match text.contains("resource_exhausted") || text.contains("quotaid") {
        true => ["perday", "limit: 0,", "limit: 0\\n"]
            .iter()
            .any(|sign| text.contains(sign)),
        false => text.contains(QUOTA_OR_RATE),
    }
}

pub(crate) fn is_context_overflow(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    OVERFLOW_SIGNS.iter().any(|sign| text.contains(sign))
}

/// Makes the error for a response with a status other than success.
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
        402 => ModelErrorKind::InsufficientQuota,
        400 | 403 | 429 if is_insufficient_quota(text) => ModelErrorKind::InsufficientQuota,
        401 | 403 => ModelErrorKind::Unauthorized,
        429 => ModelErrorKind::RateLimited,
        // Google refuses a key as if the request were wrong.
        400 if text.contains("API_KEY_INVALID") => ModelErrorKind::Unauthorized,
        400 | 413 | 422 if is_context_overflow(text) => ModelErrorKind::ContextOverflow,
        500.. => ModelErrorKind::Unavailable,
        _ => ModelErrorKind::Invalid,
    };
    let blame = match (kind, status.as_u16()) {
        (ModelErrorKind::Invalid, 400 | 413 | 415 | 422) => image_blame(text),
        // OpenRouter's response when no endpoint accepts images.
        (ModelErrorKind::Invalid, 404) if names_image(text) => ImageBlame::Named,
        _ => ImageBlame::None,
    };
    ModelError::new(kind, shortened(&without_secret(text, secret)))
        .with_provider(provider)
        .with_status(status.as_u16())
        .with_retry_after(retry_after)
        .with_image_blame(blame)
}

/// Makes the error for an error event inside an accepted response. `names` are the provider's names
/// for it, most specific first; the first one present is shown.
pub(crate) fn event_error(
    provider: &str,
    names: &[Option<&str>],
    message: &str,
    secret: Option<&str>,
) -> ModelError {
    let names = || {
        names
            .iter()
            .copied()
            .flatten()
            .filter(|name| !name.is_empty())
    };
    // Joined, because the meaning of Google's message depends on its code.
    let description: String = names()
        .chain([message])
        .map(|text| format!("{text} "))
        .collect();
    let kind = if is_insufficient_quota(&description) {
        ModelErrorKind::InsufficientQuota
    } else if is_context_overflow(&description) {
        ModelErrorKind::ContextOverflow
    } else {
        names()
            .find_map(kind_of_name)
            .unwrap_or(ModelErrorKind::Unavailable)
    };
    let blame = match kind {
        ModelErrorKind::Invalid => image_blame(message),
        _ => ImageBlame::None,
    };
    let message = shortened(&without_secret(message.trim(), secret));
    let text = match names().next() {
        None => message,
        Some(name) => format!("{name}: {message}"),
    };
    ModelError::new(kind, text)
        .with_provider(provider)
        .with_image_blame(blame)
}

/// Parts of providers' messages about an image, in lower case.
const IMAGE_SIGNS: [&str; 8] = [
    "image",
    "media_type",
    "media type",
    "mime",
    "inlinedata",
    "inline_data",
    "vision",
    "multimodal",
];

fn names_image(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    IMAGE_SIGNS.iter().any(|sign| text.contains(sign))
}

/// Returns whether a refusal blames an image. One about the model does not.
fn image_blame(text: &str) -> ImageBlame {
    match names_image(text) {
        true => ImageBlame::Named,
        false if text.to_ascii_lowercase().contains("model") => ImageBlame::None,
        false => ImageBlame::Possible,
    }
}

/// Returns the kind for a provider's name of an error, or for an HTTP status.
fn kind_of_name(name: &str) -> Option<ModelErrorKind> {
    Some(match name {
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "too_many_requests"
        | "RESOURCE_EXHAUSTED"
        | "429" => ModelErrorKind::RateLimited,
        "402" => ModelErrorKind::InsufficientQuota,
        "authentication_error"
        | "permission_error"
        | "invalid_api_key"
        | "UNAUTHENTICATED"
        | "PERMISSION_DENIED"
        | "401"
        | "403" => ModelErrorKind::Unauthorized,
        "content_filter" | "content_policy_violation" => ModelErrorKind::Refused,
        "invalid_request_error"
        | "not_found_error"
        | "invalid_prompt"
        | "BadRequestError"
        | "INVALID_ARGUMENT"
        | "NOT_FOUND"
        | "FAILED_PRECONDITION"
        | "400"
        | "404"
        | "413"
        | "422" => ModelErrorKind::Invalid,
        _ => return None,
    })
}

/// Finds the error in a JSON document that came instead of a response, in any of the forms that
/// servers use: an `error` object or text, or the fields of such an object themselves.
pub(crate) fn document_error(
    provider: &str,
    document: &Value,
    secret: Option<&str>,
) -> Option<ModelError> {
    // Google's compatible wire wraps it in an array.
    let document = document.get(0).unwrap_or(document);
    let error = match document.get("error") {
        Some(error) if !error.is_null() => error,
        _ if document.get("object").and_then(Value::as_str) == Some("error") => document,
        _ => return None,
    };
    let text = |name: &str| match error.get(name)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let message = match error {
        Value::String(message) => message.clone(),
        error => text("message").unwrap_or_else(|| error.to_string()),
    };
    let (kind, status, code) = (text("type"), text("status"), text("code"));
    let names = [kind.as_deref(), status.as_deref(), code.as_deref()];
    Some(event_error(provider, &names, &message, secret))
}

/// Makes the error for a request without a response.
pub(crate) fn connection_error(provider: &str, url: &str, cause: &str) -> ModelError {
    ModelError::new(
        ModelErrorKind::Connection,
        format!("Post \"{url}\": {cause}"),
    )
    .with_provider(provider)
}

/// Makes the error for a response that broke off, stalled or made no sense.
pub(crate) fn stream_error(provider: &str, cause: impl std::fmt::Display) -> ModelError {
    ModelError::new(ModelErrorKind::Stream, cause.to_string()).with_provider(provider)
}

/// Makes the error for a response that ended before its end marker, after `skipped` events that were
/// not JSON.
pub(crate) fn broke_off(provider: &str, cause: &str, skipped: u64) -> ModelError {
    match skipped {
        0 => stream_error(provider, format_args!("stream broke off: {cause}")),
        skipped => stream_error(
            provider,
            format_args!("stream broke off: {cause} ({skipped} malformed events skipped)"),
        ),
    }
}

/// Joins the causes of `error`, outermost first, each named once.
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
    if text.len() <= MAX_SHOWN_BODY_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_SHOWN_BODY_BYTES);
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
