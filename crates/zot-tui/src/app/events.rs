//! What the agent's events do to the conversation.

use zot_sdk::{ContentBlock, Event};

use super::item::{cut_output, text_of};
use super::{
    App, Approval, Arguments, Effect, Item, PanelView, Prompt, Retry, Tool, ToolState, advice,
};

/// What of a running tool's output is kept.
pub(super) const MAX_PROGRESS_BYTES: usize = 16 * 1024;

/// What of a model's thinking is kept.
const MAX_THINKING_BYTES: usize = 64 * 1024;

impl App {
    pub(super) fn take_event(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::UserMessage { content, .. } => self.take_user_message(&content),
            Event::TextDelta { delta } => self.take_text(&delta),
            Event::ThinkingDelta { delta } => {
                self.doing("thinking");
                if let Some(work) = &mut self.work {
                    work.received(delta.len(), self.now_ms);
                }
                self.chat.thinking.push_str(&delta);
                keep_end(&mut self.chat.thinking, MAX_THINKING_BYTES);
            }
            Event::AssistantStart => {
                self.doing("thinking");
                if let Some(work) = &mut self.work {
                    work.retry = None;
                }
            }
            Event::Retry {
                failures,
                wait_ms,
                message,
            } => {
                let at_ms = self.now_ms + wait_ms;
                if let Some(work) = &mut self.work {
                    work.retry = Some(Retry {
                        failures,
                        at_ms,
                        message: advice::readable(&message),
                    });
                }
            }
            Event::ToolUseStart { id, name } => {
                self.end_thinking();
                self.end_answer();
                self.doing("writing a call");
                self.begin_tool(id, name);
            }
            Event::ToolUseArgs { id, delta } => {
                if let Some(work) = &mut self.work {
                    work.received(delta.len(), self.now_ms);
                }
                if let Some(tool) = self.chat.tool(&id) {
                    tool.arguments.push(&delta);
                }
            }
            Event::ToolCall { id, name, args } => {
                self.doing("running");
                if self.chat.tool(&id).is_none() {
                    self.begin_tool(id.clone(), name);
                }
                let now_ms = self.now_ms;
                if let Some(tool) = self.chat.tool(&id) {
                    tool.arguments = Arguments::from(args.get());
                    tool.state = ToolState::Running;
                    tool.started_ms = now_ms;
                }
            }
            Event::ToolProgress { id, text } => {
                if let Some(tool) = self.chat.tool(&id) {
                    tool.output.push_str(&text);
                    keep_end(&mut tool.output, MAX_PROGRESS_BYTES);
                }
            }
            Event::ToolResult {
                id,
                is_error,
                content,
                ..
            } => {
                self.end_tool(&id, is_error, &content);
                return self.forget_approval(&id);
            }
            Event::ToolConfirm {
                id,
                name,
                args,
                preview,
                hint: _,
            } => {
                if let Some(tool) = self.chat.tool(&id) {
                    tool.state = ToolState::Asked;
                }
                return self.ask(Approval::new(id, name, args.get().to_owned(), preview));
            }
            Event::Usage {
                input,
                output,
                cache_read,
                cache_write,
                cost_usd,
                cumulative,
            } => {
                self.info.cost_usd = cumulative.cost_usd;
                let read = input + cache_read + cache_write;
                // Providers count nothing for an answer that was stopped.
                if read > 0 {
                    self.info.context_used = read + output;
                }
                self.chat.turns.push((read, output, cost_usd));
            }
            Event::AssistantMessage { .. } => {
                self.end_thinking();
                self.end_answer();
                if let Some(work) = &mut self.work {
                    work.answer_ended();
                }
            }
            Event::SteerDropped { content } => {
                self.queue_first(Prompt::made(text_of(&content)));
            }
            Event::Fallback {
                from, to, message, ..
            } => self.note(format!("{from} failed ({message}); {to} goes on"), true),
            Event::Error {
                message,
                code,
                retry_after_ms,
                provider,
                alternatives,
            } => {
                if let Some(work) = &mut self.work {
                    work.retry = None;
                }
                if self.end_at_step_limit(code.as_deref().unwrap_or_default()) {
                    return Vec::new();
                }
                let mut text = advice::readable(&message);
                let step = advice::next_step(
                    code.as_deref().unwrap_or_default(),
                    provider.as_deref(),
                    retry_after_ms,
                    &alternatives,
                );
                if let Some(step) = step {
                    text.push('\n');
                    text.push_str(&step);
                }
                self.note(text, true);
            }
            Event::CompactDone { .. } => {
                self.doing("thinking");
                self.note("the conversation was compacted".to_owned(), false);
            }
            Event::ExtNotify {
                extension,
                level,
                message,
            } => self.note(format!("{extension}: {message}"), level == "error"),
            Event::ExtDisplay { extension, text } => {
                self.note(format!("{extension}: {text}"), false);
            }
            Event::ExtPanel {
                extension,
                panel_id,
                content,
            } => {
                self.draw_panel(PanelView {
                    extension,
                    id: panel_id,
                    title: content.title,
                    lines: content.lines,
                    footer: content.footer,
                });
            }
            Event::ExtPanelClose {
                extension,
                panel_id,
            } => self.close_panel(&extension, &panel_id),
            Event::TurnEnd { stop, error } if stop == "length" => {
                let text = match error {
                    Some(error) => error,
                    None => {
                        "the answer ends at the model's limit for one answer: say \"go on\" for more"
                            .to_owned()
                    }
                };
                self.note(text, true);
            }
            Event::TurnEnd { stop, .. } if stop == "end" && self.chat.is_unanswered() => {
                self.note("the model gave no answer".to_owned(), true);
            }
            Event::TurnStart { .. }
            | Event::TurnEnd { .. }
            | Event::ToolUseEnd { .. }
            | Event::Done => {}
        }
        Vec::new()
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

pub(super) fn keep_end(text: &mut String, limit: usize) {
    // Seldom, so that each piece costs its own length only.
    if text.len() > 2 * limit {
        let start = text.ceil_char_boundary(text.len() - limit);
        text.drain(..start);
    }
}
