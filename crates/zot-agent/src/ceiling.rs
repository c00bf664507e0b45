//! The most tokens a conversation can have: a token stands for at least one byte.

use std::sync::Arc;

use zot_conversation::{ContentBlock, Message};

use crate::AgentSettings;

/// What providers add on their own, such as instructions for using tools.
///
/// Limit: with one token per byte of text, the most a conversation can count; a provider's higher count is
/// ignored.
const PROVIDER_TOKENS: u64 = 1_000;
/// What marks the beginning and end of a block on the wire.
///
/// Limit: added for each block to the most a conversation can count.
const BLOCK_TOKENS: u64 = 4;
/// What a large image counts for.
///
/// Limit: added for each image to the most a conversation can count.
const IMAGE_TOKENS: u64 = 2_000;

pub(crate) fn of_settings(settings: &AgentSettings) -> u64 {
    let tools = settings.tools.definitions().iter().map(|tool| {
        (tool.name.len() + tool.description.len() + tool.parameters.get().len()) as u64
    });
    PROVIDER_TOKENS + settings.system.len() as u64 + tools.sum::<u64>()
}

pub(crate) fn of_messages(messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|message| of_message(message)).sum()
}

pub(crate) fn of_message(message: &Message) -> u64 {
    message.content.iter().map(of_block).sum()
}

fn of_block(block: &ContentBlock) -> u64 {
    let content = match block {
        ContentBlock::Text(text) => text.len() as u64,
        ContentBlock::Image(_) => IMAGE_TOKENS,
        ContentBlock::Reasoning(reasoning) => {
            let encrypted = reasoning.encrypted.as_ref().map_or(0, String::len);
            let details = reasoning.details.as_ref().map_or(0, String::len);
            (reasoning.text.len() + encrypted + details) as u64
        }
        ContentBlock::ToolCall(call) => {
            let id = call.id.as_str().len();
            (id + call.name.len() + call.arguments.json_or_empty().len()) as u64
        }
        ContentBlock::ToolResult(result) => result.content.iter().map(of_block).sum(),
    };
    BLOCK_TOKENS + content
}
