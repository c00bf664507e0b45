//! How long a response may get.

#[cfg(test)]
mod tests;

use crate::{ModelError, ModelErrorKind, ModelEvent};

/// The most bytes of one response: text, thinking, signatures, names and arguments of tool calls
/// together. The longest responses of today's models are below 1 MiB.
///
/// Limit: error that names the limit; the text received so far is kept.
pub const MAX_RESPONSE_BYTES: usize = 16 * 1024 * 1024;

/// The most tool calls and reasoning blocks of one response.
///
/// Limit: error that names the limit; the text received so far is kept.
pub const MAX_RESPONSE_BLOCKS: usize = 4096;

/// A limit that a response has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ResponseTooLong {
    #[error(
        "the response is longer than {MAX_RESPONSE_BYTES} bytes (MAX_RESPONSE_BYTES): the server \
         does not stop; nothing more is read of it"
    )]
    Bytes,
    #[error(
        "the response has more than {MAX_RESPONSE_BLOCKS} tool calls and reasoning blocks \
         (MAX_RESPONSE_BLOCKS): the server does not stop; nothing more is read of it"
    )]
    Blocks,
}

impl From<ResponseTooLong> for ModelError {
    fn from(limit: ResponseTooLong) -> Self {
        Self::new(ModelErrorKind::Stream, limit.to_string())
    }
}

/// The size of a response so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResponseSize {
    bytes: usize,
    blocks: usize,
}

impl ResponseSize {
    /// Counts an event; an error means that this event already exceeds a limit.
    pub fn add(&mut self, event: &ModelEvent) -> Result<(), ResponseTooLong> {
        if matches!(
            event,
            ModelEvent::ToolCallStart { .. } | ModelEvent::Reasoning(_)
        ) {
            self.blocks += 1;
            if self.blocks > MAX_RESPONSE_BLOCKS {
                return Err(ResponseTooLong::Blocks);
            }
        }
        self.add_bytes(length(event))
    }

    /// Counts bytes that a client keeps without an event.
    pub fn add_bytes(&mut self, bytes: usize) -> Result<(), ResponseTooLong> {
        self.bytes = self.bytes.saturating_add(bytes);
        match self.bytes > MAX_RESPONSE_BYTES {
            true => Err(ResponseTooLong::Bytes),
            false => Ok(()),
        }
    }

    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Returns how many bytes of an event are kept or shown.
fn length(event: &ModelEvent) -> usize {
    match event {
        ModelEvent::TextDelta(delta) | ModelEvent::ThinkingDelta(delta) => delta.len(),
        ModelEvent::ToolCallArguments { delta, .. } => delta.len(),
        ModelEvent::ToolCallStart { id, name } => id.as_str().len() + name.len(),
        ModelEvent::Reasoning(reasoning) => reasoning.length(),
        ModelEvent::Notice(notice) => notice.len(),
        ModelEvent::Retrying { .. }
        | ModelEvent::Start
        | ModelEvent::ToolCallEnd { .. }
        | ModelEvent::Usage(_)
        | ModelEvent::Stop(_) => 0,
    }
}
