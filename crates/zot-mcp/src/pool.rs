//! The servers of a process: each runs once, whatever number of agents uses it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use zot_extension_contract::LaunchRules;
use zot_provider::HttpClient;

use crate::entry::{Address, ServerEntry};
use crate::eras::Eras;
use crate::results::Results;
use crate::server::{Lease, Server, live};
use crate::set::ServerSet;

/// What every server needs.
#[derive(Clone)]
pub struct PoolSettings {
    /// `$ZOT_HOME`, for logs, eras and logins.
    pub home: PathBuf,
    pub http: HttpClient,
    /// The version of zot, which servers are told.
    pub version: String,
    /// What applies to every program, whatever its entry says.
    pub rules: LaunchRules,
}

/// What all servers of a pool use.
pub(crate) struct Shelf {
    pub(crate) settings: PoolSettings,
    pub(crate) eras: Eras,
    pub(crate) results: Results,
    /// Where the agents of this process work, each once.
    workspaces: Mutex<Vec<PathBuf>>,
}

impl Shelf {
    pub(crate) fn workspaces(&self) -> Vec<PathBuf> {
        let known = self.workspaces.lock();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add_workspace(&self, workspace: &Path) {
        let known = self.workspaces.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        if !known.iter().any(|known| known == workspace) {
            known.push(workspace.to_owned());
        }
    }
}

/// The servers of a process. It belongs to the executor in which the first set was opened.
///
/// Dropping it kills the servers; [`shut_down`](Self::shut_down) ends them in order.
pub struct Pool {
    shelf: Arc<Shelf>,
    servers: Mutex<Vec<Weak<Server>>>,
    tasks: Mutex<JoinSet<()>>,
    stop: CancellationToken,
}

impl Pool {
    pub fn new(settings: PoolSettings) -> Arc<Self> {
        Arc::new(Self {
            shelf: Arc::new(Shelf {
                eras: Eras::new(&settings.home),
                results: Results::new(settings.home.join("mcp").join("results")),
                workspaces: Mutex::default(),
                settings,
            }),
            servers: Mutex::default(),
            tasks: Mutex::default(),
            stop: CancellationToken::new(),
        })
    }

    /// Returns where results that are too long for a conversation are kept, for the tools that read files.
    pub fn results_directory(&self) -> &Path {
        self.shelf.results.directory()
    }

    /// Starts the servers of `entries` that do not run yet, in the background, and returns them as a set. Their programs
    /// run in `cwd` unless their entries say otherwise. Must be called inside a tokio runtime.
    pub fn open(self: &Arc<Self>, entries: Vec<ServerEntry>, cwd: &Path) -> Arc<ServerSet> {
        self.shelf.add_workspace(cwd);
        let generation = Arc::new(watch::Sender::new(0));
        let members = entries
            .into_iter()
            .map(|entry| {
                let lease = self.lease(&entry, cwd, &generation);
                (entry, lease)
            })
            .collect();
        Arc::new(ServerSet::new(members, generation))
    }

    fn lease(
        &self,
        entry: &ServerEntry,
        cwd: &Path,
        generation: &Arc<watch::Sender<u64>>,
    ) -> Lease {
        let cwd = match &entry.address {
            Address::Stdio { cwd: Some(own), .. } => cwd.join(own),
            Address::Stdio { .. } | Address::Http { .. } | Address::Sse { .. } => cwd.to_owned(),
        };
        let mut servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        servers.retain(|server| server.strong_count() > 0);
        let running = servers.iter().filter_map(Weak::upgrade);
        let mut same = running.filter(|server| server.is_the_same(entry, &cwd));
        if let Some(lease) = same.find_map(|server| server.lease(generation)) {
            return lease;
        }
        let (server, lease) = Server::start(entry.clone(), &cwd, &self.shelf, generation);
        servers.push(Arc::downgrade(&server));
        if entry.enabled {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            while tasks.try_join_next().is_some() {}
            tasks.spawn(live(server, self.stop.clone()));
        }
        lease
    }

    /// Ends every server, and waits for that. Nothing they started is left.
    pub async fn shut_down(&self) {
        self.stop.cancel();
        let mut tasks = {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        while tasks.join_next().await.is_some() {}
    }
}
