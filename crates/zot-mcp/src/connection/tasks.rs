//! Calls that a server answers with a task, which is polled to its end.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until};

use super::exchange::{Abandoned, Exchange};
use super::params::Params;
use super::rounds::{InputRequest, RoundResult, invalid};
use super::{CallTime, Caller, Connection, Failure};
use crate::json_rpc::RpcError;
use crate::transport::{CallError, CallHints};
use crate::version::Era;

/// How often a task is polled, whatever the server suggests.
///
/// Limit: shorter and longer intervals are taken as these.
const MIN_TASK_POLL: Duration = Duration::from_millis(100);
const MAX_TASK_POLL: Duration = Duration::from_secs(30);

/// How often a task is polled if the server suggests nothing.
const TASK_POLL: Duration = Duration::from_secs(1);

/// How long the server is asked to keep a task.
const TASK_LIFE: Duration = Duration::from_secs(60 * 60);

/// Limit: the task is given up.
const MAX_TASK_ID_BYTES: usize = 1024;

/// Whether a tool runs as a task of the legacy era, where the client decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum LegacyTask {
    #[default]
    No,
    /// The tool can only be called like that.
    Required,
}

#[derive(Deserialize)]
struct Task<'a> {
    #[serde(rename = "taskId")]
    id: String,
    status: String,
    #[serde(rename = "statusMessage")]
    message: Option<String>,
    #[serde(rename = "pollIntervalMs", alias = "pollInterval")]
    poll: Option<f64>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    error: Option<RpcError>,
    #[serde(rename = "inputRequests", borrow)]
    requests: Option<BTreeMap<String, InputRequest<'a>>>,
}

impl Task<'_> {
    fn interval(&self) -> Duration {
        let suggested = self
            .poll
            .and_then(|poll| Duration::try_from_secs_f64(poll / 1000.0).ok());
        suggested
            .unwrap_or(TASK_POLL)
            .clamp(MIN_TASK_POLL, MAX_TASK_POLL)
    }
}

/// A task as the legacy era announces it.
#[derive(Deserialize)]
struct CreatedTask<'a> {
    #[serde(borrow)]
    task: Option<Task<'a>>,
}

/// Tells the server when nobody waits for a task any more.
struct TaskGuard<'a> {
    exchange: &'a Exchange,
    id: Option<String>,
}

impl TaskGuard<'_> {
    fn has_ended(&mut self) {
        self.id = None;
    }
}

impl Drop for TaskGuard<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.exchange.abandon(Abandoned::Task(id));
        }
    }
}

impl Connection {
    /// Calls a tool, and waits for the end of the task that it may become.
    pub(crate) async fn call_tool(
        &self,
        params: Params,
        legacy_task: LegacyTask,
        hints: CallHints<'_>,
        caller: &Caller<'_>,
    ) -> Result<Box<RawValue>, Failure> {
        let mut time = CallTime::new(caller.patience);
        let is_legacy_task = self.era == Era::Legacy
            && legacy_task == LegacyTask::Required
            && self.capabilities.has_legacy_tasks();
        let params = match is_legacy_task {
            true => params.with_json("task", &format!(r#"{{"ttl":{}}}"#, TASK_LIFE.as_millis())),
            false => params,
        };
        let result = self
            .rounds("tools/call", params, hints, caller, &mut time)
            .await?;
        match result {
            RoundResult::Complete(result) if is_legacy_task => {
                let created: CreatedTask<'_> = parse(&result)?;
                match created.task {
                    Some(task) => {
                        let ended = self.legacy_task(task, caller, &mut time).await;
                        ended.map_err(lost_with_task)
                    }
                    // It preferred to answer at once.
                    None => Ok(result),
                }
            }
            RoundResult::Complete(result) => Ok(result),
            RoundResult::Task(result) => {
                let task: Task<'_> = parse(&result)?;
                let ended = self.modern_task(task, caller, &mut time).await;
                ended.map_err(lost_with_task)
            }
        }
    }

    async fn modern_task(
        &self,
        created: Task<'_>,
        caller: &Caller<'_>,
        time: &mut CallTime,
    ) -> Result<Box<RawValue>, Failure> {
        let mut guard = self.guard(&created)?;
        let mut watch = TaskWatch::default();
        let mut interval = created.interval();
        watch.report(created.message.as_deref(), caller, time).await;
        let id = created.id;
        loop {
            wait(interval, caller, time).await?;
            let polled = self.poll(&id, caller).await?;
            let task: Task<'_> = parse(&polled)?;
            interval = task.interval();
            watch.report(task.message.as_deref(), caller, time).await;
            match task.status.as_str() {
                "completed" => {
                    guard.has_ended();
                    let result = task.result.ok_or_else(|| {
                        invalid("the task is complete, but has no result".to_owned())
                    })?;
                    return Ok(result.to_owned());
                }
                "failed" => {
                    guard.has_ended();
                    return Err(match task.error {
                        Some(error) => CallError::Refused(error).into(),
                        None => invalid("the task failed without an error".to_owned()),
                    });
                }
                "cancelled" => {
                    guard.has_ended();
                    return Err(invalid("the server cancelled the task".to_owned()));
                }
                "input_required" => {
                    let mut requests = task.requests.unwrap_or_default();
                    // The state may lag behind the answers.
                    requests.retain(|key, _| watch.answered.insert(key.clone()));
                    if watch.answered.len() > MAX_TASK_INPUTS {
                        return Err(Failure::TooManyRounds(MAX_TASK_INPUTS));
                    }
                    if requests.is_empty() {
                        continue;
                    }
                    let responses = self.inputs(requests, caller, time).await?;
                    let params = Params::new()
                        .with("taskId", &id)
                        .with_json("inputResponses", &responses);
                    self.request("tasks/update", params).await?;
                    interval = MIN_TASK_POLL;
                }
                "working" => {}
                other => return Err(invalid(format!("unknown task status {other:?}"))),
            }
        }
    }

    async fn legacy_task(
        &self,
        created: Task<'_>,
        caller: &Caller<'_>,
        time: &mut CallTime,
    ) -> Result<Box<RawValue>, Failure> {
        let mut guard = self.guard(&created)?;
        let mut watch = TaskWatch::default();
        let mut interval = created.interval();
        watch.report(created.message.as_deref(), caller, time).await;
        let id = created.id;
        let mut status = created.status;
        // The result of a task that needs input is asked for at once: that request waits, and
        // meanwhile the server asks its questions.
        while status == "working" {
            wait(interval, caller, time).await?;
            let polled = self.poll(&id, caller).await?;
            let task: Task<'_> = parse(&polled)?;
            interval = task.interval();
            watch.report(task.message.as_deref(), caller, time).await;
            status = task.status;
        }
        if status == "cancelled" {
            guard.has_ended();
            return Err(invalid("the server cancelled the task".to_owned()));
        }
        let params = Params::new().with("taskId", &id);
        let hints = CallHints::default();
        let result = self
            .watched("tasks/result", params, hints, caller, time)
            .await?;
        guard.has_ended();
        Ok(result)
    }

    fn guard(&self, task: &Task<'_>) -> Result<TaskGuard<'_>, Failure> {
        if task.id.len() > MAX_TASK_ID_BYTES {
            return Err(invalid("the id of the task is too long".to_owned()));
        }
        Ok(TaskGuard {
            exchange: &self.exchange,
            id: Some(task.id.clone()),
        })
    }

    async fn poll(&self, id: &str, caller: &Caller<'_>) -> Result<Box<RawValue>, Failure> {
        let params = Params::new().with("taskId", id);
        tokio::select! {
            polled = self.request("tasks/get", params) => polled,
            () = caller.cancel.cancelled() => Err(Failure::Cancelled),
        }
    }
}

/// How many inputs one task may ask for.
///
/// Limit: the call fails.
const MAX_TASK_INPUTS: usize = 32;

/// What is remembered between two polls.
#[derive(Default)]
struct TaskWatch {
    last_message: String,
    answered: BTreeSet<String>,
}

impl TaskWatch {
    async fn report(&mut self, message: Option<&str>, caller: &Caller<'_>, time: &mut CallTime) {
        // A server that answers polls is at work.
        time.extend();
        let message = crate::catalog::cut(message.unwrap_or_default(), MAX_TASK_MESSAGE_BYTES);
        if message.is_empty() || message == self.last_message {
            return;
        }
        self.last_message.clone_from(&message);
        tokio::select! {
            () = caller.progress.report(format!("{message}\n")) => {}
            () = caller.cancel.cancelled() => {}
        }
    }
}

/// Limit: the message is cut.
const MAX_TASK_MESSAGE_BYTES: usize = 1024;

async fn wait(interval: Duration, caller: &Caller<'_>, time: &CallTime) -> Result<(), Failure> {
    if time.is_over() {
        return Err(Failure::TimedOut(time.limit()));
    }
    // Every answered poll extends the time, so that a long interval alone ends no task.
    let until = (Instant::now() + interval).min(time.deadline());
    tokio::select! {
        () = sleep_until(until) => Ok(()),
        () = caller.cancel.cancelled() => Err(Failure::Cancelled),
    }
}

/// A session that is lost while a task runs is no reason to send the call again: it has been accepted.
fn lost_with_task(failure: Failure) -> Failure {
    match failure {
        Failure::Call(CallError::SessionLost) => {
            let reason = "the server has forgotten the session, and the task with it";
            CallError::Disconnected(reason.to_owned()).into()
        }
        failure => failure,
    }
}

fn parse<'a, T: Deserialize<'a>>(result: &'a RawValue) -> Result<T, Failure> {
    serde_json::from_str(result.get()).map_err(|error| invalid(format!("expected a task: {error}")))
}
