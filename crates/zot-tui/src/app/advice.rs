//! What can be done about an error of a provider.

#[cfg(test)]
mod tests;

use serde_json::Value;

/// The words a server has said, out of the JSON it put them into.
pub(super) fn readable(message: &str) -> String {
    // The words of the original's protocol.
    if message == "nothing to compact: keep-tail covers the whole transcript" {
        return "nothing to compact: the conversation is short".to_owned();
    }
    let Some(start) = message.find('{') else {
        return message.to_owned();
    };
    let (head, body) = message.split_at(start);
    // What was left out, or how long to wait, may follow.
    let mut documents = serde_json::Deserializer::from_str(body).into_iter::<Value>();
    let Some(Ok(json)) = documents.next() else {
        return message.to_owned();
    };
    let rest = body.get(documents.byte_offset()..).unwrap_or_default();
    let places = ["/error/message", "/message", "/error", "/detail"];
    let said = places
        .iter()
        .find_map(|place| json.pointer(place)?.as_str());
    match said {
        Some(said) => format!("{head}{said}{rest}"),
        None => message.to_owned(),
    }
}

/// What to do next, by the error's code.
pub(super) fn next_step(
    code: &str,
    provider: Option<&str>,
    retry_after_ms: Option<u64>,
    others: &[String],
) -> Option<String> {
    let provider = provider.unwrap_or("another provider");
    let mut advice = match code {
        "unauthorized" => format!("/login {provider} gives another key"),
        "rate_limited" | "unavailable" => match retry_after_ms {
            Some(wait) => format!("try again in {}", seconds(wait)),
            None => "try again in a while".to_owned(),
        },
        "insufficient_quota" => format!("add credit to the account at {provider}"),
        "context_overflow" => "/compact makes room, /clear begins anew".to_owned(),
        "invalid_request" => "/model chooses another model".to_owned(),
        "connection" => "`zot doctor --network` says what is in the way".to_owned(),
        "stream" => "ask again: what was said is kept".to_owned(),
        "max_steps" => "say \"go on\" for more, or begin with --max-steps".to_owned(),
        "budget" => "`zot --help` says how to begin with a higher one".to_owned(),
        "session" => "free some space: what is said now is not kept".to_owned(),
        _ => return None,
    };
    if let Some(other) = others.first() {
        advice.push_str(&format!(", or `zot --provider {other}`, which has a key"));
    }
    Some(advice)
}

fn seconds(milliseconds: u64) -> String {
    match milliseconds.div_ceil(1_000) {
        seconds if seconds < 120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}
