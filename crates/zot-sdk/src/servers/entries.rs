//! Servers as front ends and the pipe show them.

use zot_mcp::entry::EntryOrigin;
use zot_mcp::{ServerSet, ServerStatus};
use zot_wire::rpc::McpServer;

use super::Servers;

impl Servers {
    /// Returns the servers and their states, disabled ones included.
    pub(crate) fn entries(&self) -> Vec<McpServer> {
        self.set().map_or_else(Vec::new, |set| entries(&set))
    }

    /// Returns the next server whose state or lists have changed, beginning with all of them; never, while
    /// there are no changes. Cancel-safe, for one reader.
    pub(crate) async fn next_change(&self) -> McpServer {
        let mut revisions = self.revision.subscribe();
        loop {
            revisions.mark_unchanged();
            let set = self.set();
            let generation = set.as_ref().map_or(0, |set| set.generation());
            if let Some(changed) = set.as_ref().and_then(|set| self.unreported(set)) {
                return changed;
            }
            let set_changes = async {
                match &set {
                    Some(set) => set.changed(generation).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = set_changes => {}
                // The sender is ours, so it cannot be gone.
                _ = revisions.changed() => {}
            }
        }
    }

    fn unreported(&self, set: &ServerSet) -> Option<McpServer> {
        let entries = entries(set);
        let mut state = self.lock();
        let changed = entries
            .into_iter()
            .find(|entry| state.reported.get(&entry.name) != Some(entry))?;
        state.reported.insert(changed.name.clone(), changed.clone());
        Some(changed)
    }
}

fn entries(set: &ServerSet) -> Vec<McpServer> {
    set.servers().into_iter().map(entry).collect()
}

fn entry(status: ServerStatus) -> McpServer {
    McpServer {
        name: status.name,
        origin: match status.origin {
            EntryOrigin::User => "user",
            EntryOrigin::Project => "project",
            EntryOrigin::Program => "program",
        }
        .to_owned(),
        state: status.state.name().to_owned(),
        error: status.state.reason().map(str::to_owned),
        protocol_version: status.version,
        product: status.product,
        tools: status.tools as u64,
        prompts: status.prompts as u64,
        resources: status.resources as u64,
        notes: status.notes,
    }
}
