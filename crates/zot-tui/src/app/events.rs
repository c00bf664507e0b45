//! What the agent's events do to the conversation.

use std::time::Duration;

use zot_sdk::conversation::{ContentBlock, Usage};
use zot_sdk::{AgentEvent, ExtensionNotice, TurnStop};

use super::item::{cut_output, text_of};
use super::{
    App, Approval, Arguments, Effect, Item, PanelView, Prompt, Retry, Tool, ToolState, advice,
};

/// What of a running tool's output is kept.
///
/// Limit: the end of the progress is kept.
pub(super) const MAX_PROGRESS_BYTES: usize = 16 * 1024;

/// What of a model's thinking is kept.
///
/// Limit: the end of the thinking is kept.
const MAX_THINKING_BYTES: usize = 64 * 1024;

impl App {
    pub(super) fn take_event(&mut self, event: AgentEvent) -> Vec<Effect> {
        match event {
            AgentEvent::UserMessage(message) => self.take_user_message(&message.content),
            AgentEvent::TextDelta(delta) => self.take_text(&delta),
            AgentEvent::ThinkingDelta(delta) => self.take_thinking(&delta),
            AgentEvent::AssistantStarted => {
                self.doing("thinking");
                self.end_retry();
            }
            AgentEvent::Retrying {
                failures,
                wait,
                error,
            } => {
                let at_ms = self.now_ms + milliseconds(wait);
                if let Some(work) = &mut self.work {
                    work.retry = Some(Retry {
                        failures,
                        at_ms,
                        message: advice::readable(&error.message),
                    });
                }
            }
            AgentEvent::Notice(text) => self.note(format!("zot: {text}"), false),
            AgentEvent::UsageReported { turn, cumulative } => self.take_usage(turn, cumulative),
            AgentEvent::AssistantMessage(_) => {
                self.end_thinking();
                self.end_answer();
                if let Some(work) = &mut self.work {
                    work.answer_ended();
                }
            }
            AgentEvent::SteeringDropped(content) => {
                self.queue_first(Prompt::made(text_of(&content)));
            }
            AgentEvent::FellBack { from, to, error } => {
                self.note(
                    format!("{from} failed ({}); {to} goes on", error.message),
                    true,
                );
            }
            AgentEvent::Failed(report) => {
                self.end_retry();
                if !self.end_at_step_limit(report.code) {
                    self.note(advice::explain(&report), true);
                }
            }
            AgentEvent::StepLimitReached { limit } => self.ask_for_steps(limit),
            AgentEvent::CompactionStarted => self.begin_compaction(),
            AgentEvent::CompactionFinished { .. } => {
                self.doing("thinking");
                self.note("the conversation was compacted".to_owned(), false);
            }
            AgentEvent::TurnEnded { stop, error } => self.take_turn_end(stop, error),
            AgentEvent::ToolUseStarted { .. }
            | AgentEvent::ToolUseArguments { .. }
            | AgentEvent::ToolCallRequested(_)
            | AgentEvent::ConfirmationRequested { .. }
            | AgentEvent::ToolProgress { .. }
            | AgentEvent::ToolFinished { .. } => return self.take_tool_event(event),
            AgentEvent::TurnStarted { .. } | AgentEvent::ToolUseEnded { .. } | AgentEvent::Done => {
            }
        }
        Vec::new()
    }

    /// What happens to tool calls.
    fn take_tool_event(&mut self, event: AgentEvent) -> Vec<Effect> {
        match event {
            AgentEvent::ToolUseStarted { id, name } => {
                self.end_thinking();
                self.end_answer();
                self.doing("writing a call");
                self.begin_tool(id.to_string(), name);
            }
            AgentEvent::ToolUseArguments { id, delta } => {
                if let Some(work) = &mut self.work {
                    work.received(delta.len(), self.now_ms);
                }
                if let Some(tool) = self.chat.tool(id.as_str()) {
                    tool.arguments.push(&delta);
                }
            }
            AgentEvent::ToolCallRequested(call) => {
                self.doing("running");
                if self.chat.tool(call.id.as_str()).is_none() {
                    self.begin_tool(call.id.to_string(), call.name);
                }
                let now_ms = self.now_ms;
                if let Some(tool) = self.chat.tool(call.id.as_str()) {
                    tool.arguments = Arguments::from(call.arguments.json_or_empty());
                    tool.state = ToolState::Running;
                    tool.started_ms = now_ms;
                }
            }
            AgentEvent::ToolProgress { id, text } => {
                if let Some(tool) = self.chat.tool(id.as_str()) {
                    tool.output.push_str(&text);
                    keep_end(&mut tool.output, MAX_PROGRESS_BYTES);
                }
            }
            AgentEvent::ToolFinished { result, .. } => {
                let id = result.call_id.as_str();
                self.end_tool(id, result.is_error, &result.content);
                return self.forget_approval(id);
            }
            AgentEvent::ConfirmationRequested { call, preview } => {
                if let Some(tool) = self.chat.tool(call.id.as_str()) {
                    tool.state = ToolState::Asked;
                }
                let arguments = call.arguments.json_or_empty().to_owned();
                return self.ask(Approval::new(
                    call.id.to_string(),
                    call.name,
                    arguments,
                    preview,
                ));
            }
            _ => {}
        }
        Vec::new()
    }

    /// What extensions say, and what they draw.
    pub(super) fn take_notice(&mut self, notice: ExtensionNotice) {
        match notice {
            ExtensionNotice::Notify {
                extension,
                level,
                message,
            } => self.note(format!("{extension}: {message}"), level == "error"),
            ExtensionNotice::Panel {
                extension,
                panel_id,
                content,
            } => self.draw_panel(PanelView {
                extension,
                id: panel_id,
                title: content.title,
                lines: content.lines,
                footer: content.footer,
            }),
            ExtensionNotice::PanelClosed {
                extension,
                panel_id,
            } => self.close_panel(&extension, &panel_id),
            ExtensionNotice::Problem(problem) => self.note(problem, true),
        }
    }

    fn take_thinking(&mut self, delta: &str) {
        self.doing("thinking");
        if let Some(work) = &mut self.work {
            work.received(delta.len(), self.now_ms);
        }
        self.chat.thinking.push_str(delta);
        keep_end(&mut self.chat.thinking, MAX_THINKING_BYTES);
    }

    fn take_usage(&mut self, turn: Usage, cumulative: Usage) {
        self.info.cost_usd = cumulative.cost_usd;
        let read = turn.input + turn.cache_read + turn.cache_write;
        // Providers count nothing for an answer that was stopped.
        if read > 0 {
            self.info.context_used = read + turn.output;
        }
        self.chat.turns.push((read, turn.output, turn.cost_usd));
    }

    fn take_turn_end(&mut self, stop: TurnStop, error: Option<String>) {
        match stop {
            TurnStop::Length => {
                let cut =
                    "the answer ends at the model's limit for one answer: say \"go on\" for more";
                self.note(error.unwrap_or_else(|| cut.to_owned()), true);
            }
            TurnStop::End if self.chat.is_unanswered() => {
                self.note("the model gave no answer".to_owned(), true);
            }
            _ => {}
        }
    }

    fn end_retry(&mut self) {
        if let Some(work) = &mut self.work {
            work.retry = None;
        }
    }

    fn take_text(&mut self, delta: &str) {
        self.end_thinking();
        self.doing("writing");
        if let Some(work) = &mut self.work {
            work.received(delta.len(), self.now_ms);
        }
        let lines = self.chat.push_text(delta, self.columns, &self.theme);
        if !self.is_plain {
            self.finish(lines);
        }
    }

    /// Nothing goes on any more: what was unfinished is finished as it is.
    pub(super) fn settle(&mut self) {
        self.end_answer();
        self.end_thinking();
        for mut tool in std::mem::take(&mut self.chat.tools) {
            tool.state = ToolState::Failed;
            if tool.output.is_empty() {
                tool.output.push_str("cancelled");
            }
            self.add(Item::Tool(Box::new(tool)));
        }
        if self.work.take().is_some_and(|work| work.cancelling) {
            self.note("stopped".to_owned(), false);
        }
    }

    fn end_thinking(&mut self) {
        let thinking = std::mem::take(&mut self.chat.thinking);
        if !thinking.trim().is_empty() {
            self.add(Item::Thinking(thinking));
        }
    }

    pub(super) fn end_answer(&mut self) {
        let lines = self.chat.end_answer(self.columns, &self.theme);
        if !self.is_plain {
            self.finish(lines);
        }
        self.chat.is_mixed = false;
    }

    fn begin_tool(&mut self, id: String, name: String) {
        self.chat.tools.push(Tool::new(id, name, self.now_ms));
    }

    /// The user has decided about a call: the time it takes begins now.
    pub(super) fn begin_running(&mut self, id: &str) {
        let now_ms = self.now_ms;
        if let Some(tool) = self.chat.tool(id) {
            tool.state = ToolState::Running;
            tool.started_ms = now_ms;
        }
    }

    fn end_tool(&mut self, id: &str, is_error: bool, content: &[ContentBlock]) {
        self.doing("thinking");
        let Some(index) = self.chat.tools.iter().position(|tool| tool.id == id) else {
            return;
        };
        let mut tool = self.chat.tools.remove(index);
        // Nobody said yes: it has not run.
        tool.took_ms = match tool.state {
            ToolState::Asked => 0,
            _ => self.now_ms.saturating_sub(tool.started_ms),
        };
        tool.state = match is_error {
            true => ToolState::Failed,
            false => ToolState::Succeeded,
        };
        tool.output = cut_output(text_of(content));
        self.add(Item::Tool(Box::new(tool)));
    }

    fn doing(&mut self, what: &'static str) {
        if let Some(work) = &mut self.work {
            work.doing = what;
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn keep_end(text: &mut String, limit: usize) {
    // Seldom, so that each piece costs its own length only.
    if text.len() > 2 * limit {
        let start = text.ceil_char_boundary(text.len() - limit);
        text.drain(..start);
    }
}
