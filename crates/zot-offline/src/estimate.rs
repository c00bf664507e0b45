//! Token counts of something that has no tokens: an estimate of four bytes each.

use zot_conversation::{ContentBlock, Message, ModelRequest, Usage};

use super::reply::Reply;

/// English text and code come to about this much per token with the tokenizers in use.
const BYTES_PER_TOKEN: u64 = 4;

/// What an image costs about, whatever its size.
const IMAGE_BYTES: usize = 1_000 * BYTES_PER_TOKEN as usize;

/// The estimated usage of one call.
pub(super) fn usage(request: &ModelRequest<'_>, reply: &Reply) -> Usage {
    let tools: usize = request
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.parameters.get().len())
        .sum();
    let messages: usize = request.messages.iter().map(|message| size(message)).sum();
    let calls: usize = reply.calls.iter().map(|call| call.arguments.len()).sum();
    Usage {
        input: tokens(request.system.len() + tools + messages),
        output: tokens(reply.text.len() + calls),
        ..Usage::default()
    }
}

fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}

fn size(message: &Message) -> usize {
    message.content.iter().map(block_size).sum()
}

fn block_size(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text(text) => text.len(),
        ContentBlock::Image(_) => IMAGE_BYTES,
        ContentBlock::Reasoning(reasoning) => reasoning.text.len(),
        ContentBlock::ToolCall(call) => call.name.len() + call.arguments.json_or_empty().len(),
        ContentBlock::ToolResult(result) => result.content.iter().map(block_size).sum(),
    }
}
