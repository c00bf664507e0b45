//! Errors: of a model call, and as front ends report them.

#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

/// A model call that failed.
///
/// `Display` writes the sentence that people and the wire get, for example
/// `openai: http 401: {"error":…}`. Programs use the fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    pub kind: ModelErrorKind,
    /// The provider that failed, if it was one.
    pub provider: Option<String>,
    /// The HTTP status of a refused request.
    pub status: Option<u16>,
    /// What the server wrote, or what went wrong before it could.
    pub message: String,
    /// What zot adds for people, such as the address that was used.
    pub hints: Vec<String>,
    /// How long the provider asked clients to wait.
    pub retry_after: Option<Duration>,
    pub image_blame: ImageBlame,
}

impl ModelError {
    pub fn new(kind: ModelErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            provider: None,
            status: None,
            message: message.into(),
            hints: Vec::new(),
            retry_after: None,
            image_blame: ImageBlame::None,
        }
    }

    #[must_use]
    pub fn with_provider(self, provider: impl Into<String>) -> Self {
        Self {
            provider: Some(provider.into()),
            ..self
        }
    }

    #[must_use]
    pub fn with_status(self, status: u16) -> Self {
        Self {
            status: Some(status),
            ..self
        }
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    #[must_use]
    pub fn with_image_blame(self, image_blame: ImageBlame) -> Self {
        Self {
            image_blame,
            ..self
        }
    }

    #[must_use]
    pub fn with_retry_after(self, retry_after: Option<Duration>) -> Self {
        Self {
            retry_after,
            ..self
        }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(provider) = &self.provider {
            write!(formatter, "{provider}: ")?;
        }
        if let Some(status) = self.status {
            write!(formatter, "http {status}: ")?;
        }
        formatter.write_str(&self.message)?;
        self.hints
            .iter()
            .try_for_each(|hint| write!(formatter, " ({hint})"))
    }
}

impl std::error::Error for ModelError {}

/// What the caller can do about a failed model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// The credential is missing or refused.
    Unauthorized,
    /// Wait and try again.
    RateLimited,
    /// The account has no credit or quota left: waiting a moment does not help.
    InsufficientQuota,
    /// The conversation no longer fits: compact it.
    ContextOverflow,
    /// The request is wrong; sending it again changes nothing.
    Invalid,
    /// The provider withheld the response (refusal, content filter).
    Refused,
    /// The provider is failing; trying again later may help.
    Unavailable,
    /// The provider could not be reached or the connection broke.
    Connection,
    /// The response broke off, stalled or made no sense. What arrived is kept.
    Stream,
}

/// Whether an image may be the reason why a request was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImageBlame {
    /// No image is the reason.
    #[default]
    None,
    /// The provider refuses the request without a clear reason.
    Possible,
    /// The provider blames an image.
    Named,
}

/// An error as front ends report it to people and programs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReport {
    pub code: ErrorCode,
    /// The whole sentence, for people.
    pub message: String,
    /// The HTTP status of a refused request.
    pub status: Option<u16>,
    /// How long to wait before another attempt may succeed.
    pub retry_after: Option<Duration>,
    /// The provider that failed, if it was one.
    pub provider: Option<String>,
    /// Other providers that have a credential and may succeed.
    pub alternatives: Vec<String>,
}

impl ErrorReport {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            status: None,
            retry_after: None,
            provider: None,
            alternatives: Vec::new(),
        }
    }

    /// Creates the report of an error of `provider`, the name by which the user chose it.
    pub fn of_provider(error: &ModelError, provider: &str) -> Self {
        Self {
            provider: Some(provider.to_owned()),
            ..Self::from(error)
        }
    }
}

impl From<&ModelError> for ErrorReport {
    fn from(error: &ModelError) -> Self {
        Self {
            code: error.kind.into(),
            message: error.to_string(),
            status: error.status,
            retry_after: error.retry_after,
            provider: error.provider.clone(),
            alternatives: Vec::new(),
        }
    }
}

/// The kind of an error, with a name that does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The credential is missing or refused.
    Unauthorized,
    RateLimited,
    /// The account has no credit or quota left.
    InsufficientQuota,
    ContextOverflow,
    /// The provider refuses the request in this form.
    InvalidRequest,
    /// The provider withheld the response.
    Refused,
    Unavailable,
    /// The provider could not be reached.
    Connection,
    /// The response broke off or made no sense.
    Stream,
    MaxSteps,
    /// A limit on money, tokens, steps or time was reached.
    Budget,
    /// A compaction produced no summary.
    Compaction,
    /// The transcript is too short to be compacted.
    NothingToCompact,
    /// The session file could not be written.
    Session,
    /// An extension that must run is not running.
    Extension,
}

impl ErrorCode {
    /// Returns whether the same request may succeed at another provider or with another model.
    ///
    /// Fallback models, the providers that an error event suggests, and the other servers of ZINO's
    /// router all depend on this decision.
    pub fn may_succeed_elsewhere(self) -> bool {
        matches!(
            self,
            Self::Unauthorized
                | Self::RateLimited
                | Self::InsufficientQuota
                | Self::Unavailable
                | Self::Connection
                | Self::Stream
        )
    }

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::RateLimited => "rate_limited",
            Self::InsufficientQuota => "insufficient_quota",
            Self::ContextOverflow => "context_overflow",
            Self::InvalidRequest => "invalid_request",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
            Self::Connection => "connection",
            Self::Stream => "stream",
            Self::MaxSteps => "max_steps",
            Self::Budget => "budget",
            Self::Compaction | Self::NothingToCompact => "compaction",
            Self::Session => "session",
            Self::Extension => "extension",
        }
    }
}

impl From<ModelErrorKind> for ErrorCode {
    fn from(kind: ModelErrorKind) -> Self {
        match kind {
            ModelErrorKind::Unauthorized => Self::Unauthorized,
            ModelErrorKind::RateLimited => Self::RateLimited,
            ModelErrorKind::InsufficientQuota => Self::InsufficientQuota,
            ModelErrorKind::ContextOverflow => Self::ContextOverflow,
            ModelErrorKind::Invalid => Self::InvalidRequest,
            ModelErrorKind::Refused => Self::Refused,
            ModelErrorKind::Unavailable => Self::Unavailable,
            ModelErrorKind::Connection => Self::Connection,
            ModelErrorKind::Stream => Self::Stream,
        }
    }
}
