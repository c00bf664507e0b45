//! Streamable HTTP, in both eras: every message is a POST of its own, answered with JSON or with a stream
//! of events.
//!
//! The legacy era adds a session, a stream for what the server sends unasked (`listening`), and
//! resumption of streams that break. In the modern era a broken stream is a lost request, and closing one
//! is how a request is cancelled.

mod answering;
mod exchange;
mod headers;
mod listening;
mod parameters;
pub(super) mod reading;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;
use zot_conversation::BoxFuture;
use zot_provider::{HttpClient, Repeat};

use super::address::{self, InvalidAddress};
use super::waiting::Waiting;
use super::{CallError, CallHints, Inbox, Transport};
use crate::authorization::Authorization;
use crate::json_rpc::{self, RequestId};
use crate::version::Era;
use answering::Answering;
pub(crate) use exchange::{MESSAGE_TIME, Outgoing, challenge, refusal, send_authorized};
pub use headers::InvalidHeader;
pub(crate) use headers::{add_common, add_json, own_headers};
pub use parameters::{HeaderParameters, InvalidAnnotation};

/// What the protocol wants clients to accept.
const ACCEPT_BOTH: &str = "application/json, text/event-stream";

/// How long the server may take to end a session that is no longer needed.
///
/// Limit: the session is left to the server.
const MCP_SESSION_END_TIME: Duration = Duration::from_secs(2);

/// How long a handshake waits for the server to open its listening stream.
///
/// Limit: the handshake goes on without it; it is opened in the background.
const LISTENING_TIME: Duration = Duration::from_millis(250);

/// The longest id of a session.
///
/// Limit: the server's response to `initialize` is refused.
const MAX_MCP_SESSION_ID_BYTES: usize = 4096;

/// Where a server is reached over HTTP, and how.
pub struct HttpSettings<'a> {
    pub http: HttpClient,
    pub url: &'a str,
    /// The headers of the entry. With `Authorization` among them, logins are not used.
    pub headers: &'a BTreeMap<String, String>,
    pub authorization: Option<Arc<dyn Authorization>>,
    pub inbox: Arc<dyn Inbox>,
}

/// An entry that no request can be made from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpSettingsError {
    #[error(transparent)]
    Address(#[from] InvalidAddress),
    #[error(transparent)]
    Header(#[from] InvalidHeader),
}

/// What all requests to one server share.
pub(crate) struct Endpoint {
    pub(crate) http: HttpClient,
    pub(crate) url: String,
    pub(crate) headers: HeaderMap,
    pub(crate) authorization: Option<Arc<dyn Authorization>>,
    pub(crate) inbox: Arc<dyn Inbox>,
}

impl Endpoint {
    pub(crate) fn new(settings: HttpSettings<'_>) -> Result<Self, HttpSettingsError> {
        let uri = address::parse(settings.url)?;
        let headers = own_headers(settings.headers)?;
        let authorization = settings
            .authorization
            .filter(|_| !headers.contains_key(AUTHORIZATION));
        Ok(Self {
            http: settings.http,
            url: uri.to_string(),
            headers,
            authorization,
            inbox: settings.inbox,
        })
    }
}

/// A server behind streamable HTTP.
pub struct HttpTransport {
    shared: Arc<Shared>,
    answering: Answering,
    /// The stream of what the server sends unasked, in the legacy era.
    listening: Mutex<JoinSet<()>>,
    /// Streams that have brought their response, and only have to end.
    ending: Mutex<JoinSet<()>>,
}

/// What the requests and the listening stream share.
struct Shared {
    endpoint: Endpoint,
    state: Mutex<State>,
    waiting: Waiting,
}

#[derive(Debug, Clone, Default)]
struct State {
    era: Option<Era>,
    version: Option<HeaderValue>,
    session: Option<HeaderValue>,
}

impl Shared {
    /// A poisoned lock still holds whole values.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_modern(&self) -> bool {
        self.state().era == Some(Era::Modern)
    }
}

impl HttpTransport {
    pub fn new(settings: HttpSettings<'_>) -> Result<Self, HttpSettingsError> {
        Ok(Self {
            shared: Arc::new(Shared {
                endpoint: Endpoint::new(settings)?,
                state: Mutex::default(),
                waiting: Waiting::default(),
            }),
            answering: Answering::default(),
            listening: Mutex::default(),
            ending: Mutex::default(),
        })
    }

    async fn request(
        &self,
        id: &RequestId,
        method: &str,
        params: &RawValue,
        hints: CallHints<'_>,
    ) -> Result<Box<RawValue>, CallError> {
        let invalid = |error: serde_json::Error| CallError::Invalid(error.to_string());
        let body = json_rpc::encode_call(Some(id), method, Some(params)).map_err(invalid)?;
        if method == "initialize" {
            // A handshake begins a new session and says which revision follows it.
            *self.shared.state() = State::default();
        }
        let outgoing = Outgoing {
            method: Method::POST,
            headers: self.shared.message_headers(method, &hints),
            body: body.into(),
            // Other requests change nothing.
            repeat: match method {
                "tools/call" => Repeat::Never,
                _ => Repeat::Safe,
            },
        };
        // Servers in the field send responses on other streams too.
        let mut elsewhere = self.shared.waiting.begin(id);
        let own = async {
            let response = self.shared.send(outgoing).await?;
            if method == "initialize" {
                self.keep_session(&response.headers)?;
            }
            if response.status == 202 && !self.shared.is_modern() {
                // The response is promised for another stream; the caller limits the wait.
                std::future::pending::<()>().await;
            }
            self.response_to(id, response).await
        };
        tokio::select! {
            biased;
            result = own => result,
            result = elsewhere.answer() => result,
        }
    }

    fn keep_session(&self, headers: &HeaderMap) -> Result<(), CallError> {
        let session = headers.get(headers::SESSION_ID);
        if session.is_some_and(|id| id.len() > MAX_MCP_SESSION_ID_BYTES) {
            return Err(CallError::Invalid(format!(
                "the id of the session has more than {MAX_MCP_SESSION_ID_BYTES} bytes (MAX_MCP_SESSION_ID_BYTES)"
            )));
        }
        self.shared.state().session = session.cloned();
        Ok(())
    }

    async fn send_notification(
        &self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(), CallError> {
        let body = json_rpc::encode_call(None, method, params)
            .map_err(|error| CallError::Invalid(error.to_string()))?;
        self.shared
            .post_message(
                body,
                self.shared.message_headers(method, &CallHints::default()),
            )
            .await?;
        if method == "notifications/initialized" && !self.shared.is_modern() {
            let opened = self.listen();
            // What the first requests bring about should find the stream open.
            let _ = timeout(LISTENING_TIME, opened).await;
        }
        Ok(())
    }

    /// Opens the stream for what the server sends unasked, instead of an earlier one.
    /// Returns what resolves when the server has answered.
    fn listen(&self) -> oneshot::Receiver<()> {
        let (sender, opened) = oneshot::channel();
        let mut tasks = self
            .listening
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        tasks.abort_all();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(listening::listen(Arc::clone(&self.shared), sender));
        opened
    }

    async fn end(&self) {
        for tasks in [&self.listening, &self.ending] {
            let mut tasks = {
                let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(&mut *tasks)
            };
            tasks.shutdown().await;
        }
        self.answering.shut_down().await;
        if self.shared.state().session.is_some() {
            // A server without an end of sessions answers 405; one that has gone need not be told.
            let _ = timeout(MCP_SESSION_END_TIME, self.shared.delete_session()).await;
        }
    }
}

impl Transport for HttpTransport {
    fn call<'a>(
        &'a self,
        id: &'a RequestId,
        method: &'a str,
        params: &'a RawValue,
        hints: CallHints<'a>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, CallError>> {
        Box::pin(self.request(id, method, params, hints))
    }

    fn notify<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<(), CallError>> {
        Box::pin(self.send_notification(method, params))
    }

    fn set_version(&self, era: Era, version: &str) {
        let mut state = self.shared.state();
        state.era = Some(era);
        state.version = HeaderValue::from_str(version).ok();
    }

    fn cancels_by_dropping(&self) -> bool {
        self.shared.is_modern()
    }

    fn closed(&self) -> BoxFuture<'_, String> {
        Box::pin(std::future::pending())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.end())
    }
}

#[cfg(test)]
mod tests;
