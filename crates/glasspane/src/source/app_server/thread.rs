//! One thread of the app server: turns and items.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::super::Finding;
use super::super::fields::{content, count, http_status, owned, push, push_usage, text};
use crate::{Event, Kind, MAX_OPEN_TOOLS, Retry, Usage};

/// A turn of codex is all the work on one prompt, so its end is the end of the work.
#[derive(Debug, Default)]
pub(super) struct Thread {
    step: u64,
    turn_open: bool,
    /// Tools that are running.
    open: HashSet<String>,
    /// Pending approval requests: the item by the id of the request.
    requests: HashMap<String, Option<String>>,
    /// Whether the failure of this turn was reported: its end repeats it.
    failure_reported: bool,
}

impl Thread {
    pub(super) fn notification(
        &mut self,
        method: &str,
        params: &Value,
        findings: &mut Vec<Finding>,
    ) {
        let item = params.get("item").unwrap_or(&Value::Null);
        let id = text(params, "itemId").unwrap_or("");
        let delta = text(params, "delta").unwrap_or("");
        match method {
            "turn/started" => self.turn_started(findings),
            "turn/completed" => self.turn_completed(params, findings),
            "item/started" => self.item(item, Stage::Started, findings),
            "item/completed" => self.item(item, Stage::Completed, findings),
            "item/agentMessage/delta" => push(findings, Event::piece("assistant", delta)),
            "item/reasoning/summaryTextDelta" | "item/reasoning/textDelta" | "item/plan/delta" => {
                push(findings, Event::thought(delta));
            }
            "item/commandExecution/outputDelta" | "item/fileChange/outputDelta" => {
                if self.open.contains(id) {
                    push(findings, Event::tool_output(id, delta));
                }
            }
            "item/mcpToolCall/progress" => {
                if self.open.contains(id) {
                    let message = text(params, "message").unwrap_or("");
                    push(findings, Event::tool_output(id, message));
                }
            }
            "error" => self.error(params, findings),
            "warning" | "configWarning" | "deprecationNotice" | "guardianWarning" => {
                let message = text(params, "message").or_else(|| text(params, "summary"));
                push(findings, Event::notice(message.unwrap_or(method)));
            }
            "turn/plan/updated" => push(findings, plan(params)),
            "thread/tokenUsage/updated" => usage(params, findings),
            "thread/compacted" => push(findings, Event::notice("the conversation was compacted")),
            "model/rerouted" => push(
                findings,
                Event::notice(format!("model {}", text(params, "toModel").unwrap_or("?"))),
            ),
            other if is_ignored(other) => {}
            other => push(findings, Event::unknown(other)),
        }
    }

    fn turn_started(&mut self, findings: &mut Vec<Finding>) {
        push(findings, Event::new(Kind::AgentStart));
        self.step += 1;
        self.turn_open = true;
        self.failure_reported = false;
        push(findings, Event::turn_start(self.step));
    }

    fn turn_completed(&mut self, params: &Value, findings: &mut Vec<Finding>) {
        let turn = params.get("turn").unwrap_or(&Value::Null);
        self.open.clear();
        self.requests.clear();
        let (stop, end) = match text(turn, "status") {
            Some("interrupted") => ("aborted", Event::aborted()),
            Some("failed") => ("error", Event::new(Kind::AgentEnd)),
            _ => ("end", Event::new(Kind::AgentEnd)),
        };
        let message = turn.pointer("/error/message").and_then(Value::as_str);
        if std::mem::take(&mut self.turn_open) {
            let message = message.map(str::to_owned);
            push(
                findings,
                Event {
                    message,
                    ..Event::turn_end(stop)
                },
            );
        }
        if stop == "error" && !std::mem::take(&mut self.failure_reported) {
            push(findings, Event::error(message.unwrap_or("failed")));
        }
        push(findings, end);
    }

    fn error(&mut self, params: &Value, findings: &mut Vec<Finding>) {
        let error = params.get("error").unwrap_or(&Value::Null);
        let message = text(error, "message").unwrap_or("failed");
        let retried = params.get("willRetry").and_then(Value::as_bool) == Some(true);
        if !retried {
            self.failure_reported = true;
            return push(findings, Event::error(message));
        }
        let details = text(error, "additionalDetails");
        let mut retry = attempts(message);
        retry.status = status(error).or_else(|| http_status(details.unwrap_or(message)));
        push(findings, Event::retry(retry, details.unwrap_or(message)));
    }

    fn item(&mut self, item: &Value, stage: Stage, findings: &mut Vec<Finding>) {
        let item_text = || text(item, "text").unwrap_or("").to_owned();
        match (text(item, "type").unwrap_or(""), stage) {
            ("userMessage", Stage::Started) => {
                push(findings, Event::prompt(content(item.get("content"))));
            }
            ("agentMessage", Stage::Started) => push(
                findings,
                Event {
                    role: Some("assistant".to_owned()),
                    ..Event::new(Kind::MessageStart)
                },
            ),
            ("agentMessage", Stage::Completed) => push(findings, Event::answer(item_text())),
            ("plan", Stage::Completed) => push(
                findings,
                Event {
                    whole: true,
                    ..Event::thought(item_text())
                },
            ),
            ("contextCompaction", Stage::Completed) => {
                push(findings, Event::notice("the conversation was compacted"));
            }
            ("enteredReviewMode" | "exitedReviewMode", Stage::Completed) => push(
                findings,
                Event::notice(text(item, "review").unwrap_or("review")),
            ),
            (
                "userMessage" | "plan" | "reasoning" | "hookPrompt" | "contextCompaction"
                | "enteredReviewMode" | "exitedReviewMode" | "subAgentActivity",
                _,
            ) => {}
            (
                "commandExecution"
                | "fileChange"
                | "mcpToolCall"
                | "collabToolCall"
                | "collabAgentToolCall"
                | "dynamicToolCall"
                | "webSearch"
                | "imageView"
                | "imageGeneration"
                | "sleep",
                stage,
            ) => self.tool(item, stage, findings),
            (other, _) => push(findings, Event::unknown(format!("item/{other}"))),
        }
    }

    fn tool(&mut self, item: &Value, stage: Stage, findings: &mut Vec<Finding>) {
        let id = text(item, "id").unwrap_or("");
        if !self.open.contains(id) {
            push(findings, Event::tool_start(id, tool_name(item)));
            let arguments = tool_arguments(item);
            if !arguments.is_empty() {
                push(findings, Event::tool_arguments(id, arguments));
            }
            if stage == Stage::Started && self.open.len() < MAX_OPEN_TOOLS {
                self.open.insert(id.to_owned());
            }
        }
        if stage == Stage::Completed {
            self.open.remove(id);
            self.requests.retain(|_, item| item.as_deref() != Some(id));
            push(findings, Event::tool_end(id, tool_text(item), failed(item)));
        }
    }

    pub(super) fn approval_requested(
        &mut self,
        request: String,
        params: &Value,
        findings: &mut Vec<Finding>,
    ) {
        let item = owned(params, "itemId")
            .or_else(|| owned(params, "callId"))
            .filter(|id| self.open.contains(id));
        let about = [
            text(params, "command").map(str::to_owned),
            params
                .pointer("/questions/0/question")
                .and_then(Value::as_str)
                .map(str::to_owned),
            params.get("permissions").map(Value::to_string),
        ];
        if self.requests.len() < MAX_OPEN_TOOLS {
            self.requests.insert(request, item.clone());
        }
        push(
            findings,
            Event {
                tool_id: item,
                text: about.into_iter().flatten().next(),
                whole: true,
                message: owned(params, "reason").or_else(|| owned(params, "message")),
                ..Event::new(Kind::ApprovalRequest)
            },
        );
    }

    pub(super) fn resolved(&mut self, request: &str, findings: &mut Vec<Finding>) {
        if let Some(tool_id) = self.requests.remove(request) {
            push(
                findings,
                Event {
                    tool_id,
                    ..Event::new(Kind::ApprovalEnd)
                },
            );
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Started,
    Completed,
}

/// Whether a notification is not about the conversation.
fn is_ignored(method: &str) -> bool {
    const IGNORED_PREFIXES: [&str; 22] = [
        "account/",
        "app/",
        "command/",
        "externalAgentConfig/",
        "fs/",
        "fuzzyFileSearch/",
        "hook/",
        "initialized",
        "item/autoApprovalReview/",
        "item/commandExecution/terminalInteraction",
        "item/fileChange/patchUpdated",
        "item/reasoning/summaryPartAdded",
        "mcpServer/",
        "model/",
        "process/",
        "rawResponseItem/",
        "remoteControl/",
        "skills/",
        "thread/",
        "turn/diff/updated",
        "turn/moderationMetadata",
        "windows",
    ];
    IGNORED_PREFIXES
        .iter()
        .any(|prefix| method.starts_with(prefix))
}

/// Parses `Reconnecting... 2/5`.
pub(in crate::source) fn attempts(message: &str) -> Retry {
    let figures = message.split_whitespace().find_map(|word| {
        let (attempt, most) = word.split_once('/')?;
        Some((attempt.parse().ok()?, most.parse().ok()?))
    });
    Retry {
        attempt: figures.map(|(attempt, _)| attempt),
        max_attempts: figures.map(|(_, most)| most),
        ..Retry::default()
    }
}

fn status(error: &Value) -> Option<u64> {
    let info = error.get("codexErrorInfo")?.as_object()?;
    info.values()
        .find_map(|info| info.get("httpStatusCode")?.as_u64())
}

fn usage(params: &Value, findings: &mut Vec<Finding>) {
    let Some(total) = params.pointer("/tokenUsage/total") else {
        return;
    };
    let (read, write) = (
        count(total, "cachedInputTokens"),
        count(total, "cacheWriteInputTokens"),
    );
    push_usage(
        findings,
        Usage {
            // Codex includes cached tokens in the input.
            input_tokens: count(total, "inputTokens").saturating_sub(read.saturating_add(write)),
            output_tokens: count(total, "outputTokens"),
            cache_read_tokens: read,
            cache_write_tokens: write,
            ..Usage::default()
        },
    );
}

fn plan(params: &Value) -> Event {
    let steps = params.get("plan").and_then(Value::as_array);
    let all = steps.map_or(0, Vec::len);
    let done = steps.map_or(0, |steps| {
        let completed = |step: &&Value| text(step, "status") == Some("completed");
        steps.iter().filter(completed).count()
    });
    Event {
        raw_type: Some("plan".to_owned()),
        ..Event::notice(format!("{done} of {all} steps done"))
    }
}

fn tool_name(item: &Value) -> String {
    let tool = text(item, "tool").unwrap_or("?");
    match text(item, "type").unwrap_or("?") {
        "commandExecution" => "shell".to_owned(),
        "fileChange" => "file_change".to_owned(),
        "webSearch" => "web_search".to_owned(),
        "mcpToolCall" => format!("{}.{tool}", text(item, "server").unwrap_or("mcp")),
        "collabToolCall" | "collabAgentToolCall" | "dynamicToolCall" => tool.to_owned(),
        other => other.to_owned(),
    }
}

fn tool_arguments(item: &Value) -> String {
    for name in ["command", "query", "prompt", "path"] {
        if let Some(value) = text(item, name) {
            return value.to_owned();
        }
    }
    let rest = item.get("arguments").or_else(|| item.get("changes"));
    rest.map(Value::to_string).unwrap_or_default()
}

fn tool_text(item: &Value) -> String {
    if let Some(output) = text(item, "aggregatedOutput") {
        return output.to_owned();
    }
    if let Some(error) = item.pointer("/error/message").and_then(Value::as_str) {
        return error.to_owned();
    }
    let result = item.pointer("/result/content");
    content(result.or_else(|| item.get("contentItems")))
}

fn failed(item: &Value) -> bool {
    matches!(text(item, "status"), Some("failed" | "declined"))
        || item.get("success").and_then(Value::as_bool) == Some(false)
        || item
            .get("exitCode")
            .and_then(Value::as_i64)
            .is_some_and(|code| code != 0)
}
