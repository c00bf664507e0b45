//! One extension, as the agent sees it: its registrations, requests and events.

mod receive;
mod requests;
mod starting;
#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use zot_conversation::ToolDefinition;
use zot_extension_contract::{
    CommandInfo, EffectiveLimits, FoundExtension, InterceptRecord, Launch, LaunchError,
    LaunchRules, Process, Registrations, SandboxRemark, Source, log_path,
};
use zot_process::streams::{ChildLog, Outbox, OutboxSendError};
use zot_wire::extension::{EventKind, HelloAck, HostFrame};
use zot_wire::write_line;

use crate::notices::{Notice, Notices};
use crate::pending::{Pending, RequestError};

pub(crate) use receive::{Received, check_new_panel};
pub(crate) use requests::Interception;
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
                let problem = format!("extension {}: {text}", self.name());
                self.notify(Notice::Problem(problem));
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
