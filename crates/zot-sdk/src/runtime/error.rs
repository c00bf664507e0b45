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
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error("unknown model {model:?} (provider={provider:?}){}", did_you_mean(.nearest))]
    Unknown {
        model: String,
        provider: String,
        nearest: Vec<String>,
    },
    #[error(transparent)]
    Session(#[from] SessionError),
}

/// The transcript could not be cleared.
#[derive(Debug, thiserror::Error)]
pub enum ClearError {
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// The tools could not be changed.
#[derive(Debug, thiserror::Error)]
pub enum ToolChangeError {
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error(transparent)]
    Unknown(#[from] UnknownTool),
}

/// A transcript could not be replaced.
#[derive(Debug, thiserror::Error)]
pub enum SetMessagesError {
    #[error(transparent)]
    Busy(#[from] Busy),
    #[error(transparent)]
    Invalid(#[from] InvalidMessage),
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
