//! Exports and imports transcripts with everything needed to continue elsewhere.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zot_conversation::{
    self as conversation, Arguments, ContentBlock, Image, Message, Reasoning, Timestamp, ToolCall,
    ToolResult, Transcript,
};
use zot_session::Session;
use zot_wire::rpc::{FullBlock, FullMessage, Role};

use crate::wire;

/// Returns the messages of a session file, in the form of
/// [`Runtime::full_messages`](crate::Runtime::full_messages).
pub fn session_messages(session: &Session) -> Vec<FullMessage> {
    export(&Transcript::from(session.messages.clone()))
}

/// An imported transcript is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("messages[{message}]{block}: {problem}")]
pub struct InvalidMessage {
    message: usize,
    /// `.content[n]`, or empty if the message itself is invalid.
    block: String,
    problem: String,
}

pub(crate) fn export(transcript: &Transcript) -> Vec<FullMessage> {
    transcript
        .messages()
        .iter()
        .map(|message| FullMessage {
            role: wire::role(message.role),
            content: message.content.iter().map(export_block).collect(),
            time: Some(message.time.to_string()),
        })
        .collect()
}

fn export_block(block: &ContentBlock) -> FullBlock {
    match block {
        ContentBlock::Text(text) => FullBlock::Text { text: text.clone() },
        ContentBlock::Image(image) => FullBlock::Image {
            mime_type: image.mime_type.clone(),
            data: Some(STANDARD.encode(&image.data)),
        },
        ContentBlock::Reasoning(reasoning) => FullBlock::Reasoning {
            provider: reasoning.provider.clone(),
            text: reasoning.text.clone(),
            details: reasoning.details.clone(),
            signature: reasoning.signature.clone(),
            encrypted: reasoning.encrypted.clone(),
            id: reasoning.id.clone(),
            prefix: reasoning.prefix.clone(),
        },
        ContentBlock::ToolCall(call) => FullBlock::ToolCall {
            id: call.id.to_string(),
            name: call.name.clone(),
            args: Some(wire::arguments(&call.arguments)),
            args_text: Some(match call.arguments.json() {
                Ok(raw) => raw.get().to_owned(),
                Err(malformed) => malformed.text.clone(),
            }),
        },
        ContentBlock::ToolResult(result) => FullBlock::ToolResult {
            call_id: result.call_id.to_string(),
            is_error: result.is_error,
            content: result.content.iter().map(export_block).collect(),
        },
    }
}

pub(crate) fn import(messages: Vec<FullMessage>) -> Result<Vec<Arc<Message>>, InvalidMessage> {
    messages
        .into_iter()
        .enumerate()
        .map(|(index, message)| import_message(index, message).map(Arc::new))
        .collect()
}

fn import_message(index: usize, message: FullMessage) -> Result<Message, InvalidMessage> {
    let invalid = |block: String, problem: String| InvalidMessage {
        message: index,
        block,
        problem,
    };
    let time = match message.time {
        None => Timestamp::now(),
        Some(time) => time
            .parse()
            .map_err(|error| invalid(".time".to_owned(), format!("{error}")))?,
    };
    let role = match message.role {
        Role::User => conversation::Role::User,
        Role::Assistant => conversation::Role::Assistant,
        Role::Tool => conversation::Role::Tool,
    };
    let content = message
        .content
        .into_iter()
        .enumerate()
        .map(|(position, block)| {
            let position = format!(".content[{position}]");
            import_block(block)
                .and_then(|block| check_role(role, &block).map(|()| block))
                .map_err(|problem| invalid(position, problem))
        })
        .collect::<Result<_, _>>()?;
    Ok(Message {
        role,
        content,
        time,
    })
}

/// Checks that a message of that role may contain the block.
fn check_role(role: conversation::Role, block: &ContentBlock) -> Result<(), String> {
    use conversation::Role::{Assistant, Tool, User};
    let (kind, allowed) = match block {
        ContentBlock::Text(_) => ("text", matches!(role, User | Assistant)),
        ContentBlock::Image(_) => ("an image", role == User),
        ContentBlock::Reasoning(_) => ("reasoning", role == Assistant),
        ContentBlock::ToolCall(_) => ("a tool_call", role == Assistant),
        ContentBlock::ToolResult(_) => ("a tool_result", role == Tool),
    };
    if allowed {
        Ok(())
    } else {
        Err(format!("{kind} is not allowed in a message of this role"))
    }
}

fn import_block(block: FullBlock) -> Result<ContentBlock, String> {
    Ok(match block {
        FullBlock::Text { text } => ContentBlock::Text(text),
        FullBlock::Image { mime_type, data } => {
            let data = data.ok_or(
                "the image has no data: take the transcript with get_messages and full:true",
            )?;
            let data = STANDARD
                .decode(data)
                .map_err(|error| format!("data is not base64: {error}"))?;
            ContentBlock::Image(Image {
                mime_type,
                data: data.into(),
            })
        }
        FullBlock::Reasoning {
            provider,
            text,
            details,
            signature,
            encrypted,
            id,
            prefix,
        } => ContentBlock::Reasoning(Reasoning {
            provider,
            text,
            details,
            signature,
            encrypted,
            id,
            prefix,
        }),
        FullBlock::ToolCall {
            id,
            name,
            args,
            args_text,
        } => {
            let text = args_text.or_else(|| args.map(|args| args.get().to_owned()));
            ContentBlock::ToolCall(ToolCall {
                id: id.into(),
                name,
                arguments: Arguments::from_model_text(text.as_deref().unwrap_or_default()),
            })
        }
        FullBlock::ToolResult {
            call_id,
            is_error,
            content,
        } => ContentBlock::ToolResult(ToolResult {
            call_id: call_id.into(),
            is_error,
            content: content
                .into_iter()
                .map(|block| match block {
                    FullBlock::Text { .. } | FullBlock::Image { .. } => import_block(block),
                    _ => Err("a tool_result may contain only text and images".to_owned()),
                })
                .collect::<Result<_, _>>()?,
        }),
    })
}
