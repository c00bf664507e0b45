//! One extension, as the agent sees it: its registrations, requests and events.

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
    CommandInfo, EffectiveLimits, FailurePolicy, FoundExtension, InterceptRecord, Launch,
    LaunchError, LaunchRules, Process, Registrations, SandboxRemark, Source, log_path,
};
use zot_process::streams::{ChildLog, Outbox, OutboxSendError};
use zot_wire::extension::{
    CommandResponse, EventKind, HelloAck, HostFrame, InterceptResponse, LifecycleEvent,
};
use zot_wire::{RawJson, write_line};

use crate::content;
use crate::limits::{COMMAND_TIMEOUT, INTERCEPT_TIMEOUT, TOOL_TIMEOUT};
use crate::notices::{Notice, Notices};
use crate::pending::{Pending, PendingRequest, RequestError, Waiting};

pub(crate) use receive::{Received, check_new_panel};
pub(crate) use starting::{Cause, Missing, remedy};

/// What all extensions of a host have in common.
pub(crate) struct HostContext {
    /// `$ZOT_HOME`.
    pub(crate) home: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) zot_version: String,
    pub(crate) provider: String,
    pub(crate) model: Mutex<String>,
    pub(crate) rules: LaunchRules,
    pub(crate) notices: Notices,
    pub(crate) interceptors: InterceptRecord,
    /// Grows whenever tools, commands or phases change.
    generation: AtomicU64,
    changed: Notify,
    next_id: AtomicU64,
}

impl HostContext {
    pub(crate) fn new(
        home: PathBuf,
        cwd: PathBuf,
        zot_version: String,
        provider: String,
        model: String,
        rules: LaunchRules,
    ) -> Self {
        Self {
            interceptors: InterceptRecord::new(&home),
            home,
            cwd,
            zot_version,
            provider,
            model: Mutex::new(model),
            rules,
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

    /// Waits until `condition` holds, checking it again after every change.
    pub(crate) async fn until(&self, condition: impl Fn() -> bool) {
        loop {
            // Enabled before the check, so that no change is missed in between.
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if condition() {
                return;
            }
            changed.await;
        }
    }
}

/// The state of an extension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Phase {
    Starting,
    Ready,
    /// It ended unexpectedly and is about to be restarted.
    Restarting {
        reason: String,
    },
    /// It could not be started or kept running.
    Failed {
        reason: String,
    },
    /// It exited normally, or was stopped.
    Stopped,
}

/// An extension of a running host.
pub struct Extension {
    pub(crate) found: FoundExtension,
    pub(crate) limits: EffectiveLimits,
    pub(crate) context: Arc<HostContext>,
    pub(crate) outbox: Outbox,
    state: Mutex<State>,
    pending: Pending,
    log: Mutex<ChildLog>,
}

struct State {
    phase: Phase,
    /// The registrations in effect; kept while the extension restarts.
    registrations: Registrations,
    /// What a starting extension has registered so far; `None` before its hello.
    arriving: Option<Registrations>,
    was_ready: bool,
    /// How often it was restarted since it last ran without trouble for a while.
    restarts: usize,
    /// Whether it intercepted in its last run, or has registered to do so in this one.
    is_interceptor: bool,
    /// The capabilities in its hello.
    capabilities: Vec<String>,
    dropped_events: u64,
    dropped_notices: u64,
    /// Remarks that are logged only once; at most as many as there are registrations.
    remarks: HashSet<String>,
    /// Panels that its commands opened and that are still open.
    open_panels: BTreeSet<String>,
}

/// The response of an interceptor, or what its policy is if it did not respond.
pub(crate) enum Interception {
    Answered(InterceptResponse),
    Failed { reason: String, blocks: bool },
}

impl Extension {
    pub(crate) fn new(found: FoundExtension, context: Arc<HostContext>) -> Self {
        let manifest = &found.manifest;
        let limits = EffectiveLimits::of(manifest);
        let log = ChildLog::new(log_path(&context.home, &manifest.name), limits.log_bytes);
        let is_interceptor = context.interceptors.contains(&found.directory);
        Self {
            limits,
            context,
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

    pub fn found(&self) -> &FoundExtension {
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
        self.context.change();
    }

    pub fn commands(&self) -> Vec<CommandInfo> {
        self.lock().registrations.commands.clone()
    }

    pub fn tools(&self) -> Vec<Arc<ToolDefinition>> {
        self.lock().registrations.tools.clone()
    }

    /// Returns where it may keep persistent data.
    pub fn data_dir(&self) -> PathBuf {
        let FoundExtension {
            manifest,
            directory,
            ..
        } = &self.found;
        manifest.data_dir(directory, &self.context.home, self.context.rules.minimum)
    }

    pub(crate) async fn launch(&self) -> Result<Process, LaunchError> {
        let launch = Launch {
            manifest: &self.found.manifest,
            directory: &self.found.directory,
            data_dir: &self.data_dir(),
            cwd: &self.context.cwd,
            limits: self.limits,
            is_from_project: self.found.source == Source::Project,
            rules: &self.context.rules,
        };
        zot_extension_contract::start(&launch).await
    }

    pub(crate) fn hello_ack(&self) -> HostFrame {
        let context = &self.context;
        let model = context.model.lock();
        HostFrame::HelloAck(HelloAck {
            protocol_version: zot_wire::extension::PROTOCOL_VERSION,
            zot_version: context.zot_version.clone(),
            provider: context.provider.clone(),
            model: model.unwrap_or_else(PoisonError::into_inner).clone(),
            cwd: context.cwd.display().to_string(),
            extension_dir: self.found.directory.display().to_string(),
            data_dir: self.data_dir().display().to_string(),
        })
    }

    /// Logs what happened to it.
    pub(crate) fn log(&self, note: &str) {
        self.lock_log().note(note);
    }

    /// Logs what its sandbox noticed, and tells the user what concerns them.
    pub(crate) fn report(&self, remarks: &[SandboxRemark]) {
        for SandboxRemark {
            text,
            concerns_user,
        } in remarks
        {
            self.log(text);
            if *concerns_user {
                let name = &self.found.manifest.name;
                let problem = format!("extension {name}: {text}");
                self.context.notices.push(Notice::Problem(problem));
            }
        }
    }

    /// Logs what is wrong with a frame it sent, at a limited rate.
    pub(crate) fn remark(&self, remark: &str) {
        self.lock_log().remark(remark);
    }

    /// Logs something that recurs, but only the first time.
    pub(crate) fn log_once(&self, remark: &str) {
        let is_new = self.lock().remarks.insert(remark.to_owned());
        if is_new {
            self.log(remark);
        }
    }

    pub(crate) fn log_output(&self, bytes: &[u8]) {
        self.lock_log().append(bytes);
    }

    /// Calls a tool; failures become results that the model can read.
    pub(crate) async fn call_tool(
        &self,
        tool: &str,
        arguments: RawJson,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let response = self.request(Waiting::Tool, TOOL_TIMEOUT, |id| HostFrame::ToolCall {
            id,
            name: tool.to_owned(),
            args: arguments,
        });
        let response = tokio::select! {
            biased;
            response = response => response,
            () = cancel.cancelled() => Err(RequestError::Cancelled),
        };
        match response {
            Ok(result) => content::tool_output(self.name(), tool, result),
            Err(error) => {
                let reason = match error {
                    // Existing programs rely on this text.
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
        self.request(Waiting::Command, COMMAND_TIMEOUT, |id| {
            HostFrame::CommandInvoked {
                id,
                name: command.to_owned(),
                args: arguments.trim().to_owned(),
            }
        })
        .await
    }

    /// Returns whether it has to be asked before an event of this kind. A guard that must not fail
    /// open is asked even if it never got as far as registering what it guards.
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

    /// Returns whether text is held back until it has seen it.
    pub(crate) fn holds_text(&self) -> bool {
        let state = self.lock();
        let is_guard = self.found.manifest.on_failure == FailurePolicy::Block;
        // The text is not shown before a restart has finished.
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
        let response = self
            .request(Waiting::Intercept, INTERCEPT_TIMEOUT, |id| {
                HostFrame::EventIntercept { id, event }
            })
            .await;
        match response {
            Ok(response) => Interception::Answered(response),
            Err(error) => {
                let blocks = self.found.manifest.on_failure == FailurePolicy::Block;
                let consequence = if blocks { "blocked" } else { "allowed" };
                let message = format!("event_intercept {}: {error}; {consequence}", kind.as_str());
                self.log(&message);
                // That a guard let something pass unseen is not only logged.
                self.notify(Notice::Problem(format!(
                    "extension {}: {message}",
                    self.name()
                )));
                Interception::Failed {
                    reason: format!("extension {} did not answer: {error}", self.name()),
                    blocks,
                }
            }
        }
    }

    /// Sends an event, if the extension has subscribed to it. `line` is the frame, serialized once
    /// for all extensions.
    pub(crate) fn send_event(&self, kind: EventKind, line: &[u8]) {
        {
            let state = self.lock();
            if state.phase != Phase::Ready || !state.registrations.events.contains(kind) {
                return;
            }
        }
        if self.outbox.send(line) == Err(OutboxSendError::Full) {
            let mut state = self.lock();
            state.dropped_events += 1;
            // The first one, and then ever more rarely.
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

    /// Sends a frame that has no response.
    pub(crate) fn send(&self, frame: &HostFrame) -> Result<(), RequestError> {
        let mut line = Vec::new();
        write_line(&mut line, frame).map_err(|error| RequestError::Invalid(error.to_string()))?;
        self.outbox.send(&line).map_err(|error| match error {
            OutboxSendError::NotRunning => RequestError::NotRunning,
            OutboxSendError::Full => RequestError::NotReading,
        })
    }

    /// Sends a request and waits for its response.
    async fn request<T>(
        &self,
        waiting: impl FnOnce(oneshot::Sender<Result<T, RequestError>>) -> Waiting,
        patience: Duration,
        frame: impl FnOnce(String) -> HostFrame,
    ) -> Result<T, RequestError> {
        if self.phase() != Phase::Ready {
            return Err(RequestError::NotRunning);
        }
        let id = self.context.next_id.fetch_add(1, Ordering::Relaxed);
        let id = id.to_string();
        let (sender, receiver) = oneshot::channel();
        self.pending.add(&id, waiting(sender))?;
        let pending = PendingRequest {
            pending: &self.pending,
            id,
        };
        self.send(&frame(pending.id.clone()))?;
        match timeout(patience, receiver).await {
            Ok(Ok(response)) => response,
            // A response takes the sender out and uses it; it is dropped unused only at the end.
            Ok(Err(_)) => Err(RequestError::NotRunning),
            Err(_) => {
                self.log(&format!("no answer to {} within {patience:?}", pending.id));
                Err(RequestError::TimedOut(patience))
            }
        }
    }

    /// Disconnects from a process and fails the requests that wait for its responses.
    pub(crate) fn disconnect(&self, reason: &str) {
        self.outbox.close();
        let open_panels = {
            let mut state = self.lock();
            state.arriving = None;
            std::mem::take(&mut state.open_panels)
        };
        self.pending
            .fail_all(&RequestError::Ended(reason.to_owned()));
        // Keys would go nowhere, or to a new process that does not know the panels.
        for panel_id in open_panels {
            self.notify(Notice::PanelClosed {
                extension: self.name().to_owned(),
                panel_id,
            });
        }
    }

    /// Notes that a panel was closed.
    pub(crate) fn forget_panel(&self, panel_id: &str) {
        self.lock().open_panels.remove(panel_id);
    }

    fn notify(&self, notice: Notice) {
        if !self.context.notices.push(notice) {
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

    fn lock_log(&self) -> MutexGuard<'_, ChildLog> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
