//! What a connection receives beside responses, and whom it concerns.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot};
use zot_conversation::{Answer, BoxFuture, Question};

use super::elicitation::{answer_json, parse_question};
use super::params::to_json;
use crate::json_rpc::{INVALID_PARAMS, METHOD_NOT_FOUND, RequestId, RpcError};
use crate::log::ServerLog;
use crate::transport::Inbox;
use crate::version::Era;

/// Questions of a server that wait for one call to ask them.
///
/// Limit: a further question is declined.
const MAX_MCP_WAITING_QUESTIONS: usize = 4;

/// Limit: the text of a progress report is cut.
const MAX_MCP_PROGRESS_BYTES: usize = 1024;

/// Requests whose end the server has not been told about yet.
///
/// Limit: the server is not told about further ones.
const MAX_ABANDONED_REQUESTS: usize = 256;

/// Receives notifications and requests of one server.
pub(crate) struct Exchange {
    /// The name of the server's entry.
    server: String,
    log: Arc<ServerLog>,
    /// The directory we work in, as an address, for servers on this machine.
    root: Option<String>,
    era: OnceLock<Era>,
    next_id: AtomicI64,
    /// By progress token, so that the newest is last.
    calls: Mutex<BTreeMap<i64, Arc<RunningCall>>>,
    news: Mutex<News>,
    /// Notified with every change of `news`.
    pub(crate) woken: Notify,
}

/// What has happened since it was last taken.
#[derive(Debug, Default)]
pub(crate) struct News {
    pub(crate) changed: ChangedLists,
    pub(crate) abandoned: Vec<Abandoned>,
    /// The server has ended the subscription with this id.
    pub(crate) ended_subscription: Option<RequestId>,
    /// The connection cannot be used any more.
    pub(crate) broken: Option<String>,
}

/// Lists that are not what they were.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChangedLists {
    pub(crate) tools: bool,
    pub(crate) prompts: bool,
    pub(crate) resources: bool,
}

impl ChangedLists {
    pub(crate) fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl std::ops::BitOr for ChangedLists {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self {
            tools: self.tools || other.tools,
            prompts: self.prompts || other.prompts,
            resources: self.resources || other.resources,
        }
    }
}

/// Work of the server that has no caller any more.
#[derive(Debug)]
pub(crate) enum Abandoned {
    Request(RequestId),
    Task(String),
}

/// A call that can report progress and ask questions.
#[derive(Default)]
pub(crate) struct RunningCall {
    events: Mutex<CallEvents>,
    pub(crate) woken: Notify,
}

/// What has come for a call since it last looked.
#[derive(Default)]
pub(crate) struct CallEvents {
    /// The newest report; older ones are not worth waiting for.
    pub(crate) progress: Option<String>,
    pub(crate) questions: VecDeque<(Question, oneshot::Sender<Answer>)>,
}

impl RunningCall {
    pub(crate) fn take_progress(&self) -> Option<String> {
        self.lock().progress.take()
    }

    pub(crate) fn take_question(&self) -> Option<(Question, oneshot::Sender<Answer>)> {
        self.lock().questions.pop_front()
    }

    fn lock(&self) -> MutexGuard<'_, CallEvents> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The presence of a call in its exchange.
pub(crate) struct Registration<'a> {
    exchange: &'a Exchange,
    pub(crate) id: RequestId,
    token: i64,
    pub(crate) call: Arc<RunningCall>,
    /// Whether the server has to be told when it is dropped.
    pub(crate) tell: bool,
}

impl Registration<'_> {
    pub(crate) fn token(&self) -> i64 {
        self.token
    }
}

impl Drop for Registration<'_> {
    fn drop(&mut self) {
        lock(&self.exchange.calls).remove(&self.token);
        if self.tell {
            self.exchange.abandon(Abandoned::Request(self.id.clone()));
        }
    }
}

impl Exchange {
    pub(crate) fn new(server: &str, log: Arc<ServerLog>, root: Option<String>) -> Arc<Self> {
        Arc::new(Self {
            server: server.to_owned(),
            log,
            root,
            era: OnceLock::new(),
            next_id: AtomicI64::new(1),
            calls: Mutex::default(),
            news: Mutex::default(),
            woken: Notify::new(),
        })
    }

    pub(crate) fn set_era(&self, era: Era) {
        // Decided once per connection.
        let _ = self.era.set(era);
    }

    pub(crate) fn next_id(&self) -> RequestId {
        RequestId::Number(self.next_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Gives a call an id, under which it hears of progress and questions.
    pub(crate) fn register(&self) -> Registration<'_> {
        let token = self.next_id.fetch_add(1, Ordering::Relaxed);
        let call = Arc::new(RunningCall::default());
        lock(&self.calls).insert(token, Arc::clone(&call));
        Registration {
            exchange: self,
            id: RequestId::Number(token),
            token,
            call,
            tell: false,
        }
    }

    pub(crate) fn abandon(&self, what: Abandoned) {
        self.tell(|news| {
            if news.abandoned.len() < MAX_ABANDONED_REQUESTS {
                news.abandoned.push(what);
            }
        });
    }

    /// Marks the connection as unusable.
    pub(crate) fn break_off(&self, reason: &str) {
        self.tell(|news| news.broken = Some(reason.to_owned()));
    }

    /// Asks for lists to be fetched again.
    pub(crate) fn mark_changed(&self, lists: ChangedLists) {
        self.tell(|news| news.changed = news.changed | lists);
    }

    /// Returns the lists that have changed, without waiting.
    pub(crate) fn take_changed(&self) -> ChangedLists {
        self.take_now(|news| std::mem::take(&mut news.changed))
    }

    /// Returns what `take` takes out of the news.
    pub(crate) fn take_now<T>(&self, take: impl FnOnce(&mut News) -> T) -> T {
        take(&mut lock(&self.news))
    }

    fn tell(&self, change: impl FnOnce(&mut News)) {
        change(&mut lock(&self.news));
        self.woken.notify_waiters();
    }

    /// Returns what `take` takes out of the news, waiting until there is something.
    pub(crate) async fn next<T>(&self, mut take: impl FnMut(&mut News) -> Option<T>) -> T {
        loop {
            let woken = self.woken.notified();
            tokio::pin!(woken);
            // Before looking: a change in between must not be missed.
            woken.as_mut().enable();
            if let Some(taken) = take(&mut lock(&self.news)) {
                return taken;
            }
            woken.await;
        }
    }

    async fn elicit(&self, params: Option<&RawValue>) -> Result<Box<RawValue>, RpcError> {
        let question = params
            .ok_or_else(|| "params are missing".to_owned())
            .and_then(|params| parse_question(&self.server, params))
            .map_err(|message| rpc_error(INVALID_PARAMS, &message))?;
        let (sender, receiver) = oneshot::channel();
        // A server does not say which call it asks for; the newest is the likeliest.
        let newest = lock(&self.calls).values().next_back().cloned();
        let answer = match newest {
            None => Answer::Decline,
            Some(call) => {
                let is_accepted = {
                    let mut events = call.lock();
                    let has_room = events.questions.len() < MAX_MCP_WAITING_QUESTIONS;
                    if has_room {
                        events.questions.push_back((question, sender));
                    }
                    has_room
                };
                call.woken.notify_one();
                // It holds the other end of the channel: once it has ended, nobody may keep it alive, or a
                // question that it never took would wait for ever.
                drop(call);
                match is_accepted {
                    true => receiver.await.unwrap_or(Answer::Cancel),
                    false => Answer::Decline,
                }
            }
        };
        raw(answer_json(&answer))
    }

    /// Returns the answer to a question about our roots, which both eras write the same way.
    pub(crate) fn roots(&self) -> String {
        let roots = self
            .root
            .as_ref()
            .map(|uri| format!(r#"{{"uri":{},"name":"working directory"}}"#, to_json(uri)));
        format!(r#"{{"roots":[{}]}}"#, roots.unwrap_or_default())
    }

    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    fn note_progress(&self, params: &RawValue) {
        let Ok(progress) = serde_json::from_str::<ProgressParams<'_>>(params.get()) else {
            return self.log.remark("a progress notification is not readable");
        };
        // Our tokens are numbers; a server that makes texts of them still means them.
        let token = match &progress.token {
            RequestId::Number(token) => Some(*token),
            RequestId::Text(token) => token.parse().ok(),
        };
        let call = token.and_then(|token| lock(&self.calls).get(&token).cloned());
        let Some(call) = call else {
            return self.log.remark("progress of a call that nobody waits for");
        };
        call.lock().progress = Some(progress.text());
        call.woken.notify_one();
    }

    fn note_message(&self, params: &RawValue) {
        match serde_json::from_str::<MessageParams<'_>>(params.get()) {
            Ok(message) => self.log.remark(&format!(
                "{} {}: {}",
                message.level,
                message.logger.unwrap_or_default(),
                message.data.map_or("", RawValue::get)
            )),
            Err(_) => self.log.remark(params.get()),
        }
    }
}

impl Inbox for Exchange {
    fn notification(&self, method: &str, params: Option<&RawValue>) {
        match (method, params) {
            ("notifications/progress", Some(params)) => self.note_progress(params),
            ("notifications/message", Some(params)) => self.note_message(params),
            ("notifications/tools/list_changed", _) => self.mark_changed(ChangedLists {
                tools: true,
                ..ChangedLists::default()
            }),
            ("notifications/prompts/list_changed", _) => self.mark_changed(ChangedLists {
                prompts: true,
                ..ChangedLists::default()
            }),
            ("notifications/resources/list_changed", _) => self.mark_changed(ChangedLists {
                resources: true,
                ..ChangedLists::default()
            }),
            ("notifications/cancelled", Some(params)) => {
                if let Ok(cancelled) = serde_json::from_str::<CancelledParams>(params.get()) {
                    self.tell(|news| news.ended_subscription = Some(cancelled.request_id));
                }
            }
            // Tasks are polled, resources are read when they are wanted, and that a page in the browser was completed
            // the server finds out itself.
            (
                "notifications/subscriptions/acknowledged"
                | "notifications/tasks"
                | "notifications/tasks/status"
                | "notifications/resources/updated"
                | "notifications/elicitation/complete",
                _,
            ) => {}
            _ => self
                .log
                .remark(&format!("a notification we do not know: {method}")),
        }
    }

    fn request<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, RpcError>> {
        Box::pin(async move {
            if self.era.get() == Some(&Era::Modern) {
                let message = format!("{method}: this revision has no requests of servers");
                self.log.remark(&message);
                return Err(rpc_error(METHOD_NOT_FOUND, &message));
            }
            match method {
                "ping" => raw("{}".to_owned()),
                "roots/list" => raw(self.roots()),
                "elicitation/create" => self.elicit(params).await,
                _ => Err(rpc_error(
                    METHOD_NOT_FOUND,
                    &format!("{method} is not supported"),
                )),
            }
        })
    }
}

#[derive(Deserialize)]
struct ProgressParams<'a> {
    #[serde(rename = "progressToken")]
    token: RequestId,
    progress: Option<f64>,
    total: Option<f64>,
    #[serde(borrow)]
    message: Option<std::borrow::Cow<'a, str>>,
}

impl ProgressParams<'_> {
    fn text(&self) -> String {
        let amount = match (self.progress, self.total) {
            (Some(progress), Some(total)) => format!("{progress}/{total}"),
            (Some(progress), None) => progress.to_string(),
            (None, _) => String::new(),
        };
        let message = self.message.as_deref().unwrap_or_default();
        let message = &message[..message.floor_char_boundary(MAX_MCP_PROGRESS_BYTES)];
        match (amount.is_empty(), message.is_empty()) {
            (_, true) => amount,
            (true, false) => message.to_owned(),
            (false, false) => format!("{amount} {message}"),
        }
    }
}

#[derive(Deserialize)]
struct MessageParams<'a> {
    #[serde(default)]
    level: String,
    logger: Option<String>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct CancelledParams {
    #[serde(rename = "requestId")]
    request_id: RequestId,
}

fn rpc_error(code: i64, message: &str) -> RpcError {
    RpcError {
        code,
        message: message.to_owned(),
        data: None,
    }
}

fn raw(json: String) -> Result<Box<RawValue>, RpcError> {
    RawValue::from_string(json)
        .map_err(|error| rpc_error(crate::json_rpc::INTERNAL_ERROR, &error.to_string()))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
