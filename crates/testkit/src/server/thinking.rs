//! Rules of Anthropic about thinking, from its documents ("Adaptive thinking", "Preserved
//! thinking", the migration guides of Opus 4.7, Sonnet 5 and Opus 5.5).
//!
//! A model whose name contains `only-adaptive` or `only-budget` accepts only that.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::Value;

const ADAPTIVE_ONLY: [&str; 8] = [
    "opus-4-7", "opus-4-8", "opus-5", "sonnet-5", "haiku-5", "fable", "mythos", "-6",
];
const EITHER: [&str; 2] = ["opus-4-6", "sonnet-4-6"];
const NEVER_DISABLED: [&str; 5] = ["fable", "mythos", "opus-5-5", "sonnet-5-5", "haiku-5-5"];
const BINDING: [&str; 7] = [
    "fable-5-1",
    "fable-5-2",
    "mythos-5-1",
    "opus-5-5",
    "sonnet-5-5",
    "haiku-5-5",
    "-6",
];

fn is_one_of(model: &str, names: &[&str]) -> bool {
    names.iter().any(|name| model.contains(name))
}

/// Returns whether thinking of this model is bound to the preceding conversation.
pub(super) fn binds(model: &str) -> bool {
    is_one_of(model, &BINDING) && !is_one_of(model, &EITHER)
}

/// Returns the signature of thinking in a response to this body.
pub(super) fn signature(body: &Value, thinking: &str) -> String {
    let all = body["messages"].as_array().map_or(0, Vec::len);
    match binds(body["model"].as_str().unwrap_or_default()) {
        true => format!("signature over {thinking} behind {:x}", prefix(body, all)),
        false => format!("signature over {thinking}"),
    }
}

fn prefix(body: &Value, messages: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    let before = body["messages"]
        .as_array()
        .and_then(|all| all.get(..messages));
    let before = Value::from(before.unwrap_or_default().to_vec());
    for part in [&body["system"], &body["tools"], &before] {
        without_cache_marks(part).to_string().hash(&mut hasher);
    }
    hasher.finish()
}

/// Removes cache breakpoints, which are not content.
fn without_cache_marks(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| *name != "cache_control")
            .map(|(name, value)| (name.clone(), without_cache_marks(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_cache_marks).collect(),
        other => other.clone(),
    }
}

/// Checks the options of `body` and the thinking in its messages.
pub(super) fn check(body: &Value) -> Result<(), String> {
    let model = body["model"].as_str().unwrap_or_default();
    options(model, body)?;
    let empty = Vec::new();
    for (index, message) in body["messages"]
        .as_array()
        .unwrap_or(&empty)
        .iter()
        .enumerate()
    {
        let blocks = message["content"].as_array().unwrap_or(&empty);
        for (place, block) in blocks.iter().enumerate() {
            let Some(signature) = block["signature"].as_str() else {
                continue;
            };
            let bound = format!(" behind {:x}", prefix(body, index));
            if binds(model) && !signature.ends_with(&bound) {
                return Err(format!(
                    "messages.{index}.content.{place}: Invalid `signature` in `thinking` block. The \
                     block is bound to a different conversation. Remove the block, or set \
                     `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\"."
                ));
            }
        }
    }
    Ok(())
}

fn options(model: &str, body: &Value) -> Result<(), String> {
    let takes_either = is_one_of(model, &EITHER);
    let adaptive_only = match model {
        _ if model.contains("only-adaptive") => true,
        _ if model.contains("only-budget") => false,
        _ => is_one_of(model, &ADAPTIVE_ONLY) && !takes_either,
    };
    let thinking = &body["thinking"];
    let effort = &body["output_config"]["effort"];
    match thinking["type"].as_str() {
        None => {}
        Some("enabled") if adaptive_only => {
            return Err(
                "\"thinking.type.enabled\" is not supported for this model. Use \
                 \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking \
                 behavior."
                    .to_owned(),
            );
        }
        Some("adaptive") if !adaptive_only && !takes_either => {
            return Err("adaptive thinking is not supported on this model".to_owned());
        }
        Some("adaptive") if !thinking["budget_tokens"].is_null() => {
            return Err(
                "thinking.adaptive.budget_tokens: Extra inputs are not permitted".to_owned(),
            );
        }
        Some("disabled") if is_one_of(model, &NEVER_DISABLED) => {
            return Err("\"thinking.type.disabled\" is not supported for this model.".to_owned());
        }
        Some("enabled" | "adaptive" | "disabled") => {}
        Some(other) => return Err(format!("thinking.type: unknown value {other:?}")),
    }
    if !effort.is_null() {
        if !adaptive_only && !takes_either {
            return Err("This model does not support the effort parameter.".to_owned());
        }
        let known = ["low", "medium", "high", "xhigh", "max"];
        let effort = effort.as_str().unwrap_or_default();
        if !known.contains(&effort) || (takes_either && effort == "xhigh") {
            return Err(format!(
                "output_config.effort: unsupported effort level {effort:?}"
            ));
        }
    }
    for name in ["temperature", "top_p", "top_k"] {
        let thinks = !thinking.is_null() && thinking["type"] != "disabled";
        if !body[name].is_null() && (adaptive_only || thinks) {
            return Err(format!("`{name}` is deprecated for this model."));
        }
    }
    Ok(())
}
