//! HTTP with a separate stream of events, as before 2025-03-26: one GET brings everything the server sends,
//! and its first event says where messages are posted.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use zot_conversation::BoxFuture;
use zot_provider::Repeat;

use super::address;
use super::http::reading::{Content, Events};
use super::http::{
    Endpoint, HttpSettings, MESSAGE_TIME, Outgoing, add_common, add_json, refusal, send_authorized,
};
use super::waiting::Waiting;
use super::{CallError, CallHints, Transport};
use crate::json_rpc::{self, Incoming, RequestId};
use crate::version::Era;

/// How long the server may take to say where messages are posted.
///
/// Limit: the connection fails.
const ENDPOINT_TIME: Duration = Duration::from_secs(30);

/// How many requests of a server may be unanswered at a time.
///
/// Limit: the request gets no answer.
const MAX_SSE_SERVER_REQUESTS: usize = 16;

/// A server behind the older HTTP transport.
pub struct SseTransport {
    shared: Arc<Shared>,
    closed: watch::Receiver<Option<String>>,
    /// Reads the stream. Dropping it closes the connection.
    reader: Mutex<JoinSet<()>>,
}

struct Shared {
    endpoint: Endpoint,
    /// Where messages are posted.
    messages: String,
    waiting: Waiting,
}

impl SseTransport {
    /// Opens the stream and waits for the address of messages. Must be called inside a tokio runtime.
    pub async fn connect(settings: HttpSettings<'_>) -> Result<Self, CallError> {
        let endpoint =
            Endpoint::new(settings).map_err(|error| CallError::Invalid(error.to_string()))?;
        let opening = open(&endpoint);
        let (events, messages) = timeout(ENDPOINT_TIME, opening).await.map_err(|_| {
            CallError::Disconnected(format!("no event \"endpoint\" within {ENDPOINT_TIME:?}"))
        })??;
        let shared = Arc::new(Shared {
            endpoint,
            messages,
            waiting: Waiting::default(),
        });
        let (sender, closed) = watch::channel(None);
        let mut reader = JoinSet::new();
        reader.spawn(read(Arc::clone(&shared), events, sender));
        Ok(Self {
            shared,
            closed,
            reader: Mutex::new(reader),
        })
    }

    async fn request(
        &self,
        id: &RequestId,
        method: &str,
        params: &RawValue,
    ) -> Result<Box<RawValue>, CallError> {
        let body = json_rpc::encode_call(Some(id), method, Some(params))
            .map_err(|error| CallError::Invalid(error.to_string()))?;
        let mut wait = self.shared.waiting.begin(id);
        if let Some(reason) = self.closed.borrow().clone() {
            return Err(CallError::Disconnected(reason));
        }
        let repeat = match method {
            "tools/call" => Repeat::Never,
            _ => Repeat::Safe,
        };
        self.shared.post(body, repeat).await?;
        wait.answer().await
    }

    async fn send_notification(
        &self,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(), CallError> {
        let body = json_rpc::encode_call(None, method, params)
            .map_err(|error| CallError::Invalid(error.to_string()))?;
        self.shared.post(body, Repeat::Safe).await
    }
}

/// Opens the stream; returns it, and the address in its first event.
async fn open(endpoint: &Endpoint) -> Result<(Events, String), CallError> {
    let mut headers = endpoint.headers.clone();
    add_common(&mut headers, "text/event-stream");
    let outgoing = Outgoing {
        method: Method::GET,
        headers,
        body: Bytes::new(),
        repeat: Repeat::Safe,
    };
    let response = send_authorized(endpoint, &endpoint.url, outgoing).await?;
    if response.status != 200 {
        return Err(refusal(response).await);
    }
    if Content::of(&response.headers) != Content::Events {
        return Err(CallError::Invalid("expected a stream of events".to_owned()));
    }
    let mut events = Events::new(response);
    while let Some(event) = events.next().await {
        let event = event.map_err(|error| CallError::Invalid(error.to_string()))?;
        if event.name == b"endpoint" {
            let messages = messages_address(endpoint, &String::from_utf8_lossy(&event.data))?;
            return Ok((events, messages));
        }
    }
    Err(CallError::Invalid(
        "the stream ended without an event \"endpoint\"".to_owned(),
    ))
}

/// Returns where messages are posted. It must be at the server itself: headers and tokens go there.
fn messages_address(endpoint: &Endpoint, reference: &str) -> Result<String, CallError> {
    let invalid = |error: address::InvalidAddress| CallError::Invalid(error.to_string());
    let base = address::parse(&endpoint.url).map_err(invalid)?;
    let messages = address::resolve(&base, reference.trim()).map_err(invalid)?;
    match address::origin(&messages) == address::origin(&base) {
        true => Ok(messages.to_string()),
        false => Err(CallError::Invalid(format!(
            "the server wants messages posted to another host: {messages}"
        ))),
    }
}

/// Reads the stream to its end.
async fn read(shared: Arc<Shared>, mut events: Events, closed: watch::Sender<Option<String>>) {
    let mut answers = JoinSet::new();
    let reason = loop {
        let event = match events.next().await {
            None => break "the server closed the stream".to_owned(),
            Some(Err(error)) => break error.to_string(),
            Some(Ok(event)) => event,
        };
        // What is not a message is no reason to give up the connection.
        let Ok(message) = Incoming::decode(&event.data) else {
            continue;
        };
        match message {
            Incoming::Response { id, result } => {
                shared.waiting.resolve(&id, result);
            }
            Incoming::Refusal(error) => shared.waiting.refuse_the_only_one(error),
            Incoming::Notification { method, params } => {
                let inbox = &shared.endpoint.inbox;
                inbox.notification(&method, params.as_deref());
            }
            Incoming::Request { id, method, params } => {
                while answers.try_join_next().is_some() {}
                if answers.len() < MAX_SSE_SERVER_REQUESTS {
                    let shared = Arc::clone(&shared);
                    answers.spawn(async move {
                        let inbox = &shared.endpoint.inbox;
                        let answer = inbox.request(&method, params.as_deref()).await;
                        if let Ok(body) = json_rpc::encode_response(&id, answer.as_deref()) {
                            // A server that does not take the answer no longer waits for it.
                            let _ = shared.post(body, Repeat::Safe).await;
                        }
                    });
                }
            }
        }
    };
    // In this order: a request that begins to wait after the list was cleared sees the reason.
    let _ = closed.send(Some(reason));
    shared.waiting.give_up();
}

impl Shared {
    async fn post(&self, body: Vec<u8>, repeat: Repeat) -> Result<(), CallError> {
        let mut headers = self.endpoint.headers.clone();
        add_common(&mut headers, "application/json");
        add_json(&mut headers);
        let outgoing = Outgoing {
            method: Method::POST,
            headers,
            body: body.into(),
            repeat,
        };
        let sent = async {
            let response = send_authorized(&self.endpoint, &self.messages, outgoing).await?;
            match response.status {
                200..=299 => Ok(()),
                _ => Err(refusal(response).await),
            }
        };
        timeout(MESSAGE_TIME, sent).await.unwrap_or_else(|_| {
            Err(CallError::Disconnected(format!(
                "the server did not take a message within {MESSAGE_TIME:?}"
            )))
        })
    }
}

impl Transport for SseTransport {
    fn call<'a>(
        &'a self,
        id: &'a RequestId,
        method: &'a str,
        params: &'a RawValue,
        _hints: CallHints<'a>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, CallError>> {
        Box::pin(self.request(id, method, params))
    }

    fn notify<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<(), CallError>> {
        Box::pin(self.send_notification(method, params))
    }

    /// This transport is older than the header that says it.
    fn set_version(&self, _era: Era, _version: &str) {}

    fn cancels_by_dropping(&self) -> bool {
        false
    }

    fn closed(&self) -> BoxFuture<'_, String> {
        let mut closed = self.closed.clone();
        Box::pin(async move {
            match closed.wait_for(Option::is_some).await {
                Ok(reason) => reason.clone().unwrap_or_default(),
                Err(_) => "the stream ended".to_owned(),
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            let mut reader = {
                let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(&mut *reader)
            };
            reader.shutdown().await;
            self.shared.waiting.give_up();
        })
    }
}

#[cfg(test)]
mod tests;
