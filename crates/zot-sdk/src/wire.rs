//! The wire form of events and messages, for front ends that write them to a pipe.

use zot_conversation::{
    self as conversation, AgentEvent, Arguments, HostContact, QuestionKind, ToolOrigin, Transcript,
    Usage,
};
use zot_extension_host::Notice;
use zot_wire::RawJson;
use zot_wire::rpc::{NetworkContact, ToolDetails};

pub use zot_wire::rpc::{
    CommandEntry, ContentBlock, CumulativeUsage, Event, ExtensionEntry, FullBlock, FullMessage,
    InvokedData, Message, ModelEntry, RepairReport, Role, SandboxData, SandboxLevel, SessionData,
    SetSandboxCommand, StateData, ToolEntry, UsageData,
};

/// The source of notices that do not come from an extension.
const NOTICE_SOURCE: &str = "zot";

/// Converts an event to its wire form; `None` if the protocol has none.
pub fn event(event: AgentEvent) -> Option<Event> {
    // Flat table: the wire form of each event.
    Some(match event {
        AgentEvent::UserMessage(message) => Event::UserMessage {
            content: content(&message.content),
            time: message.time.to_string(),
        },
        AgentEvent::TurnStarted { step } => Event::TurnStart { step },
        AgentEvent::AssistantStarted => Event::AssistantStart,
        AgentEvent::Notice(message) => Event::ExtNotify {
            extension: NOTICE_SOURCE.to_owned(),
            level: "warn".to_owned(),
            message,
        },
        AgentEvent::TextDelta(delta) => Event::TextDelta { delta },
        AgentEvent::ThinkingDelta(delta) => Event::ThinkingDelta { delta },
        AgentEvent::Retrying {
            failures,
            wait,
            error,
        } => Event::Retry {
            failures,
            wait_ms: wait.as_millis() as u64,
            message: error.message,
        },
        AgentEvent::ToolUseStarted { id, name } => Event::ToolUseStart {
            id: id.to_string(),
            name,
        },
        AgentEvent::ToolUseArguments { id, delta } => Event::ToolUseArgs {
            id: id.to_string(),
            delta,
        },
        AgentEvent::ToolUseEnded { id } => Event::ToolUseEnd { id: id.to_string() },
        AgentEvent::UsageReported { turn, cumulative } => Event::Usage {
            input: turn.input,
            output: turn.output,
            cache_read: turn.cache_read,
            cache_write: turn.cache_write,
            cost_usd: turn.cost_usd,
            cumulative: usage(&cumulative),
        },
        AgentEvent::AssistantMessage(message) => Event::AssistantMessage {
            content: content(&message.content),
            time: message.time.to_string(),
        },
        AgentEvent::ToolCallRequested(call) => Event::ToolCall {
            id: call.id.to_string(),
            args: arguments(&call.arguments),
            name: call.name,
        },
        AgentEvent::TurnEnded { stop, error } => Event::TurnEnd {
            stop: stop.as_str().to_owned(),
            error,
        },
        AgentEvent::ToolProgress { id, text } => Event::ToolProgress {
            id: id.to_string(),
            text,
        },
        AgentEvent::ToolFinished {
            result,
            origin,
            contacts,
        } => Event::ToolResult {
            id: result.call_id.to_string(),
            is_error: result.is_error,
            content: content(&result.content),
            network: contacts.into_iter().map(network_contact).collect(),
            details: origin.map(tool_details),
        },
        AgentEvent::ConfirmationRequested { call, preview } => Event::ToolConfirm {
            hint: None,
            id: call.id.to_string(),
            args: arguments(&call.arguments),
            name: call.name,
            preview,
        },
        AgentEvent::QuestionAsked { id, call, question } => {
            let (schema, url) = match question.kind {
                QuestionKind::Form { schema } => (Some(schema.as_raw().into()), None),
                QuestionKind::Url { url } => (None, Some(url)),
            };
            Event::ToolQuestion {
                id: id.to_string(),
                call_id: call.to_string(),
                origin: question.origin,
                message: question.message,
                schema,
                url,
            }
        }
        AgentEvent::SteeringDropped(dropped) => Event::SteerDropped {
            content: content(&dropped),
        },
        AgentEvent::FellBack { from, to, error } => Event::Fallback {
            from,
            to,
            message: error.message,
            code: error.code.as_str().to_owned(),
        },
        AgentEvent::Failed(report) => Event::Error {
            alternatives: report.alternatives,
            provider: report.provider,
            message: report.message,
            code: Some(report.code.as_str().to_owned()),
            retry_after_ms: report
                .retry_after
                .map(|after| u64::try_from(after.as_millis()).unwrap_or(u64::MAX)),
        },
        AgentEvent::CompactionStarted | AgentEvent::StepLimitReached { .. } => return None,
        AgentEvent::CompactionFinished { summary } => Event::CompactDone { summary },
        AgentEvent::Done => Event::Done,
    })
}

fn network_contact(contact: HostContact) -> NetworkContact {
    NetworkContact {
        host: contact.host,
        port: contact.port,
        allowed: contact.is_allowed,
    }
}

fn tool_details(origin: ToolOrigin) -> ToolDetails {
    match origin {
        ToolOrigin::Extension { extension, tool } => ToolDetails {
            extension: Some(extension),
            server: None,
            tool,
        },
        ToolOrigin::Server { server, tool } => ToolDetails {
            extension: None,
            server: Some(server),
            tool,
        },
    }
}

/// Converts a notice of an extension to its wire form; `None` if it is for people only.
pub fn notice(notice: Notice) -> Option<Event> {
    Some(match notice {
        Notice::Notify {
            extension,
            level,
            message,
        } => Event::ExtNotify {
            extension,
            level,
            message,
        },
        Notice::Panel {
            extension,
            panel_id,
            content,
        } => Event::ExtPanel {
            extension,
            panel_id,
            content,
        },
        Notice::PanelClosed {
            extension,
            panel_id,
        } => Event::ExtPanelClose {
            extension,
            panel_id,
        },
        Notice::Problem(_) => return None,
    })
}

pub(crate) fn usage(usage: &Usage) -> CumulativeUsage {
    CumulativeUsage {
        input: usage.input,
        output: usage.output,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        cost_usd: usage.cost_usd,
    }
}

pub(crate) fn messages(transcript: &Transcript) -> Vec<Message> {
    transcript
        .messages()
        .iter()
        .map(|message| Message {
            role: role(message.role),
            content: content(&message.content),
            time: message.time.to_string(),
        })
        .collect()
}

pub(crate) fn role(role: conversation::Role) -> Role {
    match role {
        conversation::Role::User => Role::User,
        conversation::Role::Assistant => Role::Assistant,
        conversation::Role::Tool => Role::Tool,
    }
}

fn content(blocks: &[conversation::ContentBlock]) -> Vec<ContentBlock> {
    blocks.iter().filter_map(block).collect()
}

fn block(block: &conversation::ContentBlock) -> Option<ContentBlock> {
    Some(match block {
        conversation::ContentBlock::Text(text) => ContentBlock::Text { text: text.clone() },
        conversation::ContentBlock::Image(image) => ContentBlock::Image {
            mime_type: image.mime_type.clone(),
            bytes: image.data.len() as u64,
        },
        conversation::ContentBlock::Reasoning(_) => return None,
        conversation::ContentBlock::ToolCall(call) => ContentBlock::ToolCall {
            id: call.id.to_string(),
            name: call.name.clone(),
            args: arguments(&call.arguments),
        },
        conversation::ContentBlock::ToolResult(result) => ContentBlock::ToolResult {
            call_id: result.call_id.to_string(),
            is_error: result.is_error,
            content: content(&result.content),
        },
    })
}

/// Returns the arguments as an object: malformed ones become `{}`, and the result of the call names the
/// problem.
pub(crate) fn arguments(arguments: &Arguments) -> RawJson {
    match arguments.json() {
        Ok(raw) => raw.into(),
        Err(_) => RawJson::empty_object(),
    }
}
