//! Handles the agent's events and the notices of extensions.

use std::time::Duration;

use zot_sdk::conversation::Usage;
use zot_sdk::{AgentEvent, ExtensionNotice, TurnStop};

use super::{App, Approval, Effect, PanelView, Prompt, Retry, item_text, status};

impl App {
    pub(super) fn handle_event(&mut self, event: AgentEvent) -> Vec<Effect> {
        match event {
            AgentEvent::UserMessage(message) => {
                let sent = self.composer.take_sent(&item_text(&message.content));
                self.transcript
                    .add_prompt(&self.context, &message.content, sent);
            }
            AgentEvent::TextDelta(delta) => {
                self.status.set_activity("writing");
                self.status.count_received(&self.context, delta.len());
                self.transcript.push_text(&self.context, &delta);
            }
            AgentEvent::ThinkingDelta(delta) => {
                self.status.set_activity("thinking");
                self.status.count_received(&self.context, delta.len());
                self.transcript.push_thinking(&delta);
            }
            AgentEvent::AssistantStarted => {
                self.status.set_activity("thinking");
                self.status.set_retry(None);
            }
            AgentEvent::Retrying {
                failures,
                wait,
                error,
            } => self.status.set_retry(Some(Retry {
                failures,
                at_ms: self.context.now_ms + milliseconds(wait),
                message: status::readable(&error.message),
            })),
            AgentEvent::Notice(text) => return self.note(format!("zot: {text}")),
            AgentEvent::UsageReported { turn, cumulative } => self.record_usage(turn, cumulative),
            AgentEvent::AssistantMessage(_) => {
                self.transcript.end_response(&self.context);
                self.status.end_response();
            }
            AgentEvent::SteeringDropped(content) => {
                let prompt = Prompt::generated(item_text(&content));
                self.composer.enqueue_first(prompt);
            }
            AgentEvent::FellBack { from, to, error } => {
                return self.error(format!(
                    "{from} failed ({}); continuing with {to}",
                    error.message
                ));
            }
            AgentEvent::Failed(report) => {
                self.status.set_retry(None);
                return match self.approvals.step_limit.take_refusal(report.code) {
                    Some(text) => self.note(text),
                    None => self.error(status::explain(&report)),
                };
            }
            AgentEvent::StepLimitReached { limit } => self.approvals.ask_for_steps(limit),
            AgentEvent::CompactionStarted => {
                self.status.set_activity("compacting the conversation")
            }
            AgentEvent::CompactionFinished { .. } => {
                self.status.set_activity("thinking");
                return self.note("the conversation was compacted");
            }
            AgentEvent::TurnEnded { stop, error } => return self.handle_turn_end(stop, error),
            AgentEvent::ToolUseStarted { .. }
            | AgentEvent::ToolUseArguments { .. }
            | AgentEvent::ToolCallRequested(_)
            | AgentEvent::ConfirmationRequested { .. }
            | AgentEvent::QuestionAsked { .. }
            | AgentEvent::ToolProgress { .. }
            | AgentEvent::ToolFinished { .. } => return self.handle_tool_event(event),
            AgentEvent::TurnStarted { .. } | AgentEvent::ToolUseEnded { .. } | AgentEvent::Done => {
            }
        }
        Vec::new()
    }

    fn handle_tool_event(&mut self, event: AgentEvent) -> Vec<Effect> {
        match event {
            AgentEvent::ToolUseStarted { id, name } => {
                self.status.set_activity("writing a call");
                self.transcript
                    .begin_tool(&self.context, id.to_string(), name);
            }
            AgentEvent::ToolUseArguments { id, delta } => {
                self.status.count_received(&self.context, delta.len());
                self.transcript.push_arguments(id.as_str(), &delta);
            }
            AgentEvent::ToolCallRequested(call) => {
                self.status.set_activity("running");
                self.transcript.run_tool(&self.context, call);
            }
            AgentEvent::ToolProgress { id, text } => {
                self.transcript.add_tool_progress(id.as_str(), &text);
            }
            AgentEvent::ToolFinished { result, .. } => {
                let id = result.call_id.as_str();
                self.status.set_activity("thinking");
                self.transcript
                    .end_tool(&self.context, id, result.is_error, &result.content);
                self.questions.forget(id);
                let actions = self.approvals.forget(id);
                return self.carry_out(actions);
            }
            AgentEvent::ConfirmationRequested { call, preview } => {
                self.transcript.hold_tool(call.id.as_str());
                let arguments = call.arguments.json_or_empty().to_owned();
                let approval = Approval::new(call.id.to_string(), call.name, arguments, preview);
                let actions = self.approvals.ask(approval);
                return self.carry_out(actions);
            }
            AgentEvent::QuestionAsked { id, call, question } => {
                self.status.set_activity("waiting for you");
                let actions = self.questions.ask(id, call.to_string(), question);
                return self.carry_out(actions);
            }
            _ => {}
        }
        Vec::new()
    }

    pub(super) fn handle_notice(&mut self, notice: ExtensionNotice) -> Vec<Effect> {
        match notice {
            ExtensionNotice::Notify {
                extension,
                level,
                message,
            } => {
                let text = format!("{extension}: {message}");
                return match level == "error" {
                    true => self.error(text),
                    false => self.note(text),
                };
            }
            ExtensionNotice::Panel {
                extension,
                panel_id,
                content,
            } => {
                let view = PanelView {
                    extension,
                    id: panel_id,
                    title: content.title,
                    lines: content.lines,
                    footer: content.footer,
                };
                self.panels.draw(&self.context, view);
            }
            ExtensionNotice::PanelClosed {
                extension,
                panel_id,
            } => self.panels.close(&extension, &panel_id),
            ExtensionNotice::Problem(problem) => return self.error(problem),
        }
        Vec::new()
    }

    fn record_usage(&mut self, turn: Usage, cumulative: Usage) {
        let info = &mut self.context.info;
        info.cost_usd = cumulative.cost_usd;
        let read = turn.input + turn.cache_read + turn.cache_write;
        // Providers report no usage for a response that was stopped.
        if read > 0 {
            info.context_used = read + turn.output;
        }
        let spending = &mut self.status.spending;
        spending.add_turn(read, turn.output, turn.cost_usd);
    }

    fn handle_turn_end(&mut self, stop: TurnStop, error: Option<String>) -> Vec<Effect> {
        match stop {
            TurnStop::Length => {
                let message =
                    "the answer was cut off at the model's output limit: say \"continue\" for more";
                self.error(error.unwrap_or_else(|| message.to_owned()))
            }
            TurnStop::End if self.transcript.is_unanswered() => {
                self.error("the model returned no answer")
            }
            _ => Vec::new(),
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
