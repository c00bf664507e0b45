//! What can go wrong, and the exit code that tells scripts about it.

use std::io;
use std::process::ExitCode;

use zot_sdk::AssemblyError;
use zot_sdk::config_files::ConfigError;

/// Exit code of a model or provider error, and of anything else that failed while running.
pub(crate) const FAILED: u8 = 1;
/// Exit code of wrong arguments or configuration: nothing was started.
pub(crate) const USAGE: u8 = 2;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Usage(String),
    #[error(transparent)]
    Assembly(#[from] AssemblyError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Agent(String),
    #[error("rpc: bad auth token")]
    BadToken,
    #[error("nobody reads standard output any more")]
    ReaderGone,
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Failure {
    /// Output that could not be written.
    pub(crate) fn unwritten(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::ReaderGone,
            _ => Self::Io(error),
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Usage(_) | Self::Assembly(_) | Self::Config(_) => USAGE,
            Self::Agent(_) | Self::BadToken | Self::ReaderGone | Self::Io(_) => FAILED,
        })
    }
}
