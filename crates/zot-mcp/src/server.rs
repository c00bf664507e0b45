//! A server that runs, or should: shared by every set it is in.

mod calls;
mod life;
mod upkeep;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Notify, watch};

use crate::catalog::Catalog;
use crate::connection::Connection;
use crate::entry::ServerEntry;
use crate::log::{ServerLog, log_path};
use crate::pool::Shelf;
use crate::status::{ServerState, ServerStatus};

pub(crate) use life::live;

/// A server, whether it runs or not.
pub(crate) struct Server {
    /// As the set that came first describes it.
    pub(crate) entry: ServerEntry,
    /// Where its program runs, and what it hears as the root.
    pub(crate) cwd: PathBuf,
    shelf: Arc<Shelf>,
    log: Arc<ServerLog>,
    shared: Mutex<Shared>,
    /// Changes with every change of the state.
    changes: watch::Sender<u64>,
    /// Notified when someone wants it started anew.
    restart: Notify,
    /// Notified when a set has left.
    left: Notify,
    /// Notified when someone looked at the lists, which may be stale.
    looked: Notify,
}

struct Shared {
    state: ServerState,
    catalog: Arc<Catalog>,
    connection: Option<Arc<Connection>>,
    /// What it said about itself when it was last ready.
    version: Option<String>,
    product: Option<String>,
    instructions: Option<String>,
    users: usize,
    /// Its task has ended, so it cannot be used again.
    has_ended: bool,
    /// Whom to tell about changes.
    sets: Vec<Weak<watch::Sender<u64>>>,
}

impl Server {
    /// Makes a server with its first user; its life is [`live`].
    pub(crate) fn start(
        entry: ServerEntry,
        cwd: &Path,
        shelf: &Arc<Shelf>,
        set: &Arc<watch::Sender<u64>>,
    ) -> (Arc<Self>, Lease) {
        let state = match entry.enabled {
            true => ServerState::Starting,
            false => ServerState::Disabled,
        };
        let server = Arc::new(Self {
            log: Arc::new(ServerLog::new(&shelf.settings.home, &entry.name)),
            entry,
            cwd: cwd.to_owned(),
            shelf: Arc::clone(shelf),
            shared: Mutex::new(Shared {
                state,
                catalog: Arc::default(),
                connection: None,
                version: None,
                product: None,
                instructions: None,
                users: 1,
                has_ended: false,
                sets: vec![Arc::downgrade(set)],
            }),
            changes: watch::Sender::new(0),
            restart: Notify::new(),
            left: Notify::new(),
            looked: Notify::new(),
        });
        let lease = Lease {
            server: Arc::clone(&server),
        };
        (server, lease)
    }

    /// Makes a set a user of it; `None` if it has ended.
    pub(crate) fn lease(self: &Arc<Self>, set: &Arc<watch::Sender<u64>>) -> Option<Lease> {
        let mut shared = self.lock();
        if shared.has_ended {
            return None;
        }
        shared.users += 1;
        shared.sets.retain(|set| set.strong_count() > 0);
        shared.sets.push(Arc::downgrade(set));
        Some(Lease {
            server: Arc::clone(self),
        })
    }

    /// Whether `entry` in `cwd` would be the same process.
    pub(crate) fn is_the_same(&self, entry: &ServerEntry, cwd: &Path) -> bool {
        self.entry.name == entry.name
            && self.entry.address == entry.address
            && self.entry.protocol == entry.protocol
            && self.entry.sandbox == entry.sandbox
            && self.entry.permissions == entry.permissions
            && self.entry.oauth == entry.oauth
            && self.entry.enabled == entry.enabled
            && self.entry.project == entry.project
            && self.cwd == cwd
    }

    pub(crate) fn state(&self) -> ServerState {
        self.lock().state.clone()
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.looked.notify_one();
        Arc::clone(&self.lock().catalog)
    }

    /// Returns its state for the set that calls it `entry`.
    pub(crate) fn status(&self, entry: &ServerEntry) -> ServerStatus {
        let shared = self.lock();
        let catalog = &shared.catalog;
        ServerStatus {
            name: entry.name.clone(),
            origin: entry.origin.clone(),
            state: shared.state.clone(),
            version: shared.version.clone(),
            product: shared.product.clone(),
            instructions: shared.instructions.clone(),
            tools: catalog.tools.items.len(),
            prompts: catalog.prompts.items.len(),
            resources: catalog.resources.items.len(),
            notes: catalog.notes(),
            log: log_path(&self.shelf.settings.home, &entry.name),
        }
    }

    /// Returns what the user has to hear, and has not heard yet.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        self.log.take_warnings()
    }

    /// Ends it, if it runs, and starts it anew.
    pub(crate) fn restart(&self) {
        if !self.entry.enabled {
            return;
        }
        // At once, so that the next call waits instead of using what is about to end.
        self.change(|shared| {
            shared.state = ServerState::Starting;
            shared.connection = None;
        });
        self.restart.notify_one();
    }

    fn set_state(&self, state: ServerState) {
        self.change(|shared| shared.state = state);
    }

    /// Changes something, and tells the sets about it.
    fn change(&self, change: impl FnOnce(&mut Shared)) {
        let sets = {
            let mut shared = self.lock();
            change(&mut shared);
            shared.sets.clone()
        };
        self.changes.send_modify(|change| *change += 1);
        for set in sets.iter().filter_map(Weak::upgrade) {
            set.send_modify(|generation| *generation += 1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The use of a server by one set.
pub(crate) struct Lease {
    server: Arc<Server>,
}

impl Lease {
    pub(crate) fn server(&self) -> &Arc<Server> {
        &self.server
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.server.lock().users -= 1;
        self.server.left.notify_one();
    }
}
