//! Detects which kind of agent wrote a line.
//!
//! Several kinds use the same types (`message`, `tool_result`, `result`), so a type alone never decides: each
//! kind is recognised by fields that only it has together with the type.

use serde_json::Value;

use super::SourceKind;
use super::fields::text;

/// Returns the only kind that could have written `object`; `None` if several could.
pub(super) fn detect(object: &Value) -> Option<SourceKind> {
    let Some(kind) = text(object, "type") else {
        return untyped(object);
    };
    let line = Line { object, kind };
    let found = [
        (SourceKind::Opencode, line.is_opencode()),
        (SourceKind::Gemini, line.is_gemini()),
        (SourceKind::Goose, line.is_goose()),
        (SourceKind::Codex, line.is_codex()),
        (SourceKind::Qwen, line.is_qwen()),
        (SourceKind::ClaudeCode, line.is_claude_code()),
        (SourceKind::Pi, line.is_pi()),
        (SourceKind::Zot, line.is_zot()),
        (SourceKind::Zino, line.is_zino()),
    ]
    .into_iter()
    .find(|(_, fits)| *fits);
    found.map(|(kind, _)| kind)
}

/// Detects a kind by its greeting, which is not JSON.
pub(super) fn detect_text(line: &str) -> Option<SourceKind> {
    let line = line.trim();
    (line.starts_with("__( O)>") || line.ends_with("goose is ready")).then_some(SourceKind::Goose)
}

/// Detects JSON-RPC, logs of Glasspane, and requests to zino, which have no type.
fn untyped(object: &Value) -> Option<SourceKind> {
    let has = |name: &str| object.get(name).is_some();
    if has("seq") && has("agent") && has("at_ms") {
        return Some(SourceKind::Glasspane);
    }
    if text(object, "jsonrpc") == Some("2.0") {
        return is_acp(object).then_some(SourceKind::Acp);
    }
    if is_app_server(object) {
        return Some(SourceKind::CodexAppServer);
    }
    let has_message = text(object, "message").is_some() && !has("id") && !has("method");
    let known = ["message", "stream", "channel_id"];
    let only_known = object
        .as_object()
        .is_some_and(|fields| fields.keys().all(|name| known.contains(&name.as_str())));
    (has_message && only_known).then_some(SourceKind::Zino)
}

/// Other protocols use JSON-RPC as well: the methods and results of this one are named after sessions.
fn is_acp(object: &Value) -> bool {
    if let Some(method) = text(object, "method") {
        let numbered = object
            .pointer("/params/protocolVersion")
            .is_some_and(Value::is_u64);
        return method.starts_with("session/") || (method == "initialize" && numbered);
    }
    let Some(result) = object.get("result") else {
        return false;
    };
    let numbered = result.get("protocolVersion").is_some_and(Value::is_u64);
    numbered || text(result, "sessionId").is_some() || text(result, "stopReason").is_some()
}

/// JSON-RPC without its version, about threads, turns and items.
fn is_app_server(object: &Value) -> bool {
    if let Some(method) = text(object, "method") {
        let about = |prefix: &str| method.starts_with(prefix);
        let subject = about("thread/") || about("turn/") || about("item/");
        return subject
            || object.pointer("/params/threadId").is_some()
            || (method == "initialize" && object.pointer("/params/clientInfo").is_some());
    }
    let Some(result) = object.get("result").filter(|_| object.get("id").is_some()) else {
        return false;
    };
    text(result, "userAgent").is_some()
        || result.pointer("/thread/id").is_some()
        || result.pointer("/turn/status").is_some()
}

struct Line<'a> {
    object: &'a Value,
    kind: &'a str,
}

impl Line<'_> {
    fn has(&self, name: &str) -> bool {
        self.object.get(name).is_some()
    }

    fn has_text(&self, name: &str) -> bool {
        text(self.object, name).is_some()
    }

    fn at(&self, path: &str) -> Option<&Value> {
        self.object.pointer(path)
    }

    /// Every line has a `sessionID`; those of parts have the part.
    fn is_opencode(&self) -> bool {
        let named = matches!(
            self.kind,
            "step_start" | "step_finish" | "text" | "tool_use" | "reasoning" | "error"
        );
        named && self.has_text("sessionID") && (self.has("part") || self.kind == "error")
    }

    /// Every line has a textual time.
    fn is_gemini(&self) -> bool {
        let fits = match self.kind {
            "init" => self.has_text("session_id") && self.has_text("model"),
            "message" => self.has_text("role") && self.has_text("content"),
            "tool_use" => self.has("tool_name") && self.has("tool_id"),
            "tool_result" => self.has("tool_id") && self.has_text("status"),
            "result" => self.has_text("status") && (self.has("stats") || self.has("error")),
            "error" => self.has_text("severity"),
            _ => false,
        };
        fits && self.has_text("timestamp")
    }

    fn is_goose(&self) -> bool {
        match self.kind {
            "message" => {
                self.at("/message/role").is_some()
                    && self.at("/message/content").is_some_and(Value::is_array)
            }
            "complete" => self.has("total_tokens"),
            "notification" => self.has("extension_id"),
            "model_change" => self.has("model") && self.has("mode"),
            "error" => self.has_text("error") && !self.has("message"),
            _ => false,
        }
    }

    fn is_codex(&self) -> bool {
        match self.kind {
            "thread.started" => self.has("thread_id"),
            "turn.started" => true,
            "turn.completed" => self.has("usage"),
            "turn.failed" => self.has("error"),
            "item.started" | "item.updated" | "item.completed" => self.has("item"),
            _ => false,
        }
    }

    /// The same format as claude-code, except for a few names.
    fn is_qwen(&self) -> bool {
        match self.kind {
            "system" => self.has("qwen_code_version") || self.has_text("permission_mode"),
            "stream_event" => self.at("/event/type").and_then(Value::as_str) == Some("goal_state"),
            "assistant" => self.has("uuid") && self.object.get("uuid") == self.at("/message/id"),
            "result" => {
                self.has("subtype") && self.has("permission_denials") && !self.has("total_cost_usd")
            }
            _ => false,
        }
    }

    fn is_claude_code(&self) -> bool {
        match self.kind {
            "system" => self.has_text("subtype"),
            "assistant" | "user" => self.at("/message/content").is_some(),
            "stream_event" => self.at("/event/type").is_some(),
            "result" => self.has("subtype"),
            "rate_limit_event" => true,
            "control_request" => self.has("request_id") && self.has("request"),
            _ => false,
        }
    }

    fn is_pi(&self) -> bool {
        match self.kind {
            "session" => self.has("version") && self.has("cwd"),
            "agent_start" | "agent_end" | "agent_settled" => true,
            "turn_start" => !self.has("step"),
            "turn_end" => self.at("/message/role").is_some(),
            "message_start" | "message_end" => self.at("/message/role").is_some(),
            "message_update" => self.has("assistantMessageEvent"),
            "tool_execution_start" | "tool_execution_update" | "tool_execution_end" => {
                self.has("toolCallId")
            }
            "extension_ui_request" => self.has("method"),
            "auto_retry_start" => self.has("maxAttempts"),
            "auto_compaction_start" | "compaction_start" => self.has("reason"),
            _ => false,
        }
    }

    fn is_zot(&self) -> bool {
        match self.kind {
            "user_message" | "assistant_message" => self.has("content"),
            "assistant_start" | "tool_use_end" | "compact_done" => true,
            "text_delta" | "thinking_delta" => self.has_text("delta"),
            "tool_use_start" | "tool_call" | "tool_confirm" => self.has("id") && self.has("name"),
            "tool_use_args" => self.has("id") && self.has("delta"),
            "tool_result" => self.has("id") && self.has("content"),
            "tool_progress" => self.has("id") && self.has("text"),
            "usage" => self.has("input") || self.has("cumulative"),
            "turn_start" => self.has("step"),
            "turn_end" => self.has("stop"),
            "ext_notify" | "ext_display" | "ext_panel" | "ext_panel_close" => self.has("extension"),
            "done" => !self.has("full_text"),
            "retry" => self.has("failures"),
            "tool_question" => self.has("call_id") && self.has("message"),
            "mcp_state" => self.has("name") && self.has("state"),
            "fallback" => self.has("from") && self.has("to"),
            _ => false,
        }
    }

    fn is_zino(&self) -> bool {
        match self.kind {
            "chunk" => self.has("delta"),
            "run" | "infer" => self.has("message") || self.has("messages"),
            "done" => self.has("full_text"),
            "response" | "result" => self.has("content") && !self.has("success"),
            _ => false,
        }
    }
}
