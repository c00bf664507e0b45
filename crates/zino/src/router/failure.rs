//! Decides what follows a failed request, and words its error.

#[cfg(test)]
mod tests;

use serde_json::Value;
use zot_conversation::{ErrorCode, ModelError, ModelErrorKind};

/// What follows a failure, after the client's own retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    NextServer,
    Report,
}

/// Decides whether to try another server.
pub(super) fn next(error: &ModelError, has_other: bool) -> Next {
    // A rejected key is a mistake in the configuration, which the user should see.
    let is_misconfigured = error.kind == ModelErrorKind::Unauthorized;
    let may_succeed = ErrorCode::from(error.kind).may_succeed_elsewhere();
    match has_other && may_succeed && !is_misconfigured {
        true => Next::NextServer,
        false => Next::Report,
    }
}

/// Returns the error message for the caller; a rejection is worded as in the original.
pub(super) fn message(error: &ModelError) -> String {
    match error.status {
        Some(status) => {
            let hints: String = error
                .hints
                .iter()
                .map(|hint| format!(" ({hint})"))
                .collect();
            format!(
                "Error code: {status} - {}{hints}",
                server_message(&error.message)
            )
        }
        None => error.to_string(),
    }
}

fn server_message(body: &str) -> String {
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
