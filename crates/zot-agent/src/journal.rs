//! Where the agent writes down what must not be lost.

use std::sync::Arc;

use zot_conversation::{Message, ToolResult, Usage};

/// A durable record of the conversation.
///
/// The agent calls these before it asks the model for the next answer, so a message that a caller
/// has seen survives a crash, and so do results of tool calls. A failure stops the prompt: going on would lose what follows.
pub trait Journal: Send + Sync {
    fn message_added(&self, message: &Arc<Message>) -> Result<(), JournalError>;
    fn usage_added(&self, turn: &Usage, cumulative: &Usage) -> Result<(), JournalError>;
    /// A call of a batch has ended while others are still to run. The batch's message follows.
    fn result_added(&self, _result: &ToolResult) -> Result<(), JournalError> {
        Ok(())
    }
    /// The transcript now consists of `messages` (after a compaction or a clear).
    fn transcript_replaced(&self, messages: &[Arc<Message>]) -> Result<(), JournalError>;
}

/// The conversation could not be written down.
#[derive(Debug, thiserror::Error)]
#[error("session: {0}")]
pub struct JournalError(#[from] pub Box<dyn std::error::Error + Send + Sync>);

/// Keeps nothing, for callers who own persistence themselves.
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
