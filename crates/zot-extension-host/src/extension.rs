//! One extension, as the agent sees it: what it registered, and how it is asked and told things.

mod receive;
mod starting;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use zot_conversation::{ToolDefinition, ToolOutput};
use zot_extension_contract::{
    CommandInfo, EffectiveLimits, FailurePolicy, Found, InterceptRecord, Launch, LaunchError,
    Process, Registrations, log_path,
};
use zot_wire::extension::{
    CommandResponse, EventKind, HelloAck, HostFrame, InterceptResponse, LifecycleEvent,
};
use zot_wire::{RawJson, write_line};

use crate::content;
use crate::limits::{COMMAND_TIMEOUT, INTERCEPT_TIMEOUT, TOOL_TIMEOUT};
use crate::log::ExtensionLog;
use crate::notices::{Notice, Notices};
use crate::outbox::{Outbox, SendError};
use crate::pending::{Pending, Question, RequestError, Waiting};

pub(crate) use receive::{Received, check_new_panel};
pub(crate) use starting::{Cause, Owes, remedy};

/// What all extensions of a host have in common.
pub(crate) struct Surroundings {
    /// `$ZOT_HOME`.
    pub(crate) home: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) zot_version: String,
    pub(crate) provider: String,
    pub(crate) model: Mutex<String>,
    pub(crate) notices: Notices,
    pub(crate) interceptors: InterceptRecord,
    /// Grows whenever tools, commands or phases change.
    generation: AtomicU64,
    changed: Notify,
    next_id: AtomicU64,
}

impl Surroundings {
    pub(crate) fn new(
        home: PathBuf,
        cwd: PathBuf,
        zot_version: String,
        provider: String,
        model: String,
    ) -> Self {
        Self {
            interceptors: InterceptRecord::new(&home),
            home,
            cwd,
            zot_version,
            provider,
            model: Mutex::new(model),
            notices: Notices::default(),
            generation: AtomicU64::new(0),
            changed: Notify::new(),
            next_id: AtomicU64::new(1),
        }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    pub(crate) fn change(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
        self.changed.notify_waiters();
    }

    /// Waits until `condition` holds, looking again after every change.
    pub(crate) async fn until(&self, condition: impl Fn() -> bool) {
        loop {
            // Registered before looking, so that no change falls in between.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if condition() {
                return;
            }
            changed.await;
        }
    }
}

/// How an extension is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    Starting,
    Ready,
    /// It ended by itself and is to be started again.
    Restarting {
        reason: String,
    },
    /// It could not be started, or not be kept running.
    Failed {
        reason: String,
    },
    /// It ended by itself, in good order, or was told to.
    Stopped,
}

/// An extension of a running host.
pub struct Extension {
    pub(crate) found: Found,
    pub(crate) limits: EffectiveLimits,
    pub(crate) surroundings: Arc<Surroundings>,
    pub(crate) outbox: Outbox,
    state: Mutex<State>,
    pending: Pending,
    log: Mutex<ExtensionLog>,
}

struct State {
    phase: Phase,
    /// What counts; kept while the extension is started again.
    registrations: Registrations,
    /// What a starting extension has registered so far; nothing before its hello.
    arriving: Option<Registrations>,
    was_ready: bool,
    /// How often it was started again since it last ran well for long.
    restarts: usize,
    /// It intercepted in its last run, or has said in this one that it does.
    is_interceptor: bool,
    /// What its hello says it brings.
    capabilities: Vec<String>,
    dropped_events: u64,
    dropped_notices: u64,
    /// Remarks that are made once; there are as many as there are registrations.
    remarks: HashSet<String>,
    /// Panels that its commands have opened and nobody has closed.
    open_panels: BTreeSet<String>,
}

/// What an interceptor said, or the policy of one that did not.
pub(crate) enum Interception {
    Answered(InterceptResponse),
    Failed { reason: String, blocks: bool },
}

impl Extension {
    pub(crate) fn new(found: Found, surroundings: Arc<Surroundings>) -> Self {
        let manifest = &found.manifest;
        let limits = EffectiveLimits::of(manifest);
        let log = ExtensionLog::new(
            log_path(&surroundings.home, &manifest.name),
            limits.log_bytes,
        );
        let is_interceptor = surroundings.interceptors.contains(&found.directory);
        Self {
            limits,
            surroundings,
            outbox: Outbox::default(),
            state: Mutex::new(State {
                phase: Phase::Starting,
                registrations: Registrations::default(),
                arriving: None,
                was_ready: false,
                restarts: 0,
                is_interceptor,
                capabilities: Vec::new(),
                dropped_events: 0,
                dropped_notices: 0,
                remarks: HashSet::new(),
                open_panels: BTreeSet::new(),
            }),
            pending: Pending::default(),
            log: Mutex::new(log),
            found,
        }
    }

    pub fn name(&self) -> &str {
        &self.found.manifest.name
    }

    pub fn found(&self) -> &Found {
        &self.found
    }

    pub fn phase(&self) -> Phase {
        self.lock().phase.clone()
    }

    pub(crate) fn is_starting(&self) -> bool {
        self.lock().phase == Phase::Starting
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        self.lock().phase = phase;
        self.surroundings.change();
    }

    pub fn commands(&self) -> Vec<CommandInfo> {
        self.lock().registrations.commands.clone()
    }

    pub fn tools(&self) -> Vec<Arc<ToolDefinition>> {
        self.lock().registrations.tools.clone()
    }

    /// Where it may keep what has to outlive it.
    pub fn data_dir(&self) -> PathBuf {
        let Found {
            manifest,
            directory,
            ..
        } = &self.found;
        manifest.data_dir(directory, &self.surroundings.home)
    }

    pub(crate) async fn launch(&self) -> Result<Process, LaunchError> {
        let launch = Launch {
            manifest: &self.found.manifest,
            directory: &self.found.directory,
            data_dir: &self.data_dir(),
            cwd: &self.surroundings.cwd,
            limits: self.limits,
        };
        zot_extension_contract::start(&launch).await
    }

    pub(crate) fn hello_ack(&self) -> HostFrame {
        let surroundings = &self.surroundings;
        let model = surroundings.model.lock();
        HostFrame::HelloAck(HelloAck {
            protocol_version: zot_wire::extension::PROTOCOL_VERSION,
            zot_version: surroundings.zot_version.clone(),
            provider: surroundings.provider.clone(),
            model: model.unwrap_or_else(PoisonError::into_inner).clone(),
            cwd: surroundings.cwd.display().to_string(),
            extension_dir: self.found.directory.display().to_string(),
            data_dir: self.data_dir().display().to_string(),
        })
    }

    /// Writes down what happened to it.
    pub(crate) fn log(&self, note: &str) {
        self.lock_log().note(note);
    }

    /// Writes down what is wrong with a frame it sent, unless there is too much of that.
    pub(crate) fn remark(&self, remark: &str) {
        self.lock_log().remark(remark);
    }

    /// Remarks on something that is found again and again.
    pub(crate) fn log_once(&self, remark: &str) {
        let is_new = self.lock().remarks.insert(remark.to_owned());
        if is_new {
            self.log(remark);
        }
    }

    pub(crate) fn log_output(&self, bytes: &[u8]) {
        self.lock_log().append(bytes);
    }

    /// Calls a tool, and turns whatever happens into something the model can read.
    pub(crate) async fn call_tool(
        &self,
        tool: &str,
        arguments: RawJson,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let answer = self.ask(Waiting::Tool, TOOL_TIMEOUT, |id| HostFrame::ToolCall {
            id,
            name: tool.to_owned(),
            args: arguments,
        });
        let answer = tokio::select! {
            biased;
            answer = answer => answer,
            () = cancel.cancelled() => Err(RequestError::Cancelled),
        };
        match answer {
            Ok(result) => content::tool_output(self.name(), tool, result),
            Err(error) => {
                let reason = match error {
                    // The words programs in use know.
                    RequestError::NotRunning => {
                        format!("no extension registered for tool {tool:?}")
                    }
                    error => error.to_string(),
                };
                ToolOutput::error(format!("extension {}/{tool} failed: {reason}", self.name()))
            }
        }
    }

    pub(crate) async fn invoke(
        &self,
        command: &str,
        arguments: &str,
    ) -> Result<CommandResponse, RequestError> {
        self.ask(Waiting::Command, COMMAND_TIMEOUT, |id| {
            HostFrame::CommandInvoked {
                id,
                name: command.to_owned(),
                args: arguments.trim().to_owned(),
            }
        })
        .await
    }

    /// Whether it is to be asked before an event of this kind. A guard that must not fail open is
    /// asked although it has never come so far as to say what it guards.
    pub(crate) fn intercepts(&self, kind: EventKind) -> bool {
        let state = self.lock();
        let is_guard = self.found.manifest.on_failure == FailurePolicy::Block;
        match state.phase {
            Phase::Ready => state.registrations.intercepts.contains(kind),
            Phase::Starting | Phase::Restarting { .. } | Phase::Failed { .. } | Phase::Stopped => {
                let is_known = state.registrations.intercepts.contains(kind);
                let may_be = !state.was_ready && kind == EventKind::ToolCall;
                is_guard && (is_known || may_be)
            }
        }
    }

    /// Whether text is to be held back until it has seen it.
    pub(crate) fn holds_text(&self) -> bool {
        let state = self.lock();
        let is_guard = self.found.manifest.on_failure == FailurePolicy::Block;
        // One that is started again is waited for before the text is shown.
        let answers = matches!(state.phase, Phase::Ready | Phase::Restarting { .. });
        (answers || is_guard)
            && state.registrations.hold_text
            && state
                .registrations
                .intercepts
                .contains(EventKind::AssistantMessage)
    }

    pub(crate) async fn intercept(&self, event: LifecycleEvent) -> Interception {
        let kind = event.kind();
        let answer = self
            .ask(Waiting::Intercept, INTERCEPT_TIMEOUT, |id| {
                HostFrame::EventIntercept { id, event }
            })
            .await;
        match answer {
            Ok(response) => Interception::Answered(response),
            Err(error) => {
                let blocks = self.found.manifest.on_failure == FailurePolicy::Block;
                let consequence = if blocks { "blocked" } else { "allowed" };
                let told = format!("event_intercept {}: {error}; {consequence}", kind.as_str());
                self.log(&told);
                // A guard that let something pass unseen is not only the log's business.
                self.notify(Notice::Problem(format!(
                    "extension {}: {told}",
                    self.name()
                )));
                Interception::Failed {
                    reason: format!("extension {} did not answer: {error}", self.name()),
                    blocks,
                }
            }
        }
    }

    /// Tells of an event, if the extension wants to know. `line` is the frame, made once for all.
    pub(crate) fn tell(&self, kind: EventKind, line: &[u8]) {
        {
            let state = self.lock();
            if state.phase != Phase::Ready || !state.registrations.events.contains(kind) {
                return;
            }
        }
        if self.outbox.send(line) == Err(SendError::Full) {
            let mut state = self.lock();
            state.dropped_events += 1;
            // The first, and then now and then.
            if state.dropped_events.is_power_of_two() {
                let count = state.dropped_events;
                drop(state);
                self.log(&format!(
                    "it does not read its input: {count} events dropped"
                ));
            }
        }
    }

    pub(crate) fn wants(&self, kind: EventKind) -> bool {
        let state = self.lock();
        state.phase == Phase::Ready && state.registrations.events.contains(kind)
    }

    /// Sends a frame that is not answered.
    pub(crate) fn send(&self, frame: &HostFrame) -> Result<(), RequestError> {
        let mut line = Vec::new();
        write_line(&mut line, frame).map_err(|error| RequestError::Invalid(error.to_string()))?;
        self.outbox.send(&line).map_err(|error| match error {
            SendError::NotRunning => RequestError::NotRunning,
            SendError::Full => RequestError::NotReading,
        })
    }

    /// Sends a question and waits for its answer.
    async fn ask<T>(
        &self,
        waiting: impl FnOnce(oneshot::Sender<Result<T, RequestError>>) -> Waiting,
        patience: Duration,
        frame: impl FnOnce(String) -> HostFrame,
    ) -> Result<T, RequestError> {
        if self.phase() != Phase::Ready {
            return Err(RequestError::NotRunning);
        }
        let id = self.surroundings.next_id.fetch_add(1, Ordering::Relaxed);
        let id = id.to_string();
        let (sender, receiver) = oneshot::channel();
        self.pending.add(&id, waiting(sender))?;
        let question = Question {
            pending: &self.pending,
            id,
        };
        self.send(&frame(question.id.clone()))?;
        match timeout(patience, receiver).await {
            Ok(Ok(answer)) => answer,
            // Whoever answers takes the sender and uses it.
            Ok(Err(_)) => Err(RequestError::NotRunning),
            Err(_) => {
                self.log(&format!("no answer to {} within {patience:?}", question.id));
                Err(RequestError::TimedOut(patience))
            }
        }
    }

    /// Takes leave of a process: nobody waits for its answers any more.
    pub(crate) fn disconnect(&self, reason: &str) {
        self.outbox.close();
        let open_panels = {
            let mut state = self.lock();
            state.arriving = None;
            std::mem::take(&mut state.open_panels)
        };
        self.pending
            .fail_all(&RequestError::Ended(reason.to_owned()));
        // Whoever shows them would send keys to nobody, or to a process that knows nothing of them.
        for panel_id in open_panels {
            self.notify(Notice::PanelClosed {
                extension: self.name().to_owned(),
                panel_id,
            });
        }
    }

    /// The user has closed a panel.
    pub(crate) fn forget_panel(&self, panel_id: &str) {
        self.lock().open_panels.remove(panel_id);
    }

    fn notify(&self, notice: Notice) {
        if !self.surroundings.notices.push(notice) {
            let mut state = self.lock();
            state.dropped_notices += 1;
            if state.dropped_notices.is_power_of_two() {
                let count = state.dropped_notices;
                drop(state);
                self.log(&format!(
                    "nobody reads its notices fast enough: {count} dropped"
                ));
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_log(&self) -> MutexGuard<'_, ExtensionLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
