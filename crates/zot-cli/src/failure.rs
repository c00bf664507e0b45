//! Errors of the command line, and their exit codes.

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use zot_sdk::configuration::ConfigError;
use zot_sdk::credentials::CredentialError;
use zot_sdk::credentials::KeyNotStored;
use zot_sdk::extensions::store::{OriginError, StoreError};
use zot_sdk::login::KeyPageError;
use zot_sdk::login::LoginError;
use zot_sdk::mcp;
use zot_sdk::models::NoModels;
use zot_sdk::recordings::CassetteError;
use zot_sdk::sessions::{DeleteError, FindError, OperationError};
use zot_sdk::{AssemblyError, Busy, extensions, sandbox, skills, with_causes};

/// Exit code of a model or provider error, and of anything else that failed while running.
pub(crate) const FAILED: u8 = 1;
/// Exit code of wrong arguments or configuration, before anything was started.
pub(crate) const USAGE: u8 = 2;

/// An error at the command line.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: FailureKind,
    source: Box<dyn Error + Send + Sync>,
    /// What the user can do about it.
    hints: Vec<&'static str>,
}

/// The kind of an error, which determines the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// Wrong arguments or configuration.
    Usage,
    /// Something failed while running.
    Failed,
    /// Standard output could not be written. It is not an error if the reader closed the pipe.
    Output,
    /// The user or a signal ended the command, with this exit code.
    Ended(u8),
}

impl Failure {
    pub(crate) fn new(kind: FailureKind, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind,
            source: source.into(),
            hints: Vec::new(),
        }
    }

    pub(crate) fn usage(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(FailureKind::Usage, source)
    }

    pub(crate) fn failed(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::new(FailureKind::Failed, source)
    }

    /// Returns the failure of a command that could not write its output.
    pub(crate) fn output(error: io::Error) -> Self {
        Self::new(FailureKind::Output, error)
    }

    /// Returns the failure of a prompt whose answer could not be written. Here a closed pipe is an
    /// error: the reader did not get the answer.
    pub(crate) fn answer_lost(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::reader_gone(),
            _ => Self::failed(error),
        }
    }

    pub(crate) fn reader_gone() -> Self {
        Self::failed("standard output was closed by its reader")
    }

    fn with_hint(mut self, hint: &'static str) -> Self {
        self.hints.push(hint);
        self
    }

    /// Reports the failure on standard error and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        if self.is_closed_pipe() {
            return ExitCode::SUCCESS;
        }
        // If standard error is closed, only the exit code can report the failure.
        let _ = writeln!(zot_terminal::stderr(), "zot: {self}");
        ExitCode::from(match self.kind {
            FailureKind::Usage => USAGE,
            FailureKind::Failed | FailureKind::Output => FAILED,
            FailureKind::Ended(code) => code,
        })
    }

    /// Returns whether the reader closed the pipe.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        let error = self.source.downcast_ref::<io::Error>();
        self.kind == FailureKind::Output
            && error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}", with_causes(&*self.source))?;
        let mut hints = self.hints.iter();
        hints.try_for_each(|hint| write!(formatter, "; {hint}"))
    }
}

/// Assigns a kind to error types.
macro_rules! kinds {
    ($($kind:ident: $($error:ty),+;)+) => {
        $($(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::new(FailureKind::$kind, error)
            }
        })+)+
    };
}

kinds! {
    Usage: AssemblyError, ConfigError, CredentialError, NoModels;
    Failed: io::Error, Busy, CassetteError, DeleteError, FindError, KeyPageError, OriginError,
        StoreError, extensions::CreateError, extensions::DevError, extensions::LogError,
        mcp::ApprovalError, mcp::ServerLogError, sandbox::AllowanceError, skills::CreateError, skills::ShowError;
}

impl From<mcp::ChangeError> for Failure {
    fn from(error: mcp::ChangeError) -> Self {
        use mcp::{ChangeError, EditError};
        match error {
            ChangeError::Edit(
                EditError::Name(_)
                | EditError::Entry { .. }
                | EditError::Json { .. }
                | EditError::Unusable(_),
            )
            | ChangeError::Ambiguous { .. } => Self::usage(error),
            ChangeError::Edit(
                EditError::Exists { .. } | EditError::Missing { .. } | EditError::Unwritable { .. },
            )
            | ChangeError::Approval(_)
            | ChangeError::Unknown { .. } => Self::failed(error),
        }
    }
}

impl From<mcp::TrialError> for Failure {
    fn from(error: mcp::TrialError) -> Self {
        match error {
            mcp::TrialError::Unknown(error) => error.into(),
            other => Self::failed(other),
        }
    }
}

impl From<mcp::ServerLoginError> for Failure {
    fn from(error: mcp::ServerLoginError) -> Self {
        match error {
            mcp::ServerLoginError::Unknown(error) => error.into(),
            mcp::ServerLoginError::Local { .. } => Self::usage(error),
            other => Self::failed(other),
        }
    }
}

impl From<OperationError> for Failure {
    fn from(error: OperationError) -> Self {
        let hint = match &error {
            OperationError::NoSessionHere { .. } => Some("name one with --session ID"),
            OperationError::Exists { .. } => Some("--force replaces it"),
            _ => None,
        };
        let failure = Self::failed(error);
        hint.into_iter().fold(failure, Self::with_hint)
    }
}

impl From<KeyNotStored> for Failure {
    fn from(error: KeyNotStored) -> Self {
        let is_untried = matches!(error, KeyNotStored::Untried(_));
        let failure = Self::failed(error);
        match is_untried {
            true => failure.with_hint("--no-probe stores it without checking it"),
            false => failure,
        }
    }
}

impl From<LoginError> for Failure {
    fn from(error: LoginError) -> Self {
        match error {
            LoginError::Provider(_) | LoginError::NoOAuth { .. } => Self::usage(error),
            LoginError::OAuth { .. } => Self::failed(error),
        }
    }
}
