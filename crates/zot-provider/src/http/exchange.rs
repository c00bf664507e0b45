//! Any exchange over the shared connections: for protocols that are not calls of a model.

use std::future::poll_fn;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};

use super::connection::Keep;
use super::pool::MAX_CONNECTION_IDLE_TIME;
use super::{HttpClient, Manner, ResponseBody, SendError};
use crate::body::RequestBody;

/// How long a connection may have been idle before a request that must not be sent twice. Common
/// servers close after five seconds; a request that crosses that closing would be lost.
///
/// Limit: a new connection is opened.
const MAX_UNREPEATABLE_IDLE_TIME: Duration = Duration::from_secs(3);

/// Whether a request may be sent again when a reused connection ends without a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    /// Sending it twice does no harm.
    Safe,
    /// The server may already have acted on it.
    Never,
}

impl Repeat {
    pub(super) fn idle_time(self) -> Duration {
        match self {
            Self::Safe => MAX_CONNECTION_IDLE_TIME,
            Self::Never => MAX_UNREPEATABLE_IDLE_TIME,
        }
    }
}

/// A request. Nothing is added to `headers` but `host` and `content-length`.
#[derive(Debug, Clone)]
pub struct ExchangeRequest<'a> {
    pub method: Method,
    pub url: &'a str,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub repeat: Repeat,
}

/// Why an exchange has no response.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeFailure {
    #[error("the address cannot be used: {0}")]
    Address(String),
    /// Not connected, or the connection ended before a response.
    #[error("{0}")]
    Connection(String),
    #[error("no response within {limit:?}")]
    Timeout { limit: Duration },
    #[error("{0}")]
    Invalid(String),
}

impl From<SendError> for ExchangeFailure {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Timeout { limit } => Self::Timeout { limit },
            SendError::Connection(reason) => Self::Connection(reason),
            SendError::Other(reason) => Self::Invalid(reason),
        }
    }
}

/// A response whose body arrives in pieces. Dropping it before its end closes the connection, which
/// tells the server that nobody waits any more.
pub struct ExchangeResponse {
    pub status: u16,
    pub headers: HeaderMap,
    body: ResponseBody,
}

impl ExchangeResponse {
    /// Hands the next data to `sink`; `None` at the end. Waits without a limit: streams of events may
    /// be silent for hours. Cancel-safe: data is handed on as it is read.
    pub async fn next(
        &mut self,
        mut sink: impl FnMut(&[u8]),
    ) -> Option<Result<(), std::io::Error>> {
        poll_fn(|context| self.body.poll_data(context, &mut sink)).await
    }
}

impl HttpClient {
    /// Sends a request and waits for the head of its response, at most as long as
    /// [`Timeouts::headers`](super::Timeouts) says. Redirects are reported, not followed: a header with
    /// a secret must not go elsewhere.
    pub async fn exchange(
        &self,
        request: ExchangeRequest<'_>,
    ) -> Result<ExchangeResponse, ExchangeFailure> {
        let uri: Uri = request
            .url
            .parse()
            .map_err(|error| ExchangeFailure::Address(format!("{error}")))?;
        let mut body = RequestBody::default();
        body.push(request.body);
        let manner = Manner {
            keep: Keep::All,
            repeat: request.repeat,
        };
        let response = self
            .send(
                request.method.as_str(),
                &uri,
                &request.headers,
                &body,
                manner,
            )
            .await?;
        if let Some(coding) = response.compression {
            return Err(ExchangeFailure::Invalid(format!(
                "the response is compressed ({coding}), which was not asked for"
            )));
        }
        Ok(ExchangeResponse {
            status: response.status.as_u16(),
            headers: response.all,
            body: response.body,
        })
    }
}

#[cfg(test)]
mod tests;
