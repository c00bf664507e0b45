//! All extensions of one agent.

mod decisions;
mod roster;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use zot_conversation::Tool;
use zot_extension_contract::{
    CommandInfo, Discovery, LaunchRules, LoadProblem, READY_GRACE, SearchPaths, discover,
};
use zot_process::sandbox::Level;
use zot_wire::extension::{CommandAction, EventKind, HostFrame, LifecycleEvent};
use zot_wire::write_line;

use crate::extension::{Extension, HostContext, Phase};
use crate::limits::WAITING_NOTE_TIME;
use crate::notices::Notice;
use crate::pending::RequestError;

use roster::Roster;

pub use decisions::{MessageDecision, ToolDecision, TurnDecision};

/// Configuration of a host.
#[derive(Debug, Clone)]
pub struct HostConfig {
    pub search: SearchPaths,
    /// `$ZOT_HOME`, for logs and data.
    pub home: PathBuf,
    /// Where the agent works.
    pub cwd: PathBuf,
    pub zot_version: String,
    pub provider: String,
    pub model: String,
    /// Names of tools and commands that extensions cannot use.
    pub taken_tools: Vec<String>,
    pub taken_commands: Vec<String>,
    /// What applies to every extension, whatever it asks for.
    pub rules: LaunchRules,
}

/// The running extensions of an agent.
///
/// Each is supervised by its own task, which the host owns: dropping the host kills them,
/// [`ExtensionHost::shut_down`] ends them gracefully.
pub struct ExtensionHost {
    search: SearchPaths,
    context: Arc<HostContext>,
    taken_tools: Vec<String>,
    taken_commands: Vec<String>,
    roster: Mutex<Arc<Roster>>,
    /// Whether the host is shutting down.
    closed: AtomicBool,
    list_deadline: Instant,
}

/// A command could not be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvokeError {
    #[error("no extension has a command {0:?}")]
    Unknown(String),
    #[error("aborted")]
    Cancelled,
    #[error("extension {extension}: {error}")]
    Failed {
        extension: String,
        error: RequestError,
    },
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invoked {
    pub extension: String,
    pub action: CommandAction,
    /// Shown whatever the action is, unless empty.
    pub error: String,
}

/// Extensions could not be reloaded; the old ones keep running.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the extensions were not reloaded, the old ones run on: {}", .problems.join("; "))]
pub struct ReloadError {
    pub problems: Vec<String>,
}

impl ExtensionHost {
    /// Starts all extensions of `discovery` (what `config.search` found) concurrently, without waiting
    /// for them. Must be called inside a tokio runtime.
    pub fn start(config: HostConfig, discovery: &Discovery) -> Self {
        let context = Arc::new(HostContext::new(
            config.home,
            config.cwd,
            config.zot_version,
            config.provider,
            config.model,
            config.rules,
        ));
        report(&context, &discovery.problems);
        let roster = Roster::start(discovery, &context);
        Self {
            search: config.search,
            context,
            taken_tools: config.taken_tools,
            taken_commands: config.taken_commands,
            roster: Mutex::new(Arc::new(roster)),
            closed: AtomicBool::new(false),
            list_deadline: Instant::now() + READY_GRACE,
        }
    }

    /// Returns the least that every extension is confined to.
    pub fn minimum(&self) -> Level {
        self.context.rules.minimum
    }

    /// Returns when every extension is ready or has failed: before that, one that intercepts could
    /// be bypassed. Names the extensions it waits for if that takes a while.
    pub async fn settled(&self) {
        if self.roster().is_settled() {
            return;
        }
        let mut settled = pin!(self.settled_quietly());
        if timeout(WAITING_NOTE_TIME, &mut settled).await.is_ok() {
            return;
        }
        let roster = self.roster();
        for extension in roster.undecided().filter(|one| one.has_never_been_ready()) {
            let limit = extension.limits.start_time;
            self.context.notices.push(Notice::Notify {
                extension: extension.name().to_owned(),
                level: "info".to_owned(),
                message: format!(
                    "waiting for extension {} to start (it may take {limit:?}); abort to stop waiting",
                    extension.name()
                ),
            });
        }
        settled.await;
    }

    /// Like [`settled`](Self::settled), without a notice.
    pub async fn settled_quietly(&self) {
        let is_settled = || self.roster().is_settled();
        self.context.until(is_settled).await;
    }

    /// Returns when every extension has started or failed, at the latest a short while after the
    /// start: lists of commands do not wait for slow extensions.
    pub async fn listed(&self) {
        let _ = timeout_at(self.list_deadline, self.settled_quietly()).await;
    }

    /// Returns why no prompt may run: an extension that is required, or that intercepted when it last
    /// ran, has failed.
    pub fn obstacle(&self) -> Option<String> {
        self.roster().obstacle()
    }

    /// Grows whenever tools, commands or states change.
    pub fn generation(&self) -> u64 {
        self.context.generation()
    }

    /// Returns the extensions, in the order they were found.
    pub fn extensions(&self) -> Vec<Arc<Extension>> {
        self.roster().extensions().to_vec()
    }

    /// Returns the tools of all extensions, without those whose name is taken or was claimed first by
    /// another extension.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        self.roster().tools(&self.taken_tools)
    }

    pub fn commands(&self) -> Vec<CommandInfo> {
        self.roster().commands(&self.taken_commands)
    }

    /// Returns the name of the extension that provides `tool`.
    pub fn owner_of(&self, tool: &str) -> Option<String> {
        let roster = self.roster();
        roster.tool_owner(tool, &self.taken_tools)
    }

    /// Runs a slash command.
    pub async fn invoke(&self, command: &str, arguments: &str) -> Result<Invoked, InvokeError> {
        let mut roster = self.roster();
        if roster
            .command_owner(command, &self.taken_commands)
            .is_none()
        {
            // An extension that is still starting may register it.
            self.settled().await;
            roster = self.roster();
        }
        let Some(extension) = roster.command_owner(command, &self.taken_commands) else {
            return Err(InvokeError::Unknown(command.to_owned()));
        };
        let failed = |error| InvokeError::Failed {
            extension: extension.name().to_owned(),
            error,
        };
        let response = extension.invoke(command, arguments).await.map_err(failed)?;
        if let CommandAction::OpenPanel { open_panel } = &response.action {
            crate::extension::check_new_panel(open_panel)
                .map_err(|error| failed(RequestError::Invalid(error)))?;
        }
        Ok(Invoked {
            extension: extension.name().to_owned(),
            action: response.action,
            error: response.error,
        })
    }

    /// Sends an extension what the user does in one of its panels.
    pub fn send_to_panel(&self, extension: &str, frame: &HostFrame) -> Result<(), InvokeError> {
        let roster = self.roster();
        let ready = roster
            .named(extension)
            .filter(|extension| extension.phase() == Phase::Ready);
        let Some(extension) = ready else {
            return Err(InvokeError::Failed {
                extension: extension.to_owned(),
                error: RequestError::NotRunning,
            });
        };
        if let HostFrame::PanelClose { panel_id } = frame {
            extension.forget_panel(panel_id);
        }
        extension.send(frame).map_err(|error| InvokeError::Failed {
            extension: extension.name().to_owned(),
            error,
        })
    }

    /// Notifies the front end that a panel is closed.
    pub fn close_panel(&self, extension: &str, panel_id: String) {
        self.context.notices.push(Notice::PanelClosed {
            extension: extension.to_owned(),
            panel_id,
        });
    }

    /// Sends an event to all extensions that have subscribed to it, without waiting.
    pub fn emit(&self, kind: EventKind, event: impl FnOnce() -> LifecycleEvent) {
        let roster = self.roster();
        let mut wanting = roster
            .extensions()
            .iter()
            .filter(|extension| extension.wants(kind))
            .peekable();
        if wanting.peek().is_none() {
            return;
        }
        let mut line = Vec::new();
        if write_line(&mut line, &HostFrame::Event(event())).is_ok() {
            for extension in wanting {
                extension.send_event(kind, &line);
            }
        }
    }

    /// Returns whether text is held back until an interceptor has seen it.
    pub fn holds_text(&self) -> bool {
        self.roster()
            .extensions()
            .iter()
            .any(|extension| extension.holds_text())
    }

    /// Returns the next notice. Cancel-safe.
    pub async fn next_notice(&self) -> Notice {
        self.context.notices.next().await
    }

    pub fn take_notice(&self) -> Option<Notice> {
        self.context.notices.take()
    }

    /// Adds a problem found by the embedding program to the notices.
    pub fn report(&self, problem: String) {
        self.context.notices.push(Notice::Problem(problem));
    }

    /// Sets the model that is reported to extensions that start from now on.
    pub fn set_model(&self, model: &str) {
        let current = self.context.model.lock();
        model.clone_into(&mut *current.unwrap_or_else(PoisonError::into_inner));
    }

    /// Reads all manifests again and restarts everything. The old extensions run until the new ones
    /// are ready, and keep running if one that worked fails now, or if `cancel` fires.
    pub async fn reload(&self, cancel: &CancellationToken) -> Result<(), ReloadError> {
        let mut search = self.search.clone();
        search.interceptors = self.context.interceptors.directories();
        let discovery = discover(&search);
        let old = self.roster();
        let broken = broken_by(&discovery, &old);
        if !broken.is_empty() {
            return Err(ReloadError { problems: broken });
        }
        report(&self.context, &discovery.problems);
        let new = Arc::new(Roster::start(&discovery, &self.context));
        // Each has a time limit for its start, so this ends.
        let aborted = tokio::select! {
            () = self.context.until(|| new.has_started()) => false,
            () = cancel.cancelled() => true,
        };
        let mut problems = match aborted || self.closed.load(Ordering::Relaxed) {
            true => vec!["aborted".to_owned()],
            false => new.failures(),
        };
        // Extensions that had failed before do not keep the old ones running.
        problems.retain(|problem| !old.has_failed(problem));
        if !problems.is_empty() {
            new.stop().await;
            return Err(ReloadError { problems });
        }
        *self.lock() = new;
        self.context.change();
        old.stop().await;
        Ok(())
    }

    /// Ends all extensions gracefully; returns when all their processes have ended.
    pub async fn shut_down(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.roster().stop().await;
    }

    fn roster(&self) -> Arc<Roster> {
        Arc::clone(&self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Roster>> {
        self.roster.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn report(context: &HostContext, problems: &[LoadProblem]) {
    for problem in problems {
        context.notices.push(Notice::Problem(problem.to_string()));
    }
}

/// Returns the problems with manifests of extensions that are running.
fn broken_by(discovery: &Discovery, running: &Roster) -> Vec<String> {
    discovery
        .problems
        .iter()
        .filter(|problem| {
            // The path is reported as given, which may be relative.
            let directory = std::path::absolute(&problem.path).ok();
            running
                .extensions()
                .iter()
                .any(|extension| Some(&extension.found().directory) == directory.as_ref())
        })
        .map(ToString::to_string)
        .collect()
}
