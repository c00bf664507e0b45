//! Repairs a transcript so that every provider accepts it.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use zot_conversation::{ContentBlock, Message, Role, ToolCallId, ToolResult};

/// What the model reads for a call whose result was lost.
const LOST_RESULT: &str = "no result: the call was interrupted";

/// What had to be changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Repair {
    /// Calls that got an error result because they had none.
    pub results_added: usize,
    /// Results dropped because they belong to no call, or repeat a call's result.
    pub results_dropped: usize,
    /// Messages dropped because nothing was left in them.
    pub messages_dropped: usize,
}

/// Returns a repaired copy, or `None` when nothing is wrong. Repairing twice changes nothing more.
///
/// Afterwards every assistant message with calls is followed by one tool message with exactly one
/// result for each call, in order.
pub fn repair(messages: &[Arc<Message>]) -> Option<(Vec<Arc<Message>>, Repair)> {
    if is_sound(messages) {
        return None;
    }
    let mut repair = Repair::default();
    let mut output: Vec<Arc<Message>> = Vec::with_capacity(messages.len());
    let mut index = 0;
    while let Some(message) = messages.get(index) {
        index += 1;
        match message.role {
            Role::Tool => {
                // Tool messages at the right position are consumed with their assistant message
                // below.
                repair.results_dropped += message.tool_results().count();
                repair.messages_dropped += 1;
            }
            _ if message.content.is_empty() => repair.messages_dropped += 1,
            Role::User => output.push(Arc::clone(message)),
            Role::Assistant => {
                output.push(Arc::clone(message));
                let mut following = Vec::new();
                while let Some(next) = messages.get(index).filter(|next| next.role == Role::Tool) {
                    following.push(next);
                    index += 1;
                }
                push_results(message, &following, &mut output, &mut repair);
            }
        }
    }
    Some((output, repair))
}

/// Pushes the tool message with the results of the calls of `assistant`, if it made any.
fn push_results(
    assistant: &Message,
    following: &[&Arc<Message>],
    output: &mut Vec<Arc<Message>>,
    repair: &mut Repair,
) {
    let calls: Vec<&ToolCallId> = assistant.tool_calls().map(|call| &call.id).collect();
    if let [only] = following
        && has_results_of(&calls, only)
    {
        output.push(Arc::clone(only));
        return;
    }
    let mut available: Vec<&ToolResult> = following
        .iter()
        .flat_map(|message| message.tool_results())
        .collect();
    let content: Vec<ContentBlock> = calls
        .into_iter()
        .map(|id| {
            let found = available.iter().position(|result| result.call_id == *id);
            ContentBlock::ToolResult(match found {
                Some(position) => available.remove(position).clone(),
                None => {
                    repair.results_added += 1;
                    ToolResult {
                        call_id: id.clone(),
                        is_error: true,
                        content: vec![ContentBlock::Text(LOST_RESULT.to_owned())],
                    }
                }
            })
        })
        .collect();
    repair.results_dropped += available.len();
    if content.is_empty() {
        repair.messages_dropped += following.len();
        return;
    }
    repair.messages_dropped += following.len().saturating_sub(1);
    let time = following
        .first()
        .map_or(assistant.time, |message| message.time);
    output.push(Arc::new(Message {
        role: Role::Tool,
        content,
        time,
    }));
}

/// Returns whether `tool` holds exactly the results of `calls`, in order.
fn has_results_of(calls: &[&ToolCallId], tool: &Message) -> bool {
    !calls.is_empty()
        && tool.content.len() == calls.len()
        && tool
            .content
            .iter()
            .zip(calls)
            .all(|(block, id)| matches!(block, ContentBlock::ToolResult(r) if r.call_id == **id))
}

fn is_sound(messages: &[Arc<Message>]) -> bool {
    let mut expecting: Vec<&ToolCallId> = Vec::new();
    for message in messages {
        if message.content.is_empty() {
            return false;
        }
        if message.role == Role::Tool {
            if !has_results_of(&expecting, message) {
                return false;
            }
            expecting.clear();
            continue;
        }
        if !expecting.is_empty() {
            return false;
        }
        if message.role == Role::Assistant {
            expecting.extend(message.tool_calls().map(|call| &call.id));
        }
    }
    expecting.is_empty()
}
