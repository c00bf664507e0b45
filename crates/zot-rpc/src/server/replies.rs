//! Commands whose answer takes time: extensions are asked, or started anew.

use std::future::{Future, pending};
use std::io;

use tokio::task::JoinSet;
use zot_sdk::{Event, InvokeError, InvokedData, ReloadFailure, RequestError};
use zot_wire::rpc::{CommandEntry, CommandsData, ExtensionEntry, ExtensionsData, RequestId};

use super::Server;
use super::commands::Refusal;
use crate::queue::{Job, JobWork};

/// How many commands may wait for extensions at a time.
const MAX_REPLIES: usize = 64;

/// What a command came to.
pub(super) enum Reply {
    Commands(Option<RequestId>, Vec<CommandEntry>),
    Invoked(Option<RequestId>, Result<Box<InvokedData>, InvokeError>),
    Reloaded(
        Option<RequestId>,
        Result<Vec<ExtensionEntry>, ReloadFailure>,
    ),
}

/// The commands under way. Dropping this abandons them.
#[derive(Default)]
pub(super) struct Replies {
    tasks: JoinSet<Reply>,
    reloading: bool,
}

impl Replies {
    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Prompts wait while extensions are started anew.
    pub(super) fn is_reloading(&self) -> bool {
        self.reloading
    }

    pub(super) fn abandon(&mut self) {
        self.tasks.abort_all();
        self.reloading = false;
    }

    /// The next reply; never returns while there is none to come.
    pub(super) async fn next(&mut self) -> Reply {
        loop {
            match self.tasks.join_next().await {
                Some(Ok(reply)) => return reply,
                // Abandoned.
                Some(Err(_)) => {}
                None => pending().await,
            }
        }
    }

    fn add(&mut self, reply: impl Future<Output = Reply> + Send + 'static) -> Result<(), Refusal> {
        if self.tasks.len() >= MAX_REPLIES {
            return Err(Refusal::new(
                "queue_full",
                "too many commands wait for extensions; wait for their responses",
            ));
        }
        self.tasks.spawn(reply);
        Ok(())
    }
}

impl Server {
    pub(super) fn get_commands(&mut self, id: Option<RequestId>) -> Result<(), Refusal> {
        let runtime = std::sync::Arc::clone(&self.runtime);
        self.replies
            .add(async move { Reply::Commands(id, runtime.commands().await) })
    }

    pub(super) fn invoke_command(
        &mut self,
        id: Option<RequestId>,
        name: String,
        arguments: String,
    ) -> Result<(), Refusal> {
        let runtime = std::sync::Arc::clone(&self.runtime);
        self.replies.add(async move {
            let name = name.strip_prefix('/').unwrap_or(&name);
            let invoked = runtime.invoke_command(name, &arguments).await;
            Reply::Invoked(id, invoked.map(Box::new))
        })
    }

    pub(super) fn reload_ext(&mut self, id: Option<RequestId>) -> Result<(), Refusal> {
        if self.running.is_some() || self.replies.reloading {
            return Err(Refusal::new("busy", "busy"));
        }
        let runtime = std::sync::Arc::clone(&self.runtime);
        self.replies
            .add(async move { Reply::Reloaded(id, runtime.reload_extensions().await) })?;
        self.replies.reloading = true;
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
            Reply::Reloaded(id, outcome) => {
                self.replies.reloading = false;
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

    /// Does what a slash command asks for.
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
            Some(text) => self.report(Event::ExtDisplay { extension, text }),
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
