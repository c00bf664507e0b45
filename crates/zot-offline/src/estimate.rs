//! Estimates token counts: the stand-in has no tokenizer.

use zot_conversation::{ContentBlock, ModelRequest, Usage};

use crate::reply::Reply;

/// The average of common tokenizers for English text and code.
const BYTES_PER_TOKEN: usize = 4;

/// A typical image, whatever its size.
const IMAGE_BYTES: usize = 1_000 * BYTES_PER_TOKEN;

/// Returns the estimated usage of one call.
pub(crate) fn usage(request: &ModelRequest<'_>, reply: &Reply) -> Usage {
    let tools = request.tools.iter();
    let tools =
        tools.map(|tool| tool.name.len() + tool.description.len() + tool.parameters.get().len());
    let blocks = request.messages.iter().flat_map(|message| &message.content);
    let input = request.system.len() + tools.sum::<usize>() + blocks.map(size).sum::<usize>();
    let calls = reply.calls.iter().map(|call| call.arguments.len());
    let output = reply.text.len() + calls.sum::<usize>();
    Usage {
        input: input.div_ceil(BYTES_PER_TOKEN) as u64,
        output: output.div_ceil(BYTES_PER_TOKEN) as u64,
        ..Usage::default()
    }
}

fn size(block: &ContentBlock) -> usize {
    match block {
        ContentBlock::Text(text) => text.len(),
        ContentBlock::Image(_) => IMAGE_BYTES,
        ContentBlock::Reasoning(reasoning) => reasoning.text.len(),
        ContentBlock::ToolCall(call) => call.name.len() + call.arguments.json_or_empty().len(),
        ContentBlock::ToolResult(result) => result.content.iter().map(size).sum(),
    }
}
