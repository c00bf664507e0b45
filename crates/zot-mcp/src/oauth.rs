//! Logins at MCP servers (OAuth 2.1, as revision 2026-07-28 of the protocol wants it).
//!
//! A [`Login`] is driven by a front end: it has an address to open, and takes the redirect from a port of
//! this machine or as pasted text. [`StoredLogin`] uses and renews what a login has left in the
//! [`LoginStore`]. Everything that servers claim about each other is checked before a secret is sent:
//! `discovery` says how.

mod challenge;
mod client;
mod discovery;
mod login;
mod metadata;
mod request;
mod scope;
mod store;
mod stored;
mod token;

use crate::authorization::AuthorizationError;
use crate::configuration::redaction;

pub use login::{Login, LoginRequest, Redirect};
pub use store::{LoginStore, LoginSummary};
pub use stored::StoredLogin;

/// Why a login failed. No text holds a secret: addresses are shown without what may be one.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    #[error("cannot reach {}: {reason}", redaction::url(.url))]
    Unreachable { url: String, reason: String },
    /// OAuth sends secrets; only this machine may be addressed without TLS.
    #[error("{:?} cannot be used for a login: expected an https address", redaction::url(.url))]
    Insecure { url: String },
    /// There is nothing to log in to.
    #[error(
        "{} does not say where to log in: if it wants a key, put it into the headers of the server's entry",
        redaction::url(.server)
    )]
    NoAuthorizationServer { server: String },
    /// Tokens for another server would be asked for.
    #[error(
        "the server at {} describes itself as {:?}: its tokens would be for another server",
        redaction::url(.server), redaction::url(.resource)
    )]
    ForeignResource { server: String, resource: String },
    /// The metadata belongs to another authorisation server.
    #[error(
        "the metadata of {:?} names the issuer {found:?}: the login was given up",
        redaction::url(.expected)
    )]
    ForeignIssuer { expected: String, found: String },
    /// A response that another authorisation server may have sent.
    #[error(
        "the response comes from {found:?} instead of {expected:?}: the login was given up before the code was sent"
    )]
    MixedUp { expected: String, found: String },
    #[error(
        "the response does not say which authorisation server it comes from, although {expected:?} always does: the login was given up"
    )]
    MissingIssuer { expected: String },
    #[error("{issuer} does not support PKCE with S256, without which a login is not safe")]
    NoPkce { issuer: String },
    /// No way to become a client.
    #[error(
        "{issuer} does not register clients by itself: register zot there, and put the client id into `oauth.clientId` of the server's entry"
    )]
    NoClient { issuer: String },
    /// Configured credentials belong to one authorisation server.
    #[error(
        "{} now uses the authorisation server {found:?}, but the configured client id was used at {expected:?}: if that is right, run `zot mcp logout` for it first",
        redaction::url(.server)
    )]
    IssuerChanged {
        server: String,
        expected: String,
        found: String,
    },
    /// In the words of the authorisation server.
    #[error("the authorisation server refused: {reason}")]
    Refused { code: String, reason: String },
    #[error("{} sent something unexpected: {reason}", redaction::url(.url))]
    Invalid { url: String, reason: String },
    #[error("{reason}: paste the whole address that the browser was sent to")]
    NotARedirect { reason: &'static str },
    #[error("the login was not completed within {minutes} minutes: begin it again")]
    TooLate { minutes: u64 },
    #[error(
        "cannot listen on port {port} of this machine ({source}): paste the address that the browser was sent to"
    )]
    Listening {
        port: u16,
        #[source]
        source: std::io::Error,
    },
    #[error("no random numbers: {0}")]
    Random(#[source] std::io::Error),
    #[error("{0}")]
    Store(String),
}

impl From<OAuthError> for AuthorizationError {
    fn from(error: OAuthError) -> Self {
        match error {
            OAuthError::Store(reason) => Self::Store(reason),
            error @ OAuthError::Unreachable { .. } => Self::Unreachable(error.to_string()),
            other => Self::Server(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests;
