//! Where the agent records what must not be lost.

use std::sync::Arc;

use zot_conversation::{Message, ToolResult, Usage};

/// A durable record of the conversation.
///
/// The agent calls these before the next model call, so messages that a caller has seen survive a
/// crash, and so do tool results. A failure stops the prompt: what follows would be lost.
pub trait Journal: Send + Sync {
    fn message_added(&self, message: &Arc<Message>) -> Result<(), JournalError>;
    fn usage_added(&self, turn: &Usage, cumulative: &Usage) -> Result<(), JournalError>;
    /// A call of a batch has ended while others are still pending. The batch's message follows.
    fn result_added(&self, _result: &ToolResult) -> Result<(), JournalError> {
        Ok(())
    }
    /// The transcript now consists of `messages` (after a compaction or a clear).
    fn transcript_replaced(&self, messages: &[Arc<Message>]) -> Result<(), JournalError>;
}

/// The conversation could not be recorded.
#[derive(Debug, thiserror::Error)]
#[error("session: {0}")]
pub struct JournalError(#[from] pub Box<dyn std::error::Error + Send + Sync>);

/// Keeps nothing, for callers that persist the conversation themselves.
pub struct NoJournal;

impl Journal for NoJournal {
    fn message_added(&self, _: &Arc<Message>) -> Result<(), JournalError> {
        Ok(())
    }

    fn usage_added(&self, _: &Usage, _: &Usage) -> Result<(), JournalError> {
        Ok(())
    }

    fn transcript_replaced(&self, _: &[Arc<Message>]) -> Result<(), JournalError> {
        Ok(())
    }
}
