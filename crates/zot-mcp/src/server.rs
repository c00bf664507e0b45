//! A server that runs, or should: shared by every set it is in.

mod life;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::{Notify, watch};
use zot_conversation::{ContentBlock, ToolInvocation, ToolOutput};

use crate::catalog::Catalog;
use crate::entry::ServerEntry;
use crate::error::McpError;
use crate::pool::PoolSettings;
use crate::status::{PromptMessage, ServerState, ServerStatus};

pub(crate) use life::live;

/// A server, whether it runs or not.
pub(crate) struct Server {
    /// As the set that came first describes it.
    pub(crate) entry: ServerEntry,
    /// Where its program runs, and what it hears as the root.
    pub(crate) cwd: PathBuf,
    pub(crate) settings: Arc<PoolSettings>,
    shared: Mutex<Shared>,
    /// Notified when someone wants it started anew.
    restart: Notify,
    /// Notified when the number of users is zero.
    unused: Notify,
}

struct Shared {
    state: ServerState,
    catalog: Arc<Catalog>,
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
        settings: &Arc<PoolSettings>,
        set: &Arc<watch::Sender<u64>>,
    ) -> (Arc<Self>, Lease) {
        let state = match entry.enabled {
            true => ServerState::Starting,
            false => ServerState::Disabled,
        };
        let server = Arc::new(Self {
            entry,
            cwd: cwd.to_owned(),
            settings: Arc::clone(settings),
            shared: Mutex::new(Shared {
                state,
                catalog: Arc::default(),
                users: 1,
                has_ended: false,
                sets: vec![Arc::downgrade(set)],
            }),
            restart: Notify::new(),
            unused: Notify::new(),
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
            && self.entry.permissions == entry.permissions
            && self.entry.oauth == entry.oauth
            && self.entry.enabled == entry.enabled
            && self.cwd == cwd
    }

    pub(crate) fn state(&self) -> ServerState {
        self.lock().state.clone()
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
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
            version: None,
            product: None,
            instructions: None,
            tools: catalog.tools.len(),
            prompts: catalog.prompts.len(),
            resources: catalog.resources.len(),
            notes: catalog.notes.clone(),
            log: log_path(&self.settings.home, &entry.name),
        }
    }

    pub(crate) fn restart(&self) {
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
        for set in sets.iter().filter_map(Weak::upgrade) {
            set.send_modify(|generation| *generation += 1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn call_tool(
        &self,
        _tool: &str,
        _invocation: &ToolInvocation<'_>,
    ) -> Result<ToolOutput, McpError> {
        Err(self.not_available())
    }

    pub(crate) async fn get_prompt(
        &self,
        _name: &str,
        _arguments: &BTreeMap<String, String>,
    ) -> Result<Vec<PromptMessage>, McpError> {
        Err(self.not_available())
    }

    pub(crate) async fn read_resource(&self, _uri: &str) -> Result<Vec<ContentBlock>, McpError> {
        Err(self.not_available())
    }

    fn not_available(&self) -> McpError {
        let state = self.state();
        McpError::NotAvailable {
            server: self.entry.name.clone(),
            reason: state.reason().unwrap_or_else(|| state.name()).to_owned(),
        }
    }
}

/// Returns where the log of a server is.
pub fn log_path(home: &Path, server: &str) -> PathBuf {
    let is_safe = |character: char| character.is_alphanumeric() || "-_.".contains(character);
    let name = server.replace(|character| !is_safe(character), "_");
    home.join("logs").join(format!("mcp-{name}.log"))
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
        let users = {
            let mut shared = self.server.lock();
            shared.users -= 1;
            shared.users
        };
        if users == 0 {
            self.server.unused.notify_one();
        }
    }
}
