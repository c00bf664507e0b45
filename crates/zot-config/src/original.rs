//! Differences between the `config.json` of the original zot and ours.
//!
//! The original writes every text setting, even an empty one, and has settings and values that have no
//! effect here. None of them is an error, and all of them stay in the file.

use serde_json::Value;

/// Settings of the original that have no counterpart here.
const WITHOUT_COUNTERPART: [&str; 17] = [
    "auto_compact_threshold",
    "auto_swarm_enabled",
    "compact_input",
    "compact_mode",
    "http_proxy",
    "insecure",
    "last_changelog_shown",
    "openrouter_server_tools_enabled",
    "quick_model_shortcuts",
    "recursive_file_suggest",
    "respect_gitignore",
    "show_instructions_at_startup",
    "temperature",
    "tool_render",
    "tui_input_style",
    "tui_status_position",
    "tui_working_position",
];

/// A proxy for all requests. Here the usual variables set it.
pub(crate) const PROXY: &str = "http_proxy";

/// Setting one of these chooses the proxy.
pub(crate) const PROXY_VARIABLES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// Settings of the original with another name here.
const RENAMED: [(&str, &str); 1] = [("jail_by_default", "jail")];

/// Returns whether the original has this setting and we do not.
pub(crate) fn is_without_counterpart(name: &str) -> bool {
    WITHOUT_COUNTERPART.contains(&name)
}

/// Returns our name of a setting that the original calls `name`.
pub(crate) fn our_name(name: &str) -> Option<&'static str> {
    let mut renamed = RENAMED.iter();
    renamed
        .find(|(original, _)| *original == name)
        .map(|(_, ours)| *ours)
}

/// Returns the original's name of our setting `name`.
pub(crate) fn original_name(name: &str) -> Option<&'static str> {
    let mut renamed = RENAMED.iter();
    renamed
        .find(|(_, ours)| *ours == name)
        .map(|(original, _)| *original)
}

/// Returns whether the setting has no value: the original writes empty strings for that.
pub(crate) fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    }
}

/// Translates a choice of the original; `null` if it means the default here.
pub(crate) fn choice(key: &str, text: &str) -> Value {
    let word = text.trim().to_lowercase();
    if key != "reasoning" {
        return word.into();
    }
    match word.as_str() {
        "off" | "no" | "false" | "disabled" => Value::Null,
        "min" | "minimum" => "minimal".into(),
        "med" => "medium".into(),
        // Its highest level, which it sends as `high`.
        "hi" | "maximum" => "high".into(),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests;
