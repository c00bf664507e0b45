//! Which kind of agent wrote a line.

use serde_json::Value;

use super::SourceKind;
use super::fields::text;

/// The kind that alone could have written `object`; nothing while several could.
pub(super) fn detect(object: &Value) -> Option<SourceKind> {
    let has = |name: &str| object.get(name).is_some();
    let Some(kind) = text(object, "type") else {
        if has("seq") && has("agent") && has("at_ms") {
            return Some(SourceKind::Glasspane);
        }
        return (text(object, "message").is_some()).then_some(SourceKind::Zino);
    };
    match kind {
        "user_message" | "assistant_start" | "text_delta" | "tool_use_start" | "tool_use_args"
        | "tool_use_end" | "assistant_message" | "tool_call" | "tool_result" | "tool_confirm"
        | "usage" | "ext_notify" | "ext_display" | "ext_panel" | "compact_done" => {
            Some(SourceKind::Zot)
        }
        "turn_start" if has("step") => Some(SourceKind::Zot),
        "turn_start" => Some(SourceKind::Pi),
        "turn_end" if has("stop") => Some(SourceKind::Zot),
        "turn_end" => Some(SourceKind::Pi),
        "session"
        | "agent_start"
        | "agent_end"
        | "message_start"
        | "message_update"
        | "message_end"
        | "tool_execution_start"
        | "tool_execution_update"
        | "tool_execution_end"
        | "extension_ui_request"
        | "auto_retry_start"
        | "auto_compaction_start"
        | "compaction_start" => Some(SourceKind::Pi),
        "system" | "assistant" | "user" | "stream_event" | "rate_limit_event" => {
            Some(SourceKind::ClaudeCode)
        }
        "result" if has("subtype") => Some(SourceKind::ClaudeCode),
        "chunk" | "run" | "infer" => Some(SourceKind::Zino),
        "done" if has("full_text") => Some(SourceKind::Zino),
        "response" | "result" if has("content") => Some(SourceKind::Zino),
        _ if kind.starts_with("thread.")
            || kind.starts_with("turn.")
            || kind.starts_with("item.") =>
        {
            Some(SourceKind::Codex)
        }
        _ => None,
    }
}
