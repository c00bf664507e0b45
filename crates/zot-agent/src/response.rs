//! Assembles a model's response from its events.

#[cfg(test)]
mod tests;

use zot_conversation::{
    Arguments, ContentBlock, ModelEvent, StopReason, ToolCall, ToolCallId, Usage,
};

/// Assembles one response. How its events are split into deltas does not change the result.
#[derive(Debug, Default)]
pub struct ResponseBuilder {
    blocks: Vec<Block>,
    usage: Usage,
    stop: Option<StopReason>,
}

#[derive(Debug)]
enum Block {
    Finished(ContentBlock),
    Call(PartialCall),
}

/// A call whose arguments are still arriving.
#[derive(Debug)]
struct PartialCall {
    id: ToolCallId,
    name: String,
    arguments: String,
}

impl PartialCall {
    /// Returns whether the output limit cut off this call; it did not if the arguments are
    /// complete.
    fn is_cut(&self, is_last: bool) -> bool {
        let is_whole = Arguments::from_model_text(&self.arguments).json().is_ok();
        !is_whole || (is_last && self.arguments.trim().is_empty())
    }
}

/// A complete response.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    pub content: Vec<ContentBlock>,
    pub stop: StopReason,
    /// A call whose arguments the output limit cut off; they are malformed, so that it is not run.
    pub cut_off: Option<ToolCallId>,
}

impl ResponseBuilder {
    /// Adds one event.
    pub fn apply(&mut self, event: &ModelEvent) {
        match event {
            ModelEvent::Retrying { .. }
            | ModelEvent::Start
            | ModelEvent::Notice(_)
            | ModelEvent::ThinkingDelta(_)
            | ModelEvent::ToolCallEnd { .. } => {}
            ModelEvent::TextDelta(delta) => self.push_text(delta),
            ModelEvent::Reasoning(reasoning) => self
                .blocks
                .push(Block::Finished(ContentBlock::Reasoning(reasoning.clone()))),
            ModelEvent::ToolCallStart { id, name } => self.blocks.push(Block::Call(PartialCall {
                id: id.clone(),
                name: name.clone(),
                arguments: String::new(),
            })),
            ModelEvent::ToolCallArguments { id, delta } => {
                // The newest call of an id: a sloppy server may use one twice.
                let call = self.blocks.iter_mut().rev().find_map(|block| match block {
                    Block::Call(call) if call.id == *id => Some(call),
                    _ => None,
                });
                if let Some(call) = call {
                    call.arguments.push_str(delta);
                }
            }
            ModelEvent::Usage(usage) => self.usage = *usage,
            ModelEvent::Stop(stop) => self.stop = Some(*stop),
        }
    }

    /// Returns the latest usage; all zero when none was reported.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns whether no content has arrived yet.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Returns the response, or the builder itself when the model did not finish.
    pub fn finish(self) -> Result<Response, Self> {
        let Some(stop) = self.stop else {
            return Err(self);
        };
        let last = self.blocks.len().checked_sub(1);
        let mut cut_off = None;
        let blocks = self.blocks.into_iter().enumerate();
        let content = blocks
            .map(|(index, block)| match block {
                Block::Finished(content) => content,
                Block::Call(call) => {
                    let is_cut = stop == StopReason::Length && call.is_cut(Some(index) == last);
                    if is_cut {
                        cut_off = Some(call.id.clone());
                    }
                    ContentBlock::ToolCall(ToolCall {
                        arguments: match is_cut {
                            true => Arguments::cut_off(&call.arguments),
                            false => Arguments::from_model_text(&call.arguments),
                        },
                        id: call.id,
                        name: call.name,
                    })
                }
            })
            .collect();
        Ok(Response {
            content,
            stop,
            cut_off,
        })
    }

    /// Returns what is worth keeping of a response that broke off: its text so far.
    ///
    /// Incomplete calls are dropped, and so is reasoning, which providers refuse without the response
    /// that it led to.
    pub fn keep_text(self) -> Vec<ContentBlock> {
        self.blocks
            .into_iter()
            .filter_map(|block| match block {
                Block::Finished(text @ ContentBlock::Text(_)) => Some(text),
                _ => None,
            })
            .collect()
    }

    fn push_text(&mut self, delta: &str) {
        if delta.is_empty() {
            return;
        }
        match self.blocks.last_mut() {
            Some(Block::Finished(ContentBlock::Text(text))) => text.push_str(delta),
            _ => self
                .blocks
                .push(Block::Finished(ContentBlock::Text(delta.to_owned()))),
        }
    }
}
