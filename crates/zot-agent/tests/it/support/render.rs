//! Events and messages as one short line each.

use std::sync::Arc;

use zot_agent::SUMMARY_HEADING;
use zot_conversation::{AgentEvent, ContentBlock, Message, Role, ToolResult, Usage};

pub(crate) fn events(events: &[AgentEvent]) -> Vec<String> {
    events.iter().map(event).collect()
}

pub(crate) fn event(event: &AgentEvent) -> String {
    match event {
        AgentEvent::UserMessage(message) => format!("user_message {}", content(&message.content)),
        AgentEvent::TurnStarted { step } => format!("turn_start {step}"),
        AgentEvent::AssistantStarted => "assistant_start".to_owned(),
        AgentEvent::Notice(notice) => format!("notice {notice:?}"),
        AgentEvent::TextDelta(delta) => format!("text {delta:?}"),
        AgentEvent::Retrying { failures, .. } => format!("retrying after {failures}"),
        AgentEvent::ThinkingDelta(delta) => format!("thinking {delta:?}"),
        AgentEvent::ToolUseStarted { id, name } => format!("tool_use_start {id} {name}"),
        AgentEvent::ToolUseArguments { id, delta } => format!("tool_use_args {id} {delta}"),
        AgentEvent::ToolUseEnded { id } => format!("tool_use_end {id}"),
        AgentEvent::UsageReported { turn, cumulative } => usage(turn, cumulative),
        AgentEvent::AssistantMessage(message) => {
            format!("assistant_message {}", content(&message.content))
        }
        AgentEvent::ToolCallRequested(call) => format!(
            "tool_call {} {} {}",
            call.id,
            call.name,
            call.arguments.json_or_empty()
        ),
        AgentEvent::TurnEnded { stop, error: None } => format!("turn_end {}", stop.as_str()),
        AgentEvent::TurnEnded {
            stop,
            error: Some(error),
        } => format!("turn_end {} {error:?}", stop.as_str()),
        AgentEvent::ToolProgress { id, text } => format!("tool_progress {id} {text:?}"),
        AgentEvent::ToolFinished { result, .. } => format!("tool_result {}", tool_result(result)),
        AgentEvent::FellBack { from, to, error } => {
            format!("fell_back {from} {to} {:?}", error.code)
        }
        AgentEvent::Failed(report) => format!("error {:?} {:?}", report.code, report.message),
        AgentEvent::ConfirmationRequested { call, preview } => {
            format!("tool_confirm {} {preview:?}", call.id)
        }
        AgentEvent::QuestionAsked { id, call, question } => {
            format!("question {id} {call} {:?}", question.message)
        }
        AgentEvent::SteeringDropped(content) => format!("steer_dropped {}", content.len()),
        AgentEvent::StepLimitReached { limit } => format!("step_limit {limit}"),
        AgentEvent::CompactionStarted => "compact_start".to_owned(),
        AgentEvent::CompactionFinished { summary } => format!("compact_done {summary:?}"),
        AgentEvent::Done => "done".to_owned(),
    }
}

/// `usage 3/2 (13/12)`: input and output of the call, then of everything so far.
pub(crate) fn usage(turn: &Usage, cumulative: &Usage) -> String {
    format!(
        "usage {}/{} ({}/{})",
        turn.input, turn.output, cumulative.input, cumulative.output
    )
}

pub(crate) fn messages(messages: &[Arc<Message>]) -> Vec<String> {
    messages.iter().map(|m| message(m)).collect()
}

pub(crate) fn message(message: &Message) -> String {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    format!("{role} {}", content(&message.content))
}

fn content(content: &[ContentBlock]) -> String {
    let blocks: Vec<String> = content
        .iter()
        .map(|block| match block {
            ContentBlock::Text(text) => match text.strip_prefix(SUMMARY_HEADING) {
                Some(summary) => format!("summary {summary:?}"),
                None => format!("{text:?}"),
            },
            ContentBlock::Image(image) => format!("<{}>", image.mime_type),
            ContentBlock::Reasoning(reasoning) => format!("({})", reasoning.text),
            ContentBlock::ToolCall(call) => format!(
                "{}?{}{}",
                call.name,
                call.id,
                call.arguments
                    .json()
                    .map_or_else(|error| format!("!{}", error.text), |json| json.to_string())
            ),
            ContentBlock::ToolResult(result) => tool_result(result),
        })
        .collect();
    blocks.join(" ")
}

fn tool_result(result: &ToolResult) -> String {
    let outcome = if result.is_error { "error" } else { "ok" };
    format!("{} {outcome} {}", result.call_id, content(&result.content))
}
