//! The configured servers, and how they are.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use zot_conversation::Tool as _;
use zot_mcp::configuration::{Problem, ProjectFile, ProjectServers, ProjectState};
use zot_mcp::entry::ServerEntry;
use zot_mcp::{McpTool, Pool, PoolSettings, ServerSet, ServerState, ServerStatus};
use zot_provider::HttpClient;

use super::change::ChangeError;
use super::configuration;
use crate::configuration::least_of_servers;
use crate::extensions::Starting;
use crate::known_secrets::launch_rules;
use crate::runtime::VERSION;
use crate::workspace::Workspace;

/// Every configured server.
#[derive(Clone, Default)]
pub struct ServerList {
    /// In the order in which they count: the user's, then the project's.
    pub servers: Vec<ListedServer>,
    /// What was left out or is probably a mistake.
    pub problems: Vec<Problem>,
    /// The project's file, if there is one.
    pub project: Option<ProjectFile>,
}

/// A configured server.
#[derive(Clone)]
pub struct ListedServer {
    /// As it is written, with `${VAR}`. Not for display: see
    /// [`redaction`](super::redaction).
    pub written: ServerEntry,
    /// With variables expanded.
    pub entry: ServerEntry,
    /// The file that describes it.
    pub file: Option<PathBuf>,
    /// Whether zot starts it.
    pub standing: Standing,
    /// How it is, if it was started.
    pub status: Option<ServerStatus>,
    /// Its tools, if it was started.
    pub tools: Vec<ServerTool>,
}

/// A tool of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerTool {
    /// The server's name for it.
    pub name: String,
    /// The model's name for it.
    pub model_name: String,
    /// What the model reads about it.
    pub description: String,
}

impl ServerTool {
    pub(super) fn of(tool: &Arc<McpTool>) -> Self {
        let definition = tool.definition();
        Self {
            name: tool.tool().to_owned(),
            model_name: definition.name.clone(),
            description: definition.description.clone(),
        }
    }
}

/// Whether zot starts a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It does.
    Enabled,
    /// Its entry says not to.
    Disabled,
    /// The user has not been asked about the project's file.
    NotApproved,
    /// The user has refused the project's file.
    Refused,
}

impl Standing {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
            Self::NotApproved => "not_approved",
            Self::Refused => "refused",
        }
    }
}

/// Lists the servers, and starts the enabled ones if asked to, for at most `patience`.
pub async fn list(workspace: &Workspace, starting: Starting, patience: Duration) -> ServerList {
    let mut list = configured(workspace);
    if starting == Starting::Enabled {
        start(workspace, &mut list.servers, patience).await;
    }
    list
}

/// Returns the server `name`, started if asked to and if it may be.
pub async fn find(
    workspace: &Workspace,
    name: &str,
    starting: Starting,
    patience: Duration,
) -> Result<ListedServer, ChangeError> {
    let servers = configured(workspace).servers;
    let known: Vec<String> = servers
        .iter()
        .map(|server| server.written.name.clone())
        .collect();
    let found = servers
        .into_iter()
        .find(|server| server.written.name == name);
    let mut found = found.ok_or_else(|| ChangeError::Unknown {
        name: name.to_owned(),
        known,
    })?;
    if starting == Starting::Enabled {
        start(workspace, std::slice::from_mut(&mut found), patience).await;
    }
    Ok(found)
}

fn configured(workspace: &Workspace) -> ServerList {
    let loaded = configuration(workspace, ProjectServers::IfApproved);
    let mut servers: Vec<ListedServer> = loaded
        .servers
        .into_iter()
        .map(|server| ListedServer {
            standing: match server.entry.enabled {
                true => Standing::Enabled,
                false => Standing::Disabled,
            },
            written: server.written,
            entry: server.entry,
            file: server.file,
            status: None,
            tools: Vec::new(),
        })
        .collect();
    let waiting = loaded.project.iter().filter_map(|file| match file.state {
        ProjectState::Unanswered => Some((file, Standing::NotApproved)),
        ProjectState::Refused => Some((file, Standing::Refused)),
        ProjectState::Included | ProjectState::Skipped => None,
    });
    for (file, standing) in waiting {
        servers.extend(file.servers.iter().map(|server| ListedServer {
            written: server.clone(),
            entry: server.clone(),
            file: Some(file.path.clone()),
            standing,
            status: None,
            tools: Vec::new(),
        }));
    }
    ServerList {
        servers,
        problems: loaded.problems,
        project: loaded.project,
    }
}

/// Starts those that may be started, until they answer or fail.
async fn start(workspace: &Workspace, servers: &mut [ListedServer], patience: Duration) {
    let mut startable: Vec<&mut ListedServer> = servers
        .iter_mut()
        .filter(|server| server.standing == Standing::Enabled)
        .collect();
    if startable.is_empty() {
        return;
    }
    let entries = startable.iter().map(|server| server.entry.clone());
    let running = Running::start(workspace, entries.collect());
    running.settled(patience).await;
    let tools = running.set.tools();
    for (server, status) in startable.iter_mut().zip(running.set.servers()) {
        let own = tools.iter().filter(|tool| tool.server() == status.name);
        server.tools = own.map(ServerTool::of).collect();
        server.status = Some(status);
    }
    running.end().await;
}

/// Servers that were started to look at them.
pub(super) struct Running {
    pool: Arc<Pool>,
    pub(super) set: Arc<ServerSet>,
}

impl Running {
    /// Starts servers in the background.
    pub(super) fn start(workspace: &Workspace, entries: Vec<ServerEntry>) -> Self {
        let pool = Pool::new(PoolSettings {
            home: workspace.zot_home.clone(),
            http: HttpClient::new(),
            version: VERSION.to_owned(),
            rules: launch_rules(&workspace.zot_home, least_of_servers(workspace)),
        });
        let set = pool.open(entries, &workspace.cwd);
        Self { pool, set }
    }

    /// Waits until every server answers or has failed once: what fails at first is worth knowing here. A
    /// server that has not answered after `patience` is still starting.
    pub(super) async fn settled(&self, patience: Duration) {
        let settled = async {
            let mut seen = self.set.generation();
            while self
                .set
                .servers()
                .iter()
                .any(|server| server.state == ServerState::Starting)
            {
                seen = self.set.changed(seen).await;
            }
        };
        // The state of each says what became of it.
        let _ = tokio::time::timeout(patience, settled).await;
    }

    /// Ends the servers.
    pub(super) async fn end(self) {
        let Self { pool, set } = self;
        drop(set);
        pool.shut_down().await;
    }
}
