//! What to do about a failed question, and what to say about it.

#[cfg(test)]
mod tests;

use serde_json::Value;
use zot_conversation::{ModelError, ModelErrorKind};

/// What follows a failure, after the client's own retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Elsewhere,
    Report,
}

/// Decides whether another server may do better.
pub(super) fn next(error: &ModelError, has_other: bool) -> Next {
    match error.kind {
        ModelErrorKind::Connection
        | ModelErrorKind::Unavailable
        | ModelErrorKind::Stream
        | ModelErrorKind::RateLimited
        | ModelErrorKind::InsufficientQuota
            if has_other =>
        {
            Next::Elsewhere
        }
        _ => Next::Report,
    }
}

/// What the caller reads: a refusal as the original words it.
pub(super) fn message(error: &ModelError) -> String {
    match refusal(error) {
        Some((status, body)) => format!("Error code: {status} - {}", server_words(body)),
        None => error.message.clone(),
    }
}

/// The status and the body of a refusal, `provider: http 401: body`.
fn refusal(error: &ModelError) -> Option<(u16, &str)> {
    let (_provider, rest) = error.message.split_once(": http ")?;
    let (status, body) = rest
        .split_once(": ")
        .unwrap_or((rest.trim_end_matches(':'), ""));
    Some((status.parse().ok()?, body))
}

fn server_words(body: &str) -> String {
    // How long to wait may follow.
    let mut documents = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    let parsed = documents.next().and_then(Result::ok);
    let message = parsed.as_ref().and_then(|body| {
        let inner = body.pointer("/error/message");
        inner
            .or_else(|| body.get("message"))
            .or_else(|| body.get("error"))
    });
    match message.and_then(Value::as_str) {
        Some(message) => {
            let rest = body.get(documents.byte_offset()..).unwrap_or_default();
            format!("{message}{rest}")
        }
        None => body.to_owned(),
    }
}
