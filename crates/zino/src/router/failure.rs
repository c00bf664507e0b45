//! What to do about a failed question, and what to say about it.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value;
use zot_conversation::{ModelError, ModelErrorKind};

/// The waits before the second and the third attempt, where the client itself makes none.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_millis(1000)];

/// A server that asks for a longer wait is not waited for.
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// What follows a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Again(Duration),
    Elsewhere,
    Report,
}

/// Decides after the attempt numbered `attempt`, from zero, at one server.
pub(super) fn next(error: &ModelError, attempt: usize, has_other: bool) -> Next {
    let pause = PAUSES.get(attempt).copied();
    match error.kind {
        ModelErrorKind::Connection | ModelErrorKind::Unavailable | ModelErrorKind::Stream
            if has_other =>
        {
            Next::Elsewhere
        }
        ModelErrorKind::RateLimited => {
            let wanted = error.retry_after.unwrap_or_default();
            match pause {
                Some(pause) if wanted <= MAX_PAUSE => Next::Again(pause.max(wanted)),
                _ if has_other => Next::Elsewhere,
                _ => Next::Report,
            }
        }
        // The client repeats what else may pass by itself.
        ModelErrorKind::Unavailable if refusal(error).is_some_and(|(status, _)| status == 500) => {
            pause.map_or(Next::Report, Next::Again)
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
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let message = parsed.as_ref().and_then(|body| {
        let inner = body.pointer("/error/message");
        inner
            .or_else(|| body.get("message"))
            .or_else(|| body.get("error"))
    });
    match message.and_then(Value::as_str) {
        Some(message) => message.to_owned(),
        None => body.to_owned(),
    }
}
