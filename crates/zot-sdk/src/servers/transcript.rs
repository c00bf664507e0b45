//! What a conversation has found with `tool_search`, read from its transcript: a resumed session has the
//! same tools.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::sync::Arc;

use zot_conversation::{ContentBlock, Message, joined_text};
use zot_mcp::name::SEPARATOR;

use super::search::{FOUND, TOOL_SEARCH};

/// Returns the names of the tools that were found or called, in this order. They may not exist any more.
pub(crate) fn found_tools(messages: &[Arc<Message>]) -> Vec<String> {
    let mut searches = HashSet::new();
    let mut found: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    };
    for block in messages.iter().flat_map(|message| &message.content) {
        match block {
            ContentBlock::ToolCall(call) if call.name == TOOL_SEARCH => {
                searches.insert(call.id.as_str());
            }
            ContentBlock::ToolCall(call) if call.name.contains(SEPARATOR) => add(&call.name),
            ContentBlock::ToolResult(result) if searches.contains(result.call_id.as_str()) => {
                let text = joined_text(&result.content);
                text.lines()
                    .filter_map(|line| line.strip_prefix(FOUND))
                    .for_each(&mut add);
            }
            _ => {}
        }
    }
    found
}
