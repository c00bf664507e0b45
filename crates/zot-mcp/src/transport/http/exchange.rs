//! One HTTP exchange with a server: headers, authorisation, and what its status means.

use std::time::Duration;

use bytes::Bytes;
use http::header::{LOCATION, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, Method};
use serde::Deserialize;
use tokio::time::timeout;
use zot_provider::{ExchangeFailure, ExchangeRequest, ExchangeResponse, Repeat};

use super::headers::{self, LAST_EVENT_ID, PROTOCOL_VERSION, SESSION_ID};
use super::reading::{self, MAX_ERROR_BYTES};
use super::{ACCEPT_BOTH, Endpoint, Shared};
use crate::authorization::{NextStep, Refusal};
use crate::json_rpc::{self, RpcError};
use crate::transport::{CallError, CallHints};
use crate::version::Era;

/// How often one message is sent again after its refusal: with a renewed token, then with more rights.
///
/// Limit: the call fails, and asks for a login.
const MAX_AUTHORIZATION_ATTEMPTS: usize = 3;

/// How long a server may take to accept a message that has no response.
///
/// Limit: sending the message fails.
pub(crate) const MESSAGE_TIME: Duration = Duration::from_secs(30);

/// The error code that servers use for what the protocol has no code for.
const SERVER_ERROR: i64 = -32000;

/// A request that is complete but for its token.
#[derive(Clone)]
pub(crate) struct Outgoing {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) repeat: Repeat,
}

/// Sends `outgoing` to `url`, with a token if there is a login, until it is not refused. Every status but
/// 401 is then the caller's matter, and 403 if no challenge came with it.
pub(crate) async fn send_authorized(
    endpoint: &Endpoint,
    url: &str,
    outgoing: Outgoing,
) -> Result<ExchangeResponse, CallError> {
    let mut attempts = 0;
    loop {
        let token = match &endpoint.authorization {
            Some(authorization) => authorization.token().await?,
            None => None,
        };
        let mut headers = outgoing.headers.clone();
        if let Some(token) = &token {
            headers::add_token(&mut headers, token);
        }
        let request = ExchangeRequest {
            method: outgoing.method.clone(),
            url,
            headers,
            body: outgoing.body.clone(),
            repeat: outgoing.repeat,
        };
        let response = endpoint.http.exchange(request).await?;
        let challenge = challenge(&response.headers);
        let status = response.status;
        match (status, &challenge) {
            (401, _) | (403, Some(_)) => {}
            _ => return Ok(response),
        }
        attempts += 1;
        let next = match &endpoint.authorization {
            Some(authorization) if attempts <= MAX_AUTHORIZATION_ATTEMPTS => {
                let refusal = Refusal {
                    status,
                    challenge: challenge.as_deref(),
                    token: token.as_ref(),
                };
                authorization.refused(refusal).await?
            }
            _ => NextStep::LogIn,
        };
        if next == NextStep::LogIn {
            return Err(CallError::Unauthorized { challenge, status });
        }
    }
}

/// Returns the challenge for a token. Servers may offer other schemes beside it, in fields of their own.
pub(crate) fn challenge(headers: &HeaderMap) -> Option<String> {
    let texts = || {
        let fields = headers.get_all(WWW_AUTHENTICATE).iter();
        fields.filter_map(|value| value.to_str().ok())
    };
    let is_bearer = |text: &&str| {
        let scheme = text.split(' ').next().unwrap_or_default();
        scheme.eq_ignore_ascii_case("bearer")
    };
    let found = texts().find(is_bearer).or_else(|| texts().next());
    found.map(str::to_owned)
}

impl Shared {
    /// Returns the headers of a message.
    pub(super) fn message_headers(&self, method: &str, hints: &CallHints<'_>) -> HeaderMap {
        let state = self.state().clone();
        let mut headers = self.endpoint.headers.clone();
        headers::add_common(&mut headers, ACCEPT_BOTH);
        headers::add_json(&mut headers);
        if let Some(version) = state.version {
            headers.insert(PROTOCOL_VERSION, version);
        }
        match state.era {
            Some(Era::Modern) => {
                headers::add_modern(&mut headers, method, hints.name, &hints.parameters);
            }
            Some(Era::Legacy) | None => {
                if let Some(session) = state.session {
                    headers.insert(SESSION_ID, session);
                }
            }
        }
        headers
    }

    /// Returns the headers of a request without a body: for a stream of events, or the end of a session.
    fn plain_headers(&self, last_event: Option<&[u8]>) -> HeaderMap {
        let state = self.state().clone();
        let mut headers = self.endpoint.headers.clone();
        headers::add_common(&mut headers, "text/event-stream");
        if let Some(version) = state.version {
            headers.insert(PROTOCOL_VERSION, version);
        }
        if let Some(session) = state.session {
            headers.insert(SESSION_ID, session);
        }
        let id = last_event.and_then(|id| HeaderValue::from_bytes(id).ok());
        if let Some(id) = id {
            headers.insert(LAST_EVENT_ID, id);
        }
        headers
    }

    pub(super) async fn send(&self, outgoing: Outgoing) -> Result<ExchangeResponse, CallError> {
        send_authorized(&self.endpoint, &self.endpoint.url, outgoing).await
    }

    /// Opens a stream of events, after `last_event` if it continues another one.
    pub(super) async fn open_stream(
        &self,
        last_event: Option<&[u8]>,
    ) -> Result<ExchangeResponse, CallError> {
        let outgoing = Outgoing {
            method: Method::GET,
            headers: self.plain_headers(last_event),
            body: Bytes::new(),
            repeat: Repeat::Safe,
        };
        self.send(outgoing).await
    }

    /// Posts a message that has no response.
    pub(super) async fn post_message(
        &self,
        body: Vec<u8>,
        headers: HeaderMap,
    ) -> Result<(), CallError> {
        let outgoing = Outgoing {
            method: Method::POST,
            headers,
            body: body.into(),
            repeat: Repeat::Safe,
        };
        let sent = async {
            let response = self.send(outgoing).await?;
            match response.status {
                200..=299 => Ok(()),
                _ => Err(self.refusal(response).await),
            }
        };
        timeout(MESSAGE_TIME, sent).await.unwrap_or_else(|_| {
            Err(CallError::Disconnected(format!(
                "the server did not take a message within {MESSAGE_TIME:?}"
            )))
        })
    }

    pub(super) async fn delete_session(&self) -> Result<(), CallError> {
        let outgoing = Outgoing {
            method: Method::DELETE,
            headers: self.plain_headers(None),
            body: Bytes::new(),
            repeat: Repeat::Safe,
        };
        self.send(outgoing).await.map(drop)
    }

    /// Returns what a status without a result means.
    pub(super) async fn refusal(&self, response: ExchangeResponse) -> CallError {
        let has_session = self.state().session.is_some();
        let status = response.status;
        if status == 404 && has_session && !self.is_modern() {
            return CallError::SessionLost;
        }
        match refusal(response).await {
            // Only where the status says that the request was refused as a whole: a tool may fail with
            // the same words, and what has run must not be sent again.
            CallError::Refused(error)
                if (400..=499).contains(&status) && self.has_lost_session(&error) =>
            {
                CallError::SessionLost
            }
            refusal => refusal,
        }
    }

    /// Returns whether an error means that the server does not know the session. The protocol has a status
    /// for that (404), but servers in the field send this error instead after a restart.
    fn has_lost_session(&self, error: &RpcError) -> bool {
        let message = error.message.to_ascii_lowercase();
        self.state().session.is_some()
            && error.code == SERVER_ERROR
            && message.contains("session")
            && ["no valid", "not found", "invalid", "expired", "unknown"]
                .iter()
                .any(|word| message.contains(word))
    }
}

/// Returns what a status without a result means, for a server without sessions.
pub(crate) async fn refusal(response: ExchangeResponse) -> CallError {
    let status = response.status;
    if let 300..=399 = status {
        let target = response.headers.get(LOCATION);
        let target = target.and_then(|target| target.to_str().ok());
        return CallError::Status {
            status,
            body: format!(
                "the server redirects to {}: use that address if you trust it",
                target.unwrap_or("an unknown address")
            ),
        };
    }
    let body = match reading::read_at_most(response, MAX_ERROR_BYTES).await {
        Ok(body) => body,
        Err(error) => return error,
    };
    #[derive(Deserialize)]
    struct ErrorBody {
        error: RpcError,
    }
    match serde_json::from_slice(&body) {
        Ok(ErrorBody { error }) => CallError::Refused(error),
        Err(_) => CallError::Status {
            status,
            body: json_rpc::cut_message(String::from_utf8_lossy(&body).into_owned()),
        },
    }
}

impl From<ExchangeFailure> for CallError {
    fn from(failure: ExchangeFailure) -> Self {
        match failure {
            ExchangeFailure::Invalid(_) | ExchangeFailure::Address(_) => {
                Self::Invalid(failure.to_string())
            }
            ExchangeFailure::Connection(_) | ExchangeFailure::Timeout { .. } => {
                Self::Disconnected(failure.to_string())
            }
        }
    }
}
