//! Commands whose responses come later, because they wait for extensions.

use std::collections::HashMap;
use std::future::{Future, pending};
use std::io;
use std::sync::Arc;

use tokio::task::{Id, JoinSet};
use tokio_util::sync::CancellationToken;
use zot_sdk::wire::{Event, InvokedData};
use zot_sdk::{InvokeError, ReloadFailure, RequestError};
use zot_wire::rpc::{CommandEntry, CommandsData, ExtensionEntry, ExtensionsData, RequestId};

use super::Server;
use super::refusal::Refusal;
use crate::queue::{Job, JobWork};

/// The most commands that may wait for extensions at a time.
///
/// Limit: a further command that waits for extensions is refused.
const MAX_PENDING_REPLIES: usize = 64;

/// The result of a command.
pub(super) enum Reply {
    Commands(Option<RequestId>, Vec<CommandEntry>),
    Invoked(Option<RequestId>, Result<Box<InvokedData>, InvokeError>),
    Reloaded(
        Option<RequestId>,
        Result<Vec<ExtensionEntry>, ReloadFailure>,
    ),
    /// The task of a command panicked, which is a bug.
    Panicked(PendingCommand),
}

/// The command a task works on.
#[derive(Clone)]
pub(super) struct PendingCommand {
    id: Option<RequestId>,
    command: &'static str,
}

/// The commands in progress. Dropping this abandons them.
#[derive(Default)]
pub(super) struct Replies {
    tasks: JoinSet<Reply>,
    pending: HashMap<Id, PendingCommand>,
    is_reloading: bool,
    /// Cancels requests to extensions.
    cancel: CancellationToken,
}

impl Replies {
    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Returns whether extensions are being restarted; prompts wait until then.
    pub(super) fn is_reloading(&self) -> bool {
        self.is_reloading
    }

    /// Ends the commands in progress with an error.
    pub(super) fn cancel(&mut self) {
        self.cancel.cancel();
        self.cancel = CancellationToken::new();
    }

    pub(super) fn abandon(&mut self) {
        self.tasks.abort_all();
        self.is_reloading = false;
    }

    /// Waits for the next reply, forever if none is pending.
    pub(super) async fn next(&mut self) -> Reply {
        loop {
            match self.tasks.join_next_with_id().await {
                Some(Ok((task, reply))) => {
                    self.pending.remove(&task);
                    return reply;
                }
                Some(Err(error)) => {
                    let command = self.pending.remove(&error.id());
                    if let (Some(command), true) = (command, error.is_panic()) {
                        return Reply::Panicked(command);
                    }
                }
                None => pending().await,
            }
        }
    }

    fn add(
        &mut self,
        command: PendingCommand,
        reply: impl Future<Output = Reply> + Send + 'static,
    ) -> Result<(), Refusal> {
        if self.tasks.len() >= MAX_PENDING_REPLIES {
            return Err(Refusal::new(
                "queue_full",
                "too many commands wait for extensions; wait for their responses",
            ));
        }
        let task = self.tasks.spawn(reply).id();
        self.pending.insert(task, command);
        Ok(())
    }
}

impl Server {
    pub(super) fn get_commands(&mut self, id: Option<RequestId>) -> Result<(), Refusal> {
        let runtime = Arc::clone(&self.runtime);
        let command = PendingCommand {
            id: id.clone(),
            command: "get_commands",
        };
        self.replies.add(command, async move {
            Reply::Commands(id, runtime.commands().await)
        })
    }

    pub(super) fn invoke_command(
        &mut self,
        id: Option<RequestId>,
        name: String,
        arguments: String,
    ) -> Result<(), Refusal> {
        let runtime = Arc::clone(&self.runtime);
        let cancel = self.replies.cancel.clone();
        let command = PendingCommand {
            id: id.clone(),
            command: "invoke_command",
        };
        self.replies.add(command, async move {
            let name = name.strip_prefix('/').unwrap_or(&name);
            let invoked = tokio::select! {
                invoked = runtime.invoke_command(name, &arguments) => invoked,
                () = cancel.cancelled() => Err(InvokeError::Cancelled),
            };
            Reply::Invoked(id, invoked.map(Box::new))
        })
    }

    pub(super) fn reload_ext(&mut self, id: Option<RequestId>) -> Result<(), Refusal> {
        // A restart would break the requests that are in progress.
        if self.running.is_some() || !self.replies.is_empty() {
            return Err(Refusal::new("busy", "busy"));
        }
        let runtime = Arc::clone(&self.runtime);
        let command = PendingCommand {
            id: id.clone(),
            command: "reload_ext",
        };
        self.replies.add(command, async move {
            Reply::Reloaded(id, runtime.reload_extensions().await)
        })?;
        self.replies.is_reloading = true;
        Ok(())
    }

    pub(super) fn finish(&mut self, reply: Reply) -> io::Result<()> {
        match reply {
            Reply::Commands(id, commands) => {
                self.succeed(id, "get_commands", CommandsData { commands })
            }
            Reply::Invoked(id, Ok(invoked)) => self.follow(id, *invoked),
            Reply::Invoked(id, Err(error)) => {
                let Refusal { code, error } = error.into();
                self.refuse(id, "invoke_command", code, error)
            }
            Reply::Panicked(PendingCommand { id, command }) => {
                if command == "reload_ext" {
                    self.replies.is_reloading = false;
                }
                let error = "the command failed internally; please report this".to_owned();
                self.refuse(id, command, "internal", error)
            }
            Reply::Reloaded(id, outcome) => {
                self.replies.is_reloading = false;
                match outcome {
                    Ok(extensions) => self.succeed(id, "reload_ext", ExtensionsData { extensions }),
                    Err(failure) => {
                        let Refusal { code, error } = failure.into();
                        self.refuse(id, "reload_ext", code, error)
                    }
                }
            }
        }
    }

    /// Carries out the action of a slash command.
    fn follow(&mut self, id: Option<RequestId>, invoked: InvokedData) -> io::Result<()> {
        const NAME: &str = "invoke_command";
        if invoked
            .prompt
            .as_ref()
            .is_some_and(|prompt| !prompt.is_empty())
        {
            let work = JobWork::Command(Box::new(invoked));
            return self.enqueue(Job { id, work }, NAME);
        }
        let display = invoked.display.clone();
        let extension = invoked.extension.clone();
        self.succeed(id, NAME, invoked)?;
        match display {
            Some(text) => self.send(Event::ExtDisplay { extension, text }),
            None => Ok(()),
        }
    }
}

impl From<InvokeError> for Refusal {
    fn from(error: InvokeError) -> Self {
        let code = match &error {
            InvokeError::Unknown(_) => "unknown_command",
            InvokeError::Failed {
                error: RequestError::NotRunning,
                ..
            } => "unavailable",
            InvokeError::Cancelled => "aborted",
            InvokeError::Failed { .. } => "extension",
        };
        Self::new(code, error)
    }
}

impl From<ReloadFailure> for Refusal {
    fn from(failure: ReloadFailure) -> Self {
        let code = match &failure {
            ReloadFailure::Busy(_) => "busy",
            ReloadFailure::Reload(_) => "extension",
        };
        Self::new(code, failure)
    }
}
