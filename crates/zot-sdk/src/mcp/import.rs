//! Servers of other clients.

use std::env;
use std::path::{Path, PathBuf};

use zot_mcp::configuration::edit::{EditError, Editor, OnConflict, Scope};
use zot_mcp::configuration::import::{
    Client, FoundServer, ImportPlaces, LeftOutServer, servers_of_client,
};
use zot_mcp::configuration::{redaction, written};

use crate::workspace::Workspace;

/// Whether anything is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportMode {
    /// Into our files.
    Write,
    /// Nothing: the report says what would happen.
    Preview,
}

/// What was found at a client, and what became of it.
#[derive(Debug, Clone)]
pub struct ImportReport {
    /// The client.
    pub client: Client,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// The servers that can be imported.
    pub servers: Vec<ImportedServer>,
    /// Those that cannot.
    pub left_out: Vec<LeftOutServer>,
    /// Files that cannot be read, with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// A server that can be imported.
#[derive(Debug, Clone)]
pub struct ImportedServer {
    /// Its name here.
    pub name: String,
    /// The kind of its address: stdio, http or sse.
    pub kind: &'static str,
    /// Its command line or URL, without secrets.
    pub target: String,
    /// The file it comes from.
    pub from: PathBuf,
    /// The file it goes into.
    pub into: PathBuf,
    /// Which of our files that is.
    pub scope: Scope,
    /// What the user should know or do.
    pub notes: Vec<String>,
    /// What became of it.
    pub outcome: ImportOutcome,
}

/// What became of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportOutcome {
    /// It is in the file now, or would be.
    Imported,
    /// The file has a server of that name, which stays.
    Exists,
    /// The file was not changed.
    Failed {
        /// The reason.
        reason: String,
    },
}

/// Imports the servers of `client`: those of its user into the user's file, those of the project into the
/// project's, unless `scope` says where. The project's file has to be approved before they start.
pub fn import(
    workspace: &Workspace,
    client: Client,
    scope: Option<Scope>,
    on_conflict: OnConflict,
    mode: ImportMode,
) -> ImportReport {
    let home = workspace.user_home.as_deref().unwrap_or(Path::new("/"));
    let found = servers_of_client(
        client,
        &ImportPlaces {
            home,
            cwd: &workspace.cwd,
            env: &|name| env::var(name).ok(),
        },
    );
    let servers = found.found.into_iter();
    ImportReport {
        client,
        files: found.files,
        servers: servers
            .map(|server| {
                let scope = scope.unwrap_or(server.scope);
                one(workspace, server, scope, on_conflict, mode)
            })
            .collect(),
        left_out: found.left_out,
        unreadable: found.unreadable,
    }
}

fn one(
    workspace: &Workspace,
    server: FoundServer,
    scope: Scope,
    on_conflict: OnConflict,
    mode: ImportMode,
) -> ImportedServer {
    let path = scope.path(&workspace.zot_home, &workspace.cwd);
    let editor = Editor { path: &path, scope };
    let name = &server.entry.name;
    let outcome = match mode {
        ImportMode::Write => editor
            .add(name, &written(&server.entry), on_conflict)
            .map(drop),
        ImportMode::Preview => match editor.contains(name) {
            Ok(true) if on_conflict == OnConflict::Refuse => Err(EditError::Exists {
                name: name.clone(),
                path: path.clone(),
            }),
            Ok(_) => Ok(()),
            Err(error) => Err(error),
        },
    };
    ImportedServer {
        name: name.clone(),
        kind: server.entry.address.kind(),
        target: redaction::target(&server.entry.address),
        from: server.file,
        scope,
        notes: server.notes,
        outcome: match outcome {
            Ok(()) => ImportOutcome::Imported,
            Err(EditError::Exists { .. }) => ImportOutcome::Exists,
            Err(error) => ImportOutcome::Failed {
                reason: crate::causes::with_causes(&error).to_string(),
            },
        },
        into: path,
    }
}
