//! Explains errors of providers, and what to do about them.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value;
use zot_sdk::{ErrorCode, ErrorReport};

/// Extracts a server's message from its JSON.
pub(crate) fn readable(message: &str) -> String {
    let Some(start) = message.find('{') else {
        return message.to_owned();
    };
    let (head, body) = message.split_at(start);
    // Text about truncation or a wait may follow.
    let mut documents = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    let Some(Ok(json)) = documents.next() else {
        return message.to_owned();
    };
    let rest = body.get(documents.byte_offset()..).unwrap_or_default();
    let pointers = ["/error/message", "/message", "/error", "/detail"];
    let text = pointers
        .iter()
        .find_map(|pointer| json.pointer(pointer)?.as_str());
    match text {
        Some(text) => format!("{head}{text}{rest}"),
        None => message.to_owned(),
    }
}

/// Returns the error as people read it, with a hint on what to do next.
pub(crate) fn explain(report: &ErrorReport) -> String {
    let mut text = match report.code {
        // Programs compare the wording of the report.
        ErrorCode::NothingToCompact => "nothing to compact: the conversation is short".to_owned(),
        _ => readable(&report.message),
    };
    if let Some(hint) = hint(report) {
        text.push('\n');
        text.push_str(&hint);
    }
    text
}

fn hint(report: &ErrorReport) -> Option<String> {
    let provider = report.provider.as_deref().unwrap_or("another provider");
    let mut hint = match report.code {
        ErrorCode::Unauthorized => format!("/login {provider} sets another key"),
        ErrorCode::RateLimited | ErrorCode::Unavailable => match report.retry_after {
            Some(wait) => format!("try again in {}", rounded(wait)),
            None => "try again in a while".to_owned(),
        },
        ErrorCode::InsufficientQuota => format!("add credit to the account at {provider}"),
        ErrorCode::ContextOverflow => "/compact makes room, /clear starts over".to_owned(),
        ErrorCode::InvalidRequest => "/model chooses another model".to_owned(),
        ErrorCode::Connection => "`zot doctor --network` finds the cause".to_owned(),
        ErrorCode::Stream => "ask again: the conversation is kept".to_owned(),
        ErrorCode::MaxSteps => "say \"continue\" for more, or start with --max-steps".to_owned(),
        ErrorCode::Budget => "`zot --help` shows how to raise it".to_owned(),
        ErrorCode::Session => "free some space: new messages are not saved".to_owned(),
        ErrorCode::Refused
        | ErrorCode::Compaction
        | ErrorCode::NothingToCompact
        | ErrorCode::Extension => return None,
    };
    if let Some(other) = report.alternatives.first() {
        hint.push_str(&format!(", or `zot --provider {other}`, which has a key"));
    }
    Some(hint)
}

fn rounded(wait: Duration) -> String {
    match wait.as_millis().div_ceil(1_000) {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}
