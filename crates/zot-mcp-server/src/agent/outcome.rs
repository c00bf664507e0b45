//! The result of a prompt.

use serde_json::{Value, json};
use zot_sdk::conversation::Usage;
use zot_sdk::{AgentEvent, TurnStop};

use crate::result::CallResult;

/// Collects what the client gets to know about a prompt in the end.
pub(super) struct Outcome {
    session: Option<String>,
    /// The text of the last assistant message.
    answer: String,
    /// The text of this turn from a model that failed, before another one took over.
    partial: String,
    has_answer_in_turn: bool,
    error: Option<String>,
    stop: TurnStop,
    usage: Usage,
    steps: u64,
}

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "session_id": {"type": "string", "description": "For zot_reply and `zot --resume`; missing if sessions are turned off"},
            "answer": {"type": "string", "description": "The final answer"},
            "stop_reason": {"type": "string", "enum": ["end", "length", "error", "aborted"]},
            "error": {"type": "string"},
            "steps": {"type": "integer", "description": "Model calls of this prompt"},
            "usage": {
                "type": "object",
                "properties": {
                    "input_tokens": {"type": "integer"},
                    "output_tokens": {"type": "integer"},
                    "cache_read_tokens": {"type": "integer"},
                    "cache_write_tokens": {"type": "integer"},
                    "cost_usd": {"type": "number"},
                },
                "required": ["input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost_usd"],
            },
        },
        "required": ["answer", "stop_reason", "steps", "usage"],
    })
}

impl Outcome {
    pub(super) fn new(session: Option<String>) -> Self {
        Self {
            session,
            answer: String::new(),
            partial: String::new(),
            has_answer_in_turn: false,
            error: None,
            stop: TurnStop::End,
            usage: Usage::default(),
            steps: 0,
        }
    }

    pub(super) fn observe(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::TurnStarted { .. } => self.partial.clear(),
            AgentEvent::AssistantMessage(message) => {
                self.answer = format!("{}{}", self.partial, message.text());
                self.has_answer_in_turn = true;
            }
            AgentEvent::FellBack { .. } if std::mem::take(&mut self.has_answer_in_turn) => {
                self.partial.clone_from(&self.answer);
            }
            AgentEvent::UsageReported { turn, .. } => {
                self.usage += *turn;
                self.steps += 1;
            }
            AgentEvent::TurnEnded { stop, .. } => {
                self.has_answer_in_turn = false;
                self.stop = *stop;
            }
            AgentEvent::Failed(report) => self.stop_because(report.message.clone()),
            _ => {}
        }
    }

    /// Makes the prompt fail; the first reason counts.
    pub(super) fn stop_because(&mut self, reason: String) {
        self.error.get_or_insert(reason);
    }

    pub(super) fn into_result(self) -> CallResult {
        let stop = match (&self.error, self.stop) {
            (Some(_), _) | (None, TurnStop::Error) => TurnStop::Error,
            // Ended by a limit of steps, which reports an error, or by an abort during a tool.
            (None, TurnStop::ToolUse) => TurnStop::Aborted,
            (None, stop) => stop,
        };
        let is_error = matches!(stop, TurnStop::Error | TurnStop::Aborted);
        let text = match (&self.error, self.answer.as_str()) {
            (Some(error), "") => error.clone(),
            (Some(error), answer) => format!("{error}\n\nSo far: {answer}"),
            (None, "") if is_error => "the prompt was aborted".to_owned(),
            (None, "") => "(zot returned no answer)".to_owned(),
            (None, answer) => answer.to_owned(),
        };
        let mut structured = json!({
            "answer": self.answer,
            "stop_reason": stop.as_str(),
            "steps": self.steps,
            "usage": {
                "input_tokens": self.usage.input,
                "output_tokens": self.usage.output,
                "cache_read_tokens": self.usage.cache_read,
                "cache_write_tokens": self.usage.cache_write,
                "cost_usd": self.usage.cost_usd,
            },
        });
        if let Some(session) = self.session {
            structured["session_id"] = session.into();
        }
        if let Some(error) = self.error {
            structured["error"] = error.into();
        }
        CallResult {
            structured: Some(structured),
            is_error,
            ..CallResult::text(text)
        }
    }
}
