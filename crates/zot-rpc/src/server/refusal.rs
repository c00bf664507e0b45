//! Why a command was refused.

use zot_sdk::sandbox::SandboxRequestError;
use zot_sdk::{ClearError, ModelChangeError, SetMessagesError, ToolChangeError};

/// Why a command was refused: a stable code for programs and a message for people.
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) error: String,
}

impl Refusal {
    pub(super) fn new(code: &'static str, error: impl ToString) -> Self {
        Self {
            code,
            error: error.to_string(),
        }
    }

    pub(super) fn argument(error: impl ToString) -> Self {
        Self::new("invalid_argument", error)
    }
}

impl From<ClearError> for Refusal {
    fn from(error: ClearError) -> Self {
        let code = match &error {
            ClearError::Busy(_) => "busy",
            ClearError::Journal(_) => "session",
        };
        Self::new(code, error)
    }
}

impl From<ModelChangeError> for Refusal {
    fn from(error: ModelChangeError) -> Self {
        let code = match &error {
            ModelChangeError::Busy(_) => "busy",
            ModelChangeError::Unknown { .. } => "unknown_model",
            ModelChangeError::Session(_) => "session",
        };
        Self::new(code, error)
    }
}

impl From<ToolChangeError> for Refusal {
    fn from(error: ToolChangeError) -> Self {
        let code = match &error {
            ToolChangeError::Busy(_) => "busy",
            ToolChangeError::Unknown(_) => "unknown_tool",
        };
        Self::new(code, error)
    }
}

impl From<SandboxRequestError> for Refusal {
    fn from(error: SandboxRequestError) -> Self {
        let code = match &error {
            SandboxRequestError::Argument(_) => "invalid_argument",
            SandboxRequestError::Change(_) => "sandbox",
        };
        Self::new(code, error)
    }
}

impl From<SetMessagesError> for Refusal {
    fn from(error: SetMessagesError) -> Self {
        let code = match &error {
            SetMessagesError::Busy(_) => "busy",
            SetMessagesError::Invalid(_) => "invalid_argument",
            SetMessagesError::Journal(_) => "session",
        };
        Self::new(code, error)
    }
}
