//! Token counts as OpenAI and the servers compatible with it report them.
//!
//! Both of OpenAI's wires are read here, because compatible servers mix their names. Sources: the
//! `CompletionUsage` and `ResponseUsage` types of openai-python, the usage pages of OpenRouter, DeepSeek,
//! Moonshot, xAI and Alibaba Cloud.

use serde_json::Value;
use serde_json::value::RawValue;
use zot_conversation::Usage;

const PROMPT: [&str; 2] = ["prompt_tokens", "input_tokens"];
const COMPLETION: [&str; 2] = ["completion_tokens", "output_tokens"];
const PROMPT_DETAILS: [&str; 2] = ["prompt_tokens_details", "input_tokens_details"];
const COMPLETION_DETAILS: [&str; 2] = ["completion_tokens_details", "output_tokens_details"];
/// The second name is DeepSeek's, the third that of gateways to Anthropic.
const CACHE_READ: [&str; 3] = [
    "cached_tokens",
    "prompt_cache_hit_tokens",
    "cache_read_input_tokens",
];
const CACHE_WRITE: [&str; 3] = [
    "cache_write_tokens",
    "cache_creation_input_tokens",
    "cache_creation_tokens",
];

/// Returns the counts in a `usage` object; `None` if it has none.
pub(crate) fn read(usage: &RawValue) -> Option<Usage> {
    let usage: Value = serde_json::from_str(usage.get()).ok()?;
    let prompt = number(&usage, &PROMPT);
    let completion = number(&usage, &COMPLETION);
    if prompt.is_none() && completion.is_none() {
        return None;
    }
    let prompt = prompt.unwrap_or_default();
    let completion = completion.unwrap_or_default();
    let details = object(&usage, &PROMPT_DETAILS);
    let cached = |names: &[&str]| {
        let detailed = details.and_then(|details| number(details, names));
        detailed.or_else(|| number(&usage, names)).unwrap_or(0)
    };
    // Both are parts of the prompt's count.
    let cache_read = cached(&CACHE_READ).min(prompt);
    let cache_write = cached(&CACHE_WRITE).min(prompt - cache_read);
    let reasoning = object(&usage, &COMPLETION_DETAILS)
        .and_then(|details| number(details, &["reasoning_tokens"]))
        .unwrap_or(0);
    // xAI leaves the reasoning out of the completion's count; the total reveals it.
    let total = number(&usage, &["total_tokens"]);
    let left_out =
        reasoning > 0 && total == Some(prompt.saturating_add(completion).saturating_add(reasoning));
    Some(Usage {
        input: prompt - cache_read - cache_write,
        output: match left_out {
            true => completion.saturating_add(reasoning),
            false => completion,
        },
        cache_read,
        cache_write,
        ..Usage::default()
    })
}

fn object<'a>(usage: &'a Value, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| usage.get(name))
}

/// Returns the first of `names` that has a number, which may be a string or a fraction.
fn number(usage: &Value, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| match usage.get(name)? {
        Value::Number(number) => number.as_u64().or_else(|| {
            // Saturates; a negative count is ignored.
            number.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    })
}

#[cfg(test)]
mod tests;
