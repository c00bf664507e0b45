//! Errors of a runtime's operations.

use zot_agent::JournalError;
use zot_session::SessionError;

use crate::assembly::UnknownTool;
use crate::full::InvalidMessage;

/// Another prompt or compaction is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("busy")]
pub struct Busy;

/// The runtime could not switch to a model.
#[derive(Debug, thiserror::Error)]
pub enum ModelChangeError {
    /// A prompt or compaction is running.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The name is unknown.
    #[error("unknown model {model:?} (provider={provider:?}){}", did_you_mean(.nearest))]
    Unknown {
        /// The model that was requested.
        model: String,
        /// The provider of the runtime.
        provider: String,
        /// Names that were probably meant.
        nearest: Vec<String>,
    },
    /// The change could not be recorded in the session.
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// The transcript could not be cleared.
#[derive(Debug, thiserror::Error)]
pub enum ClearError {
    /// A prompt or compaction is running.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The change could not be recorded in the session.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// The tools could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum ToolChangeError {
    /// A prompt or compaction is running.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The name is unknown.
    #[error(transparent)]
    Unknown(#[from] UnknownTool),
}

/// A transcript could not be replaced.
#[derive(Debug, thiserror::Error)]
pub enum SetMessagesError {
    /// A prompt or compaction is running.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// A message is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidMessage),
    /// The change could not be recorded in the session.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

pub(crate) fn did_you_mean(nearest: &[String]) -> String {
    if nearest.is_empty() {
        String::new()
    } else {
        format!("; did you mean {}?", nearest.join(", "))
    }
}
