//! MCP servers: which are configured, how they are, and changes to both.
//!
//! The servers of the user are in `$ZOT_HOME/mcp.json`, those of a project in its `.mcp.json`, which
//! starts nothing before the user has approved its content.

mod approve;
mod change;
mod import;
mod list;
mod log;
mod login;
mod trial;

use std::env;

use crate::workspace::Workspace;

pub use crate::log_reader::LogReader;
pub use approve::{approve, forget_answers, project};
pub use change::{
    AddedServer, ChangeError, Enabled, NewServer, RemovedServer, Switched, add, add_json, remove,
    switch,
};
pub use import::{ImportMode, ImportOutcome, ImportReport, ImportedServer, import};
pub use list::{ListedServer, ServerList, ServerTool, Standing, find, list};
pub use log::{ServerLogError, open_log};
pub use login::{ServerLoginError, begin_login, log_out, login_of};
pub use trial::{Trial, TrialError, TrialRequest, try_server};
pub use zot_mcp::configuration::edit::{EditError, OnConflict, Scope};
pub use zot_mcp::configuration::import::{Client, LeftOutServer};
pub use zot_mcp::configuration::redaction;
pub use zot_mcp::configuration::{
    ApprovalError, Approvals, Configuration, ConfigurationError, ConfiguredServer, Decision,
    FileDigest, Given, Problem, ProjectFile, ProjectServers, ProjectState, Proposal, Sources,
    UserServers, project_file,
};
pub use zot_mcp::entry::{Address, EntryOrigin, Exposure, OAuthSettings, ServerEntry};
pub use zot_mcp::oauth::{Login, LoginSummary, OAuthError, Redirect};
pub use zot_mcp::{
    McpError, McpTool, Pool, PoolSettings, PromptArgument, PromptInfo, PromptMessage, ResourceInfo,
    ResourceTemplate, ServerSet, ServerState, ServerStatus, UnknownServer,
};

/// Reads the files of user and project. The project's servers count as `project` says.
pub fn configuration(workspace: &Workspace, project: ProjectServers) -> Configuration {
    let sources = Sources {
        home: &workspace.zot_home,
        cwd: &workspace.cwd,
        user: UserServers::Read,
        project,
        given: &[],
        env: &|name| env::var(name).ok(),
    };
    // Fails only for configuration that was given, which is none.
    Configuration::load(&sources).unwrap_or_default()
}
