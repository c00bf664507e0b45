//! Changes to the files of user and project.

use std::collections::BTreeMap;
use std::path::PathBuf;

use zot_mcp::configuration::edit::{EditError, Edited, Editor, OnConflict, Scope};
use zot_mcp::configuration::{ApprovalError, ProjectServers, redaction, written};
use zot_mcp::entry::{Address, EntryOrigin, OAuthSettings, ServerEntry};
use zot_mcp::oauth::LoginStore;

use super::approve::keep_approval;
use super::configuration;
use crate::workspace::Workspace;

/// A server to add.
#[derive(Debug, Clone)]
pub struct NewServer {
    /// Its name, which its tools' names begin with.
    pub name: String,
    /// Where it is.
    pub address: Address,
    /// What a login needs, where that cannot be found out.
    pub oauth: Option<OAuthSettings>,
}

/// A server that was added.
#[derive(Debug, Clone)]
pub struct AddedServer {
    /// The changed file.
    pub path: PathBuf,
    /// Probable mistakes.
    pub warnings: Vec<String>,
}

/// A server that was removed.
#[derive(Debug, Clone)]
pub struct RemovedServer {
    /// The changed file.
    pub path: PathBuf,
    /// Whether its login was forgotten, because no other server has its address.
    pub is_logged_out: bool,
}

/// Whether a server was enabled or disabled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Switched {
    /// It was, in this file.
    Changed(PathBuf),
    /// It was so before.
    Already,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The entry is wrong, or the file cannot be changed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The file was changed, but the approval of its new content was not kept.
    #[error(transparent)]
    Approval(#[from] ApprovalError),
    /// No file describes such a server.
    #[error("unknown MCP server {name:?}{}", list_of_known(.known))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
    /// Both files describe such a server.
    #[error(
        "MCP server {name:?} is in your file and in the project's: say which with -s user or -s project"
    )]
    Ambiguous {
        /// The name that was given.
        name: String,
    },
}

fn list_of_known(names: &[String]) -> String {
    match names.is_empty() {
        true => ": none is configured; add one with zot mcp add".to_owned(),
        false => format!("; known: {}", names.join(", ")),
    }
}

/// Adds a server.
pub fn add(
    workspace: &Workspace,
    scope: Scope,
    server: &NewServer,
    on_conflict: OnConflict,
) -> Result<AddedServer, ChangeError> {
    let entry = ServerEntry {
        name: server.name.clone(),
        address: server.address.clone(),
        timeout: None,
        enabled: true,
        exposure: None,
        tool_exposure: Vec::new(),
        protocol: None,
        sandbox: None,
        permissions: None,
        oauth: server.oauth.clone(),
        origin: EntryOrigin::User,
        project: None,
    };
    let mut added = add_json(
        workspace,
        scope,
        &server.name,
        &written(&entry),
        on_conflict,
    )?;
    if scope == Scope::Project {
        added.warnings.extend(shared_secrets(&server.address));
    }
    Ok(added)
}

/// Adds a server that is described by the JSON of an entry.
pub fn add_json(
    workspace: &Workspace,
    scope: Scope,
    name: &str,
    json: &str,
    on_conflict: OnConflict,
) -> Result<AddedServer, ChangeError> {
    let edited = edit(workspace, scope, |editor| {
        editor.add(name, json, on_conflict)
    })?;
    Ok(AddedServer {
        path: edited.path,
        warnings: edited.warnings,
    })
}

/// Removes a server from the file that describes it.
pub fn remove(
    workspace: &Workspace,
    name: &str,
    scope: Option<Scope>,
) -> Result<RemovedServer, ChangeError> {
    let places = Places::of(workspace, name);
    let scope = match (scope, places.user, places.project) {
        (Some(scope), ..) => scope,
        (None, true, true) => return Err(places.ambiguous()),
        (None, true, false) => Scope::User,
        (None, false, true) => Scope::Project,
        (None, false, false) => return Err(places.unknown()),
    };
    let before = urls(workspace);
    let edited = edit(workspace, scope, |editor| editor.remove(name))?;
    let after = urls(workspace);
    let store = LoginStore::new(&workspace.zot_home);
    let gone = before.iter().filter(|url| !after.contains(url));
    // A login that stays does no harm: it is only sent to this address.
    let forgotten = gone.filter(|url| store.remove(url).unwrap_or(false));
    Ok(RemovedServer {
        path: edited.path,
        is_logged_out: forgotten.count() > 0,
    })
}

/// Enables or disables a server. Without a scope, the user's file is changed: it can also switch a server
/// of the project, for this user only.
pub fn switch(
    workspace: &Workspace,
    name: &str,
    scope: Option<Scope>,
    enabled: Enabled,
) -> Result<Switched, ChangeError> {
    let places = Places::of(workspace, name);
    let is_elsewhere = match (scope, places.user, places.project) {
        (_, false, false) => return Err(places.unknown()),
        (None, true, true) => return Err(places.ambiguous()),
        (None | Some(Scope::User), false, true) => true,
        _ => false,
    };
    let value = match (enabled, is_elsewhere && !places.is_enabled_in_project) {
        (Enabled::No, _) => Some(false),
        // An entry is enabled unless it says otherwise; only another file has to be contradicted.
        (Enabled::Yes, true) => Some(true),
        (Enabled::Yes, false) => None,
    };
    let scope = scope.unwrap_or(Scope::User);
    let edited = edit(workspace, scope, |editor| editor.switch(name, value))?;
    Ok(match edited.before.as_ref() == Some(&edited.after) {
        true => Switched::Already,
        false => Switched::Changed(edited.path),
    })
}

/// Whether a server is to be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enabled {
    /// With zot.
    Yes,
    /// Not at all.
    No,
}

/// Returns the addresses of all servers, approved or not.
fn urls(workspace: &Workspace) -> Vec<String> {
    // Both files are needed whole: a name in both hides one of them.
    let loaded = configuration(workspace, ProjectServers::Skip);
    let with_project = configuration(workspace, ProjectServers::Start);
    let servers = loaded.servers.iter().chain(&with_project.servers);
    servers
        .filter_map(|server| match &server.entry.address {
            Address::Http { url, .. } | Address::Sse { url, .. } => Some(url.clone()),
            Address::Stdio { .. } => None,
        })
        .collect()
}

pub(super) fn edit(
    workspace: &Workspace,
    scope: Scope,
    edit: impl FnOnce(&Editor<'_>) -> Result<Edited, EditError>,
) -> Result<Edited, ChangeError> {
    let path = scope.path(&workspace.zot_home, &workspace.cwd);
    let edited = edit(&Editor { path: &path, scope })?;
    if scope == Scope::Project {
        keep_approval(workspace, &edited)?;
    }
    Ok(edited)
}

/// The files that describe a server.
struct Places {
    name: String,
    user: bool,
    project: bool,
    is_enabled_in_project: bool,
    known: Vec<String>,
}

impl Places {
    fn of(workspace: &Workspace, name: &str) -> Self {
        let loaded = configuration(workspace, ProjectServers::Skip);
        let users = loaded.servers.iter().map(|server| &server.written);
        let users: Vec<&ServerEntry> = users.collect();
        let projects = loaded
            .project
            .as_ref()
            .map_or(&[][..], |file| &file.servers);
        let project = projects.iter().find(|server| server.name == name);
        let mut known: Vec<String> = users
            .iter()
            .copied()
            .chain(projects)
            .map(|server| server.name.clone())
            .collect();
        known.sort();
        known.dedup();
        Self {
            name: name.to_owned(),
            user: users.iter().any(|server| server.name == name),
            project: project.is_some(),
            is_enabled_in_project: project.is_some_and(|server| server.enabled),
            known,
        }
    }

    fn unknown(self) -> ChangeError {
        ChangeError::Unknown {
            name: self.name,
            known: self.known,
        }
    }

    fn ambiguous(self) -> ChangeError {
        ChangeError::Ambiguous { name: self.name }
    }
}

/// Warns about values that end up in a file which others read.
fn shared_secrets(address: &Address) -> Vec<String> {
    let is_literal = |value: &str| redaction::value(value).contains(redaction::HIDDEN);
    let (kind, pairs): (&str, &BTreeMap<String, String>) = match address {
        Address::Stdio { env, .. } => ("variable", env),
        Address::Http { headers, .. } | Address::Sse { headers, .. } => ("header", headers),
    };
    pairs
        .iter()
        .filter(|(_, value)| is_literal(value))
        .map(|(name, _)| {
            format!(
                "the value of the {kind} {name} is in the project's file, which others can read: if it is a \
                 secret, write ${{{}}} instead",
                name.to_ascii_uppercase().replace('-', "_")
            )
        })
        .collect()
}
