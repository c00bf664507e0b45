//! Finds the servers that a configuration asks for, and the pool that runs them.

use std::env;
use std::sync::Arc;

use zot_mcp::configuration::{
    Configuration, ConfigurationError, ProjectFile, ProjectServers, Sources, UserServers,
};
use zot_mcp::entry::ServerEntry;
use zot_mcp::{Pool, PoolSettings};

use super::Servers;
use super::state::PoolUse;
use crate::config::McpChoice;
use crate::known_secrets::launch_rules;
use crate::runtime::VERSION;
use crate::workspace::Workspace;

/// The servers that a configuration asks for. None has been started.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) entries: Vec<ServerEntry>,
    /// The project's file, whether or not it counts.
    pub(crate) project: Option<ProjectFile>,
    pub(crate) warnings: Vec<String>,
}

/// Reads the files that `choice` names.
pub(crate) fn find(choice: &McpChoice, workspace: &Workspace) -> Result<Found, ConfigurationError> {
    let reads_files =
        choice.user || choice.project != ProjectServers::Skip || !choice.given.is_empty();
    let mut found = Found::default();
    if reads_files {
        let configuration = Configuration::load(&Sources {
            home: &workspace.zot_home,
            cwd: &workspace.cwd,
            user: match choice.user {
                true => UserServers::Read,
                false => UserServers::Skip,
            },
            project: choice.project,
            given: &choice.given,
            env: &|name| env::var(name).ok(),
        })?;
        found.entries = configuration.entries();
        found.project = configuration.project;
        found.warnings = configuration
            .problems
            .iter()
            .map(ToString::to_string)
            .collect();
    }
    for entry in &choice.servers {
        found.entries.retain(|known| known.name != entry.name);
        found.entries.push(entry.clone());
    }
    Ok(found)
}

impl Servers {
    /// Returns the pool, which is created when the first server is needed.
    pub(super) fn pool(&self, used: &mut PoolUse) -> Arc<Pool> {
        let own = match used {
            PoolUse::Shared(pool) => return Arc::clone(pool),
            PoolUse::Own(own) => own,
        };
        let pool = own.get_or_insert_with(|| {
            Pool::new(PoolSettings {
                home: self.home.clone(),
                http: self.http.clone().unwrap_or_default(),
                version: VERSION.to_owned(),
                rules: launch_rules(&self.home, self.minimum).beside_commands_at(self.commands),
            })
        });
        Arc::clone(pool)
    }
}
