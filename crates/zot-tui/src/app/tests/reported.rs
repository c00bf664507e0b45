//! The agent's events, written as the frames of `zot --json`.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use zot_sdk::conversation::{Message, Role, Timestamp, ToolResult, Usage};
use zot_sdk::wire::{ContentBlock, Event};
use zot_sdk::{
    AgentEvent, Arguments, ErrorCode, ErrorReport, ExtensionNotice, Image, JsonObject, Question,
    QuestionKind, ToolCall, TurnStop, conversation,
};

use super::super::Input;

/// Converts a frame into an input from the agent or an extension.
pub(super) fn input(frame: Value) -> Input {
    let event: Event = serde_json::from_value(frame).unwrap();
    match event {
        Event::ExtNotify {
            extension,
            level,
            message,
        } => Input::Extension(ExtensionNotice::Notify {
            extension,
            level,
            message,
        }),
        Event::ExtPanel {
            extension,
            panel_id,
            content,
        } => Input::Extension(ExtensionNotice::Panel {
            extension,
            panel_id,
            content,
        }),
        Event::ExtPanelClose {
            extension,
            panel_id,
        } => Input::Extension(ExtensionNotice::PanelClosed {
            extension,
            panel_id,
        }),
        // The chat reads the states of servers itself.
        Event::McpState(_) => Input::Tick,
        Event::ExtDisplay { extension, text } => Input::note(format!("{extension}: {text}")),
        event => Input::Agent(agent_event(event)),
    }
}

/// Converts a frame into an event of a side question; notices of extensions become ticks.
pub(super) fn aside(frame: Value) -> Input {
    match input(frame) {
        Input::Agent(event) => Input::Aside(event),
        _ => Input::Tick,
    }
}

/// Converts the messages of `get_messages` into an earlier part of the conversation.
pub(super) fn messages(frames: Value) -> Vec<Arc<Message>> {
    let frames: Vec<zot_sdk::wire::Message> = serde_json::from_value(frames).unwrap();
    let messages = frames.iter().map(|frame| {
        let role = match frame.role {
            zot_sdk::wire::Role::User => Role::User,
            zot_sdk::wire::Role::Assistant => Role::Assistant,
            zot_sdk::wire::Role::Tool => Role::Tool,
        };
        message(role, &frame.content)
    });
    messages.collect()
}

fn agent_event(event: Event) -> AgentEvent {
    // Flat table: the event of each wire form.
    match event {
        Event::UserMessage { content, .. } => {
            AgentEvent::UserMessage(message(Role::User, &content))
        }
        Event::TurnStart { step } => AgentEvent::TurnStarted { step },
        Event::AssistantStart => AgentEvent::AssistantStarted,
        Event::TextDelta { delta } => AgentEvent::TextDelta(delta),
        Event::ThinkingDelta { delta } => AgentEvent::ThinkingDelta(delta),
        Event::AssistantMessage { content, .. } => {
            AgentEvent::AssistantMessage(message(Role::Assistant, &content))
        }
        Event::TurnEnd { stop, error } => AgentEvent::TurnEnded {
            stop: turn_stop(&stop),
            error,
        },
        Event::SteerDropped { content } => AgentEvent::SteeringDropped(blocks(&content)),
        Event::CompactDone { summary } => AgentEvent::CompactionFinished { summary },
        Event::Done => AgentEvent::Done,
        Event::Usage {
            input,
            output,
            cache_read,
            cache_write,
            cost_usd,
            cumulative,
        } => AgentEvent::UsageReported {
            turn: Usage {
                input,
                output,
                cache_read,
                cache_write,
                cost_usd,
            },
            cumulative: Usage {
                cost_usd: cumulative.cost_usd,
                ..Usage::default()
            },
        },
        Event::Retry { .. } | Event::Fallback { .. } | Event::Error { .. } => failure(event),
        event => tool_event(event),
    }
}

/// Converts a failure of a provider.
fn failure(event: Event) -> AgentEvent {
    match event {
        Event::Retry {
            failures,
            wait_ms,
            message,
        } => AgentEvent::Retrying {
            failures,
            wait: Duration::from_millis(wait_ms),
            error: ErrorReport::new(ErrorCode::Unavailable, message),
        },
        Event::Fallback {
            from, to, message, ..
        } => AgentEvent::FellBack {
            from,
            to,
            error: ErrorReport::new(ErrorCode::Unavailable, message),
        },
        Event::Error {
            message,
            code,
            retry_after_ms,
            provider,
            alternatives,
        } => AgentEvent::Failed(ErrorReport {
            retry_after: retry_after_ms.map(Duration::from_millis),
            provider,
            alternatives,
            ..ErrorReport::new(error_code(code.as_deref()), message)
        }),
        event => unreachable!("not a failure: {event:?}"),
    }
}

fn tool_event(event: Event) -> AgentEvent {
    match event {
        Event::ToolUseStart { id, name } => AgentEvent::ToolUseStarted {
            id: id.into(),
            name,
        },
        Event::ToolUseArgs { id, delta } => AgentEvent::ToolUseArguments {
            id: id.into(),
            delta,
        },
        Event::ToolUseEnd { id } => AgentEvent::ToolUseEnded { id: id.into() },
        Event::ToolCall { id, name, args } => {
            AgentEvent::ToolCallRequested(call(id, name, args.get()))
        }
        Event::ToolProgress { id, text } => AgentEvent::ToolProgress {
            id: id.into(),
            text,
        },
        Event::ToolResult {
            id,
            is_error,
            content,
            ..
        } => AgentEvent::ToolFinished {
            result: ToolResult {
                call_id: id.into(),
                is_error,
                content: blocks(&content),
            },
            origin: None,
            contacts: Vec::new(),
        },
        Event::ToolConfirm {
            id,
            name,
            args,
            preview,
            ..
        } => AgentEvent::ConfirmationRequested {
            call: call(id, name, args.get()),
            preview,
        },
        Event::ToolQuestion {
            id,
            call_id,
            origin,
            message,
            schema,
            url,
        } => AgentEvent::QuestionAsked {
            id: id.as_str().into(),
            call: call_id.into(),
            question: Question {
                origin,
                message,
                kind: match url {
                    Some(url) => QuestionKind::Url { url },
                    None => QuestionKind::Form {
                        schema: form(schema.as_ref().map_or("{}", |schema| schema.get())),
                    },
                },
            },
        },
        event => unreachable!("not an event of the agent: {event:?}"),
    }
}

fn form(schema: &str) -> JsonObject {
    let schema = JsonObject::parse(schema);
    schema.unwrap_or_else(|_| JsonObject::parse("{}").unwrap())
}

fn message(role: Role, content: &[ContentBlock]) -> Arc<Message> {
    Arc::new(Message {
        role,
        content: blocks(content),
        time: Timestamp::now(),
    })
}

fn call(id: String, name: String, arguments: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name,
        arguments: Arguments::from_model_text(arguments),
    }
}

fn blocks(content: &[ContentBlock]) -> Vec<conversation::ContentBlock> {
    let blocks = content.iter().map(|block| match block {
        ContentBlock::Text { text } => conversation::ContentBlock::Text(text.clone()),
        ContentBlock::Image { mime_type, bytes } => conversation::ContentBlock::Image(Image {
            mime_type: mime_type.clone(),
            data: vec![0; usize::try_from(*bytes).unwrap()].into(),
        }),
        ContentBlock::ToolCall { id, name, args } => {
            conversation::ContentBlock::ToolCall(call(id.clone(), name.clone(), args.get()))
        }
        ContentBlock::ToolResult {
            call_id,
            is_error,
            content,
        } => conversation::ContentBlock::ToolResult(ToolResult {
            call_id: call_id.clone().into(),
            is_error: *is_error,
            content: self::blocks(content),
        }),
    });
    blocks.collect()
}

fn turn_stop(name: &str) -> TurnStop {
    let stops = [
        TurnStop::End,
        TurnStop::ToolUse,
        TurnStop::Length,
        TurnStop::Aborted,
    ];
    let named = stops.into_iter().find(|stop| stop.as_str() == name);
    named.unwrap_or(TurnStop::Error)
}

fn error_code(name: Option<&str>) -> ErrorCode {
    let codes = [
        ErrorCode::Unauthorized,
        ErrorCode::RateLimited,
        ErrorCode::InsufficientQuota,
        ErrorCode::ContextOverflow,
        ErrorCode::InvalidRequest,
        ErrorCode::Unavailable,
        ErrorCode::Connection,
        ErrorCode::Stream,
        ErrorCode::MaxSteps,
        ErrorCode::Budget,
        ErrorCode::Session,
        ErrorCode::Extension,
    ];
    let named = codes.into_iter().find(|code| Some(code.as_str()) == name);
    named.unwrap_or(ErrorCode::Refused)
}
