//! Errors that end an extension.

use std::error::Error as _;
use std::fmt;
use std::io;

/// The outcome of running an extension; what `main` returns.
pub type Result<T = (), E = Error> = std::result::Result<T, E>;

/// Why an extension could not start, or ended although the host did not end it.
///
/// `Debug` prints the message with its causes, because that is what Rust prints when `main` returns an
/// error.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("cannot start: {0}")]
    Mistake(#[from] Mistake),
    #[error("cannot start a tokio runtime")]
    Runtime(#[source] io::Error),
    #[error("cannot take over standard input and output; zot connects both")]
    Streams(#[source] io::Error),
    #[error("cannot read from zot")]
    Read(#[source] io::Error),
    #[error("cannot write to zot")]
    Write(#[source] io::Error),
}

impl fmt::Debug for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{self}")?;
        // The message already contains the mistake.
        let mut cause = match self {
            Self::Mistake(mistake) => mistake.source(),
            other => other.source(),
        };
        while let Some(error) = cause {
            write!(formatter, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// A mistake in the definition of an extension.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mistake {
    #[error("{kind} {name:?} is registered twice; remove one of them")]
    Twice { kind: &'static str, name: String },
    #[error(
        "the arguments of tool {tool:?} are not a JSON object; take a struct, \
         or `zot_ext::NoArguments`"
    )]
    ArgumentsNotAnObject { tool: String },
    #[error(
        "hold_text needs an interceptor of assistant messages; add intercept_assistant_message"
    )]
    NothingToHoldTextFor,
}
