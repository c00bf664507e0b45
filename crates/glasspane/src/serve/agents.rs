//! The agents that a server was told to watch, by each way in which they come.

use std::future;
use std::path::Path;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{ServeArguments, tell};
use crate::attach::{
    BindError, FileFeed, Launch, Listener, accept_agents, default_socket, run_agent,
};
use crate::program::Failure;
use crate::source::SourceKind;
use crate::{Attached, Hub};

/// How much of a command line is a name.
const LABEL_BYTES: usize = 80;

/// Tasks that bring agents to the hub. A task ends with what is to be told of it.
pub(super) struct Agents {
    hub: Hub,
    cancel: CancellationToken,
    tasks: JoinSet<Option<String>>,
}

impl Agents {
    pub(super) fn new(hub: Hub, cancel: CancellationToken) -> Self {
        Self {
            hub,
            cancel,
            tasks: JoinSet::new(),
        }
    }

    pub(super) fn attach(&mut self, arguments: &ServeArguments) -> Result<(), Failure> {
        self.listen(arguments.socket.as_deref())?;
        for path in &arguments.files {
            self.follow(path)?;
        }
        for command in &arguments.commands {
            self.start(command);
        }
        Ok(())
    }

    fn listen(&mut self, socket: Option<&Path>) -> Result<(), Failure> {
        let path = socket.map_or_else(default_socket, Path::to_owned);
        let listener = match Listener::bind(&path) {
            Ok(listener) => listener,
            // Nobody asked for this one: the page is of use without it.
            Err(BindError::Live(_)) if socket.is_none() => {
                tell(&format!(
                    "another glasspane has {}: agents cannot attach here unless --socket names another",
                    path.display()
                ));
                return Ok(());
            }
            Err(error) => return Err(Failure::Failed(error.to_string())),
        };
        tell(&format!("agents attach to {}", path.display()));
        let (hub, cancel) = (self.hub.clone(), self.cancel.clone());
        self.tasks.spawn(async move {
            accept_agents(hub, listener, cancel).await;
            None
        });
        Ok(())
    }

    fn follow(&mut self, path: &Path) -> Result<(), Failure> {
        let label = path.file_name().unwrap_or(path.as_os_str());
        let attached = Attached {
            label: label.to_string_lossy().into_owned(),
            ..Attached::default()
        };
        let feed = FileFeed::new(&self.hub, path, attached, None)
            .map_err(|error| Failure::Usage(error.to_string()))?;
        let cancel = self.cancel.clone();
        self.tasks.spawn(async move {
            let error = feed.follow(cancel).await.err();
            error.map(|error| error.to_string())
        });
        Ok(())
    }

    fn start(&mut self, command: &str) {
        let program = command.split_whitespace().next().unwrap_or_default();
        let launch = Launch {
            label: command[..command.floor_char_boundary(LABEL_BYTES)].to_owned(),
            command: ["sh", "-c", command].map(Into::into).to_vec(),
            kind: SourceKind::of_program(Path::new(program)),
            ..Launch::default()
        };
        let (hub, cancel) = (self.hub.clone(), self.cancel.clone());
        self.tasks.spawn(async move {
            match run_agent(&hub, launch, cancel).await {
                Ok(_) => None,
                Err(error) => Some(error.to_string()),
            }
        });
    }

    /// Tells what goes wrong, for as long as it is polled.
    pub(super) async fn report(&mut self) {
        while let Some(ended) = self.tasks.join_next().await {
            if let Ok(Some(words)) = ended {
                tell(&words);
            }
        }
        future::pending().await
    }

    /// Waits for agents that were started to end. They have been told to, and have a limit of their own.
    pub(super) async fn end(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}
