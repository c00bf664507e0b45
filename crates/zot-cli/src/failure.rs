//! Why zot failed, and the exit code that tells scripts about it.

use std::error::Error;
use std::fmt;
use std::io::{self, Write as _};
use std::process::ExitCode;

use zot_sdk::configuration::ConfigError;
use zot_sdk::credentials::CredentialError;
use zot_sdk::credentials::KeyNotKept;
use zot_sdk::extensions::store::{OriginError, StoreError};
use zot_sdk::login::KeyPageError;
use zot_sdk::login::LoginError;
use zot_sdk::models::NoModels;
use zot_sdk::recordings::CassetteError;
use zot_sdk::sessions::{DeleteError, FindError, OperationError};
use zot_sdk::{AssemblyError, Busy, extensions, skills, with_causes};

/// Exit code of a model or provider error, and of anything else that failed while running.
pub(crate) const FAILED: u8 = 1;
/// Exit code of wrong arguments or configuration: nothing was started.
pub(crate) const USAGE: u8 = 2;

/// An error at the command line.
#[derive(Debug)]
pub(crate) struct Failure {
    kind: FailureKind,
    source: Box<dyn Error + Send + Sync>,
    /// What the command line offers to do about it.
    hints: Vec<&'static str>,
}

/// What kind of error it is; the kind chooses the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// Wrong arguments or configuration.
    Usage,
    /// Something failed while running.
    Failed,
    /// Standard output could not be written. A reader who closed the pipe has seen enough.
    Output,
    /// The user or a signal ended it, with this exit code.
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

    /// Standard output of a command could not be written.
    pub(crate) fn output(error: io::Error) -> Self {
        Self::new(FailureKind::Output, error)
    }

    /// The answer to a prompt could not be written: a reader who has gone away did not get it.
    pub(crate) fn answer_lost(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::reader_gone(),
            _ => Self::failed(error),
        }
    }

    pub(crate) fn reader_gone() -> Self {
        Self::failed("nobody reads standard output any more")
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
        // When even standard error is gone, the exit code is all that is left.
        let _ = writeln!(zot_terminal::stderr(), "zot: {self}");
        ExitCode::from(match self.kind {
            FailureKind::Usage => USAGE,
            FailureKind::Failed | FailureKind::Output => FAILED,
            FailureKind::Ended(code) => code,
        })
    }

    /// Whether the reader closed the pipe.
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

/// The kind that errors of these types have.
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
        skills::CreateError, skills::ShowError;
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

impl From<KeyNotKept> for Failure {
    fn from(error: KeyNotKept) -> Self {
        let is_untried = matches!(error, KeyNotKept::Untried(_));
        let failure = Self::failed(error);
        match is_untried {
            true => failure.with_hint("with --no-probe it is kept untried"),
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
