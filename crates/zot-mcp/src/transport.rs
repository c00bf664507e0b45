//! How messages reach a server.
//!
//! A transport carries single messages; which ones, and what they mean, is the connection's matter.

pub(crate) mod address;
pub mod http;
pub mod sse;
pub mod stdio;
mod waiting;

use serde_json::value::RawValue;
use zot_conversation::BoxFuture;

use crate::authorization::AuthorizationError;
use crate::json_rpc::{RequestId, RpcError};
use crate::version::Era;

/// Why a request has no result.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The server's own answer.
    #[error("{0}")]
    Refused(#[from] RpcError),
    /// The server wants a login (HTTP 401 or 403 with a challenge). Holds the `WWW-Authenticate` header.
    #[error("the server asks for a login")]
    Unauthorized {
        challenge: Option<String>,
        status: u16,
    },
    /// The legacy session is gone (HTTP 404): the connection has to be begun anew.
    #[error("the server has forgotten the session")]
    SessionLost,
    /// An HTTP status without a JSON-RPC message.
    #[error("HTTP status {status}: {body}")]
    Status { status: u16, body: String },
    /// The server cannot be reached, has gone, or its stream ended before the response.
    #[error("{0}")]
    Disconnected(String),
    /// There is a login, but it cannot be used.
    #[error(transparent)]
    Authorization(#[from] AuthorizationError),
    /// What came is not MCP.
    #[error("{0}")]
    Invalid(String),
}

/// What a request is about beside its body: HTTP repeats it in headers.
#[derive(Debug, Clone, Default)]
pub struct CallHints<'a> {
    /// The tool, prompt or resource that is asked for (`Mcp-Name`).
    pub name: Option<&'a str>,
    /// Arguments that the tool's schema wants as headers (`Mcp-Param-…`): name and value, not encoded.
    pub parameters: Vec<(String, String)>,
}

/// Receives what the server sends other than responses.
pub trait Inbox: Send + Sync {
    fn notification(&self, method: &str, params: Option<&RawValue>);

    /// Returns the response to a request of the server (legacy only).
    fn request<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, RpcError>>;
}

/// A way to one server. Everything it receives beside responses goes to the [`Inbox`] it was made with.
pub trait Transport: Send + Sync {
    /// Sends a request and waits for its response. Dropping the future gives the request up: over HTTP
    /// that closes its stream, elsewhere the connection sends `notifications/cancelled`.
    fn call<'a>(
        &'a self,
        id: &'a RequestId,
        method: &'a str,
        params: &'a RawValue,
        hints: CallHints<'a>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, CallError>>;

    fn notify<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<(), CallError>>;

    /// Tells which revision the next messages are in; before, none is said.
    fn set_version(&self, era: Era, version: &str);

    /// Whether dropping a call already tells the server (HTTP).
    fn cancels_by_dropping(&self) -> bool;

    /// Resolves when the server has gone, with the reason. Never, for transports without a connection.
    fn closed(&self) -> BoxFuture<'_, String>;

    /// Ends the connection: asks, waits, kills. Nothing it started is left afterwards.
    fn close(&self) -> BoxFuture<'_, ()>;
}
