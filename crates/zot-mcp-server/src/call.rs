//! A running tool call: its work, and what passes between it and its client.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use zot_mcp::version::Era;
use zot_sdk::BoxFuture;

use crate::connection::Connection;
use crate::elicitation::{Answer, Question};
use crate::frame::{Frame, notification_frame};
use crate::request::ClientAbilities;
use crate::result::CallResult;

/// How many lines of progress wait for the client.
///
/// Limit: the work waits until the client has read.
const PROGRESS_QUEUE_LENGTH: usize = 32;

/// How many questions of one call wait for the client's user.
///
/// Limit: the next question counts as declined.
const MAX_OPEN_QUESTIONS: usize = 32;

/// How long to wait for further questions that come together with a first one.
const GATHER_TIME: Duration = Duration::from_millis(20);

/// How often a client hears of a call that has nothing new to report. Clients give up after a minute.
const HEARTBEAT_TIME: Duration = Duration::from_secs(15);

/// How long a cancelled call may take to end in good order.
///
/// Limit: a call that does not end is dropped.
const CANCEL_GRACE: Duration = Duration::from_secs(12);

/// A question and where its answer goes.
struct Asked {
    question: Question,
    reply: oneshot::Sender<Answer>,
}

/// What the work of a call has of its client.
#[derive(Clone)]
pub(crate) struct Caller {
    progress: mpsc::Sender<String>,
    questions: mpsc::Sender<Asked>,
    cancel: CancellationToken,
}

impl Caller {
    /// Reports a step, in words for the client's user.
    pub(crate) async fn report(&self, step: String) {
        // A call whose driver has gone is being dropped.
        let _ = self.progress.send(step).await;
    }

    /// Asks the client's user; dropping the receiver takes the question back.
    pub(crate) fn ask(&self, question: Question) -> oneshot::Receiver<Answer> {
        let (reply, answer) = oneshot::channel();
        // A full queue drops the sender, which counts as no answer.
        let _ = self.questions.try_send(Asked { question, reply });
        answer
    }

    /// Fires when the client gives the call up.
    pub(crate) fn cancel(&self) -> &CancellationToken {
        &self.cancel
    }
}

/// A tool call that runs while it is [driven](Call::drive).
pub(crate) struct Call {
    /// What was called, which a continuation has to repeat.
    pub(crate) tool: String,
    pub(crate) arguments: Value,
    work: BoxFuture<'static, CallResult>,
    progress: mpsc::Receiver<String>,
    questions: mpsc::Receiver<Asked>,
    cancel: CancellationToken,
    /// Questions that the client was told about, by their keys (modern).
    waiting: BTreeMap<String, Asked>,
    next_key: u64,
    steps: u64,
    /// Frees the place among the running calls when the call ends.
    _place: Option<OwnedSemaphorePermit>,
}

/// How a request ends.
pub(crate) enum Outcome {
    Finished(CallResult),
    /// The client has to ask its user and to repeat the request (modern).
    InputRequired(Box<Call>),
    /// The client gave the call up, so that it gets no response.
    Cancelled,
}

/// The request that drives a call.
pub(crate) struct Exchange {
    pub(crate) era: Era,
    pub(crate) abilities: ClientAbilities,
    pub(crate) progress_token: Option<Value>,
    pub(crate) outbox: mpsc::Sender<Frame>,
    pub(crate) connection: Arc<Connection>,
    pub(crate) cancel: CancellationToken,
}

enum Step {
    Done(CallResult),
    Progress(String),
    Question(Asked),
    Answered,
    Quiet,
    Cancelled,
}

impl Call {
    /// Prepares a call; `work` begins when the call is driven.
    pub(crate) fn new<F>(
        tool: String,
        arguments: Value,
        place: Option<OwnedSemaphorePermit>,
        work: impl FnOnce(Caller) -> F,
    ) -> Self
    where
        F: Future<Output = CallResult> + Send + 'static,
    {
        let (progress_sender, progress) = mpsc::channel(PROGRESS_QUEUE_LENGTH);
        let (question_sender, questions) = mpsc::channel(MAX_OPEN_QUESTIONS);
        let cancel = CancellationToken::new();
        let caller = Caller {
            progress: progress_sender,
            questions: question_sender,
            cancel: cancel.clone(),
        };
        Self {
            tool,
            arguments,
            work: Box::pin(work(caller)),
            progress,
            questions,
            cancel,
            waiting: BTreeMap::new(),
            next_key: 0,
            steps: 0,
            _place: place,
        }
    }

    /// Works until the call ends, its client gives it up, or its client's user is needed.
    pub(crate) async fn drive(mut self, exchange: &Exchange) -> Outcome {
        // Legacy questions are requests of ours; each waits on its own.
        let mut asking: JoinSet<()> = JoinSet::new();
        let started = Instant::now();
        let mut last_step = String::new();
        loop {
            let step = tokio::select! {
                biased;
                () = exchange.cancel.cancelled() => Step::Cancelled,
                Some(step) = self.progress.recv() => Step::Progress(step),
                Some(asked) = self.questions.recv() => Step::Question(asked),
                result = &mut self.work => Step::Done(result),
                Some(_) = asking.join_next() => Step::Answered,
                () = sleep(HEARTBEAT_TIME), if exchange.progress_token.is_some() => Step::Quiet,
            };
            match step {
                Step::Done(result) => {
                    // Open questions are taken back before the response.
                    asking.shutdown().await;
                    while let Ok(step) = self.progress.try_recv() {
                        self.report(exchange, &step).await;
                    }
                    return Outcome::Finished(result);
                }
                Step::Progress(step) => {
                    self.report(exchange, &step).await;
                    last_step = step;
                }
                Step::Quiet => {
                    let seconds = started.elapsed().as_secs();
                    let step = format!("still working ({seconds} s): {last_step}");
                    self.report(exchange, &step).await;
                }
                Step::Answered => {}
                Step::Question(asked) if !asked.question.suits(exchange.abilities) => {
                    let _ = asked.reply.send(Answer::Unavailable);
                }
                Step::Question(asked) => match exchange.era {
                    Era::Legacy => {
                        let connection = Arc::clone(&exchange.connection);
                        let outbox = exchange.outbox.clone();
                        asking.spawn(ask(connection, outbox, asked));
                    }
                    Era::Modern => {
                        self.wait_for(asked);
                        if let Some(outcome) = self.gather(exchange).await {
                            return outcome;
                        }
                        return Outcome::InputRequired(Box::new(self));
                    }
                },
                Step::Cancelled => {
                    self.give_up().await;
                    return Outcome::Cancelled;
                }
            }
        }
    }

    /// Collects questions that come together, so that the client's user is asked once.
    async fn gather(&mut self, exchange: &Exchange) -> Option<Outcome> {
        let deadline = sleep(GATHER_TIME);
        tokio::pin!(deadline);
        loop {
            tokio::select! {
                Some(asked) = self.questions.recv() => self.wait_for(asked),
                Some(step) = self.progress.recv() => self.report(exchange, &step).await,
                result = &mut self.work => return Some(Outcome::Finished(result)),
                () = &mut deadline => return None,
            }
        }
    }

    fn wait_for(&mut self, asked: Asked) {
        self.next_key += 1;
        self.waiting.insert(format!("q{}", self.next_key), asked);
    }

    async fn report(&mut self, exchange: &Exchange, step: &str) {
        self.steps += 1;
        if let Some(token) = &exchange.progress_token {
            let params = json!({
                "progressToken": token,
                "progress": self.steps,
                "message": step,
            });
            let frame = notification_frame("notifications/progress", params);
            // A client that has gone is noticed elsewhere; one that does not read can still cancel.
            tokio::select! {
                _ = exchange.outbox.send(frame) => {}
                () = exchange.cancel.cancelled() => {}
            }
        }
    }

    /// Returns what the client has to ask its user.
    pub(crate) fn input_requests(&self) -> Map<String, Value> {
        let request = |(key, asked): (&String, &Asked)| {
            let params = asked.question.params(Era::Modern, key);
            let request = json!({"method": "elicitation/create", "params": params});
            (key.clone(), request)
        };
        self.waiting.iter().map(request).collect()
    }

    /// Passes the answers on; those that make no sense are still awaited.
    pub(crate) fn answer(&mut self, responses: &Map<String, Value>) {
        for (key, response) in responses {
            if let Some(answer) = Answer::read(response)
                && let Some(asked) = self.waiting.remove(key)
            {
                // The work may have given up.
                let _ = asked.reply.send(answer);
            }
        }
    }

    /// Returns whether the client has to ask its user before the call can go on. Questions that it can
    /// no longer put to anyone are refused.
    pub(crate) fn is_waiting(&mut self, abilities: ClientAbilities) -> bool {
        let unsuitable = |_: &String, asked: &mut Asked| !asked.question.suits(abilities);
        for (_, asked) in self.waiting.extract_if(.., unsuitable) {
            let _ = asked.reply.send(Answer::Unavailable);
        }
        !self.waiting.is_empty()
    }

    /// Returns how long the client's user may take.
    pub(crate) fn patience(&self) -> Duration {
        let waiting = self.waiting.values();
        waiting
            .map(|asked| asked.question.patience)
            .max()
            .unwrap_or_default()
    }

    /// Ends the call in good order, without anyone to report to.
    pub(crate) async fn give_up(&mut self) {
        self.cancel.cancel();
        self.waiting.clear();
        let ended = async {
            loop {
                tokio::select! {
                    _ = &mut self.work => return,
                    Some(_) = self.progress.recv() => {}
                    // Dropped: nobody answers.
                    Some(_) = self.questions.recv() => {}
                }
            }
        };
        let _ = timeout(CANCEL_GRACE, ended).await;
    }
}

/// Asks one question over a legacy connection.
async fn ask(connection: Arc<Connection>, outbox: mpsc::Sender<Frame>, mut asked: Asked) {
    let answer = tokio::select! {
        answer = connection.ask(&asked.question, &outbox) => answer,
        () = asked.reply.closed() => return,
    };
    let _ = asked.reply.send(answer);
}
