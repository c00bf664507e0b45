//! How a transport gets the right to talk to a server.
//!
//! The HTTP transports know only this trait; stored logins implement it.

use zot_conversation::BoxFuture;
use zot_process::Secret;

/// The right to use one server.
pub trait Authorization: Send + Sync {
    /// Returns the token for the next request, renewed if it is about to expire; `None` without a login.
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, AuthorizationError>>;

    /// Decides what follows a refused request.
    fn refused<'a>(
        &'a self,
        refusal: Refusal<'a>,
    ) -> BoxFuture<'a, Result<NextStep, AuthorizationError>>;
}

/// A request that the server refused (HTTP 401, or 403 with a challenge).
#[derive(Clone, Copy)]
pub struct Refusal<'a> {
    pub status: u16,
    /// The header `WWW-Authenticate`.
    pub challenge: Option<&'a str>,
    /// What was sent.
    pub token: Option<&'a Secret>,
}

/// What to do about a refused request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextStep {
    /// There is another token now: send the request again.
    Repeat,
    /// Only the user can help.
    LogIn,
}

/// Why no token could be found or renewed.
#[derive(Debug, thiserror::Error)]
pub enum AuthorizationError {
    /// The stored login cannot be read or written.
    #[error("{0}")]
    Store(String),
    /// The authorisation server cannot be reached now.
    #[error("{0}")]
    Unreachable(String),
    /// The authorisation server cannot be used.
    #[error("{0}")]
    Server(String),
}
