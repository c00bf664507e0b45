//! Parameters that OpenAI refuses for some models, by name.
//!
//! From the model table of the PyPI package `litellm`, recorded requests, and refusals that users report.
//! Models of other providers are not checked.

use serde_json::Value;

use super::{Checked, text};

/// Name prefixes of model families and the efforts that each accepts. The first match wins.
const FAMILIES: [(&str, &[&str]); 21] = [
    ("gpt-oss", &["low", "medium", "high"]),
    ("gpt-3", &[]),
    ("gpt-4", &[]),
    ("chatgpt-4o", &[]),
    ("gpt-5-chat", &[]),
    ("gpt-5-pro", &["high"]),
    ("gpt-5-codex", &["low", "medium", "high"]),
    ("gpt-5.1-codex-max", &["low", "medium", "high", "xhigh"]),
    ("gpt-5.1-codex", &["low", "medium", "high"]),
    ("gpt-5.1", &["none", "low", "medium", "high"]),
    ("gpt-5.2-codex", &["low", "medium", "high", "xhigh"]),
    ("gpt-5.3-codex", &["low", "medium", "high", "xhigh"]),
    ("gpt-5.2", &["none", "low", "medium", "high", "xhigh"]),
    ("gpt-5.3", &["none", "low", "medium", "high", "xhigh"]),
    ("gpt-5.4-pro", &["medium", "high", "xhigh"]),
    ("gpt-5.5-pro", &["medium", "high", "xhigh"]),
    ("gpt-5.4", &["none", "low", "medium", "high", "xhigh"]),
    ("gpt-5.5", &["none", "low", "medium", "high", "xhigh"]),
    ("gpt-5.", &["low", "medium", "high", "xhigh", "max"]),
    ("gpt-5", &["minimal", "low", "medium", "high"]),
    ("gpt-6", &["low", "medium", "high", "xhigh", "max"]),
];

const O_SERIES: &[&str] = &["low", "medium", "high"];

fn efforts(model: &str) -> Option<&'static [&'static str]> {
    let o_series = ["o1", "o3", "o4"];
    if o_series.iter().any(|prefix| model.starts_with(prefix)) {
        return Some(O_SERIES);
    }
    let family = FAMILIES
        .iter()
        .find(|(prefix, _)| model.starts_with(prefix));
    family.map(|(_, efforts)| *efforts)
}

pub(super) fn chat(body: &Value) -> Checked {
    let model = text(&body["model"]);
    let effort = body.get("reasoning_effort");
    check(model, effort, body)?;
    if model.contains("-codex") || model.contains("-pro") {
        return Err(
            "This model is only supported in v1/responses and not in v1/chat/completions."
                .to_owned(),
        );
    }
    let has_tools = body.get("tools").is_some();
    let early = ["gpt-5.4", "gpt-5.5"];
    let is_early = early.iter().any(|prefix| model.starts_with(prefix));
    let later = ["gpt-5.6", "gpt-5.7", "gpt-5.8", "gpt-5.9", "gpt-6"];
    let is_later = later.iter().any(|prefix| model.starts_with(prefix));
    let asks = effort.is_some_and(|effort| effort != "none");
    if has_tools && (is_later || (is_early && asks)) {
        return Err(format!(
            "Function tools with reasoning_effort are not supported for {model} in \
             /v1/chat/completions. Please use /v1/responses instead."
        ));
    }
    Ok(())
}

pub(super) fn responses(body: &Value) -> Checked {
    let model = text(&body["model"]);
    check(model, body["reasoning"].get("effort"), body)?;
    let reasons = efforts(model).is_none_or(|efforts| !efforts.is_empty());
    let input = body["input"].as_array().map_or(&[][..], Vec::as_slice);
    if !reasons && input.iter().any(|item| item["type"] == "reasoning") {
        return Err("Reasoning input items can only be provided to a reasoning model".to_owned());
    }
    if !reasons && body["include"].to_string().contains("encrypted_content") {
        return Err("Encrypted content is not supported with this model.".to_owned());
    }
    for (index, item) in input.iter().enumerate() {
        if item["type"] == "reasoning" && input.get(index + 1).is_none_or(is_input) {
            return Err(format!(
                "Item '{}' of type 'reasoning' was provided without its required following item.",
                text(&item["id"])
            ));
        }
    }
    Ok(())
}

fn is_input(item: &Value) -> bool {
    item["role"] == "user" || item["type"] == "function_call_output"
}

fn check(model: &str, effort: Option<&Value>, body: &Value) -> Checked {
    let Some(efforts) = efforts(model) else {
        return Ok(());
    };
    if let Some(effort) = effort {
        let effort = text(effort);
        if efforts.is_empty() {
            return Err(
                "Unsupported parameter: 'reasoning.effort' is not supported with this model."
                    .to_owned(),
            );
        }
        if !efforts.contains(&effort) {
            return Err(format!(
                "Unsupported value: 'reasoning.effort' does not support '{effort}' with this \
                 model. Supported values are: {efforts:?}."
            ));
        }
    }
    if !efforts.is_empty() && !model.starts_with("gpt-oss") {
        for field in ["temperature", "top_p"] {
            if body.get(field).is_some() {
                return Err(format!(
                    "Unsupported parameter: '{field}' is not supported with this model."
                ));
            }
        }
    }
    Ok(())
}
