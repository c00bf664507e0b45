//! A conversation with one server, in either era of the protocol.

mod begin;
mod elicitation;
mod exchange;
mod params;
mod rounds;
mod tasks;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use zot_conversation::{Answer, BoxFuture, Progress, Questions};

use crate::error::McpError;
use crate::json_rpc::RequestId;
use crate::transport::{CallError, CallHints, Transport};
use crate::version::Era;

pub(crate) use begin::{BeginError, Opening};
pub(crate) use exchange::{Abandoned, ChangedLists, Exchange};
pub(crate) use params::{Client, Params};
pub(crate) use tasks::LegacyTask;

/// How long a request that does no work may take: lists, prompts, polls.
///
/// Limit: the request fails.
pub(crate) const MCP_REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a call may take without progress, unless its entry says otherwise.
///
/// Limit: the call fails, and the server is told.
pub(crate) const MCP_CALL_TIMEOUT: Duration = Duration::from_secs(120);

/// How long a call may take in all, whatever its progress; not counting questions to the user.
///
/// Limit: the call fails, and the server is told.
pub(crate) const MAX_MCP_CALL_TIME: Duration = Duration::from_secs(60 * 60);

/// A connection that has been begun.
pub(crate) struct Connection {
    transport: Arc<dyn Transport>,
    pub(crate) exchange: Arc<Exchange>,
    era: Era,
    pub(crate) version: String,
    /// The fields of `_meta` in every request, each followed by a comma.
    meta: String,
    pub(crate) capabilities: Capabilities,
    pub(crate) instructions: Option<String>,
    pub(crate) product: Option<String>,
}

/// What a server can do, as far as we use it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Capabilities {
    tools: Option<ListCapability>,
    prompts: Option<ListCapability>,
    resources: Option<ListCapability>,
    logging: Option<Anything>,
    tasks: Option<Anything>,
    #[serde(default)]
    extensions: BTreeMap<String, Anything>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
struct ListCapability {
    #[serde(rename = "listChanged", default)]
    list_changed: bool,
}

/// A value that only has to be there.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct Anything {}

impl Capabilities {
    pub(crate) fn has_tools(&self) -> bool {
        self.tools.is_some()
    }

    pub(crate) fn has_prompts(&self) -> bool {
        self.prompts.is_some()
    }

    pub(crate) fn has_resources(&self) -> bool {
        self.resources.is_some()
    }

    /// Whether calls can be made tasks of the legacy era.
    fn has_legacy_tasks(&self) -> bool {
        self.tasks.is_some()
    }

    /// Returns the lists whose changes it announces.
    pub(crate) fn announced(&self) -> ChangedLists {
        let announces = |list: &Option<ListCapability>| {
            list.as_ref()
                .is_some_and(|capability| capability.list_changed)
        };
        ChangedLists {
            tools: announces(&self.tools),
            prompts: announces(&self.prompts),
            resources: announces(&self.resources),
        }
    }
}

/// What a call needs from its caller.
pub(crate) struct Caller<'a> {
    pub(crate) progress: &'a dyn Progress,
    pub(crate) questions: &'a dyn Questions,
    pub(crate) cancel: &'a CancellationToken,
    /// How long it may take without progress.
    pub(crate) patience: Duration,
}

/// Forgets progress, for requests that nobody watches.
pub(crate) struct Unwatched;

impl Progress for Unwatched {
    fn report(&self, _text: String) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// Why a request failed. The caller adds the name of the server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Call(#[from] CallError),
    #[error("no answer within {0:?}")]
    TimedOut(Duration),
    #[error("it asked for input {0} times")]
    TooManyRounds(usize),
    #[error("aborted")]
    Cancelled,
}

impl Failure {
    pub(crate) fn of(self, server: &str) -> McpError {
        let server = server.to_owned();
        match self {
            Self::Call(CallError::Unauthorized { .. }) => McpError::NeedsLogin { server },
            Self::Call(source) => McpError::Call { server, source },
            Self::TimedOut(limit) => McpError::TimedOut { server, limit },
            Self::TooManyRounds(rounds) => McpError::TooManyRounds { server, rounds },
            Self::Cancelled => McpError::Cancelled,
        }
    }
}

impl Connection {
    pub(crate) fn era(&self) -> Era {
        self.era
    }

    /// Makes a request that does no work.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: Params,
    ) -> Result<Box<RawValue>, Failure> {
        let id = self.exchange.next_id();
        let params = finish(params, &self.meta)?;
        let call = self
            .transport
            .call(&id, method, &params, CallHints::default());
        match timeout(MCP_REQUEST_TIMEOUT, call).await {
            Ok(result) => Ok(result?),
            Err(_) => {
                self.give_up(id);
                Err(Failure::TimedOut(MCP_REQUEST_TIMEOUT))
            }
        }
    }

    /// Makes a request, reports its progress, and asks its questions.
    async fn watched(
        &self,
        method: &str,
        params: Params,
        hints: CallHints<'_>,
        caller: &Caller<'_>,
        time: &mut CallTime,
    ) -> Result<Box<RawValue>, Failure> {
        let mut registration = self.exchange.register();
        let token = registration.token();
        let meta = format!(r#"{}"progressToken":{token},"#, self.meta);
        let params = finish(params, &meta)?;
        registration.tell = !self.transport.cancels_by_dropping();
        let id = registration.id.clone();
        let running = Arc::clone(&registration.call);
        let mut call = self.transport.call(&id, method, &params, hints);
        let mut asking: Option<Asking<'_>> = None;
        loop {
            tokio::select! {
                biased;
                () = caller.cancel.cancelled() => return Err(Failure::Cancelled),
                result = &mut call => {
                    registration.tell = false;
                    return Ok(result?);
                }
                answer = answered(&mut asking) => {
                    if let Some(asked) = asking.take() {
                        let _ = asked.responder.send(answer);
                        time.end_pause(asked.since);
                    }
                    running.woken.notify_one();
                }
                () = running.woken.notified() => {
                    // Progress that comes without pause would keep the last arm from being looked at.
                    if asking.is_none() && time.is_over() {
                        return Err(Failure::TimedOut(time.limit()));
                    }
                    if let Some(text) = running.take_progress() {
                        time.extend();
                        // Waits while the reader is behind, so it must not keep an abort waiting.
                        tokio::select! {
                            // Progress is a stream of text, like the output of a command.
                            () = caller.progress.report(format!("{text}\n")) => {}
                            () = caller.cancel.cancelled() => {}
                        }
                    }
                    if asking.is_none()
                        && let Some((question, responder)) = running.take_question()
                    {
                        asking = Some(Asking {
                            answer: caller.questions.ask(question),
                            responder,
                            since: Instant::now(),
                        });
                    }
                }
                () = sleep_until(time.deadline()), if asking.is_none() => {
                    return Err(Failure::TimedOut(time.limit()));
                }
            }
        }
    }

    /// Tells the server, later, that nobody waits for a request any more.
    fn give_up(&self, id: RequestId) {
        if !self.transport.cancels_by_dropping() {
            self.exchange.abandon(Abandoned::Request(id));
        }
    }

    /// Tells the server about everything that nobody waits for any more. Never returns.
    pub(crate) async fn forward_cancellations(&self) -> std::convert::Infallible {
        loop {
            let next = self.exchange.next(|news| news.abandoned.pop()).await;
            match next {
                Abandoned::Request(id) => {
                    let params = Params::new().with("requestId", &id);
                    if let Ok(params) = params.finish("") {
                        // It is only a courtesy.
                        let notified = self
                            .transport
                            .notify("notifications/cancelled", Some(&params));
                        let _ = timeout(MCP_REQUEST_TIMEOUT, notified).await;
                    }
                }
                Abandoned::Task(task) => {
                    let params = Params::new().with("taskId", &task);
                    let _ = self.request("tasks/cancel", params).await;
                }
            }
        }
    }

    /// Opens the stream of changes, and returns when it has ended.
    pub(crate) async fn listen(&self, lists: ChangedLists) -> Result<(), CallError> {
        let mut filter = Params::new();
        for (is_wanted, name) in [
            (lists.tools, "toolsListChanged"),
            (lists.prompts, "promptsListChanged"),
            (lists.resources, "resourcesListChanged"),
        ] {
            if is_wanted {
                filter = filter.with(name, true);
            }
        }
        let filter = filter.finish("").map_err(not_json)?;
        let params = Params::new().with("notifications", &filter);
        let params = params.finish(&self.meta).map_err(not_json)?;
        let id = self.exchange.next_id();
        let stream =
            self.transport
                .call(&id, "subscriptions/listen", &params, CallHints::default());
        tokio::select! {
            ended = stream => ended.map(drop),
            () = self.exchange.next(|news| {
                news.ended_subscription.take_if(|ended| *ended == id).map(drop)
            }) => Ok(()),
        }
    }

    pub(crate) async fn closed(&self) -> String {
        let broken = self.exchange.next(|news| news.broken.take());
        tokio::select! {
            reason = self.transport.closed() => reason,
            reason = broken => reason,
        }
    }

    pub(crate) async fn close(&self) {
        self.transport.close().await;
    }
}

/// A question that a person is thinking about.
struct Asking<'a> {
    answer: BoxFuture<'a, Answer>,
    responder: tokio::sync::oneshot::Sender<Answer>,
    since: Instant,
}

async fn answered(asking: &mut Option<Asking<'_>>) -> Answer {
    match asking {
        Some(asking) => (&mut asking.answer).await,
        None => std::future::pending().await,
    }
}

/// How long a call may still take.
pub(crate) struct CallTime {
    patience: Duration,
    idle_until: Instant,
    latest: Instant,
}

impl CallTime {
    pub(crate) fn new(patience: Duration) -> Self {
        let now = Instant::now();
        Self {
            patience,
            idle_until: now + patience,
            latest: now + patience.max(MAX_MCP_CALL_TIME),
        }
    }

    /// Something has happened, so that it may take longer.
    pub(crate) fn extend(&mut self) {
        self.idle_until = Instant::now() + self.patience;
    }

    /// The time since `since` was the user's.
    pub(crate) fn end_pause(&mut self, since: Instant) {
        self.latest += since.elapsed();
        self.extend();
    }

    pub(crate) fn deadline(&self) -> Instant {
        self.idle_until.min(self.latest)
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.latest
    }

    fn limit(&self) -> Duration {
        match self.idle_until <= self.latest {
            true => self.patience,
            false => self.patience.max(MAX_MCP_CALL_TIME),
        }
    }
}

fn finish(params: Params, meta: &str) -> Result<Box<RawValue>, CallError> {
    params.finish(meta).map_err(not_json)
}

fn not_json(error: serde_json::Error) -> CallError {
    CallError::Invalid(error.to_string())
}
