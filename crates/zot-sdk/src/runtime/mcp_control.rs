//! What a user does with the MCP servers of a running conversation: approve, sign in, read files again.

use zot_mcp::configuration::{ApprovalError, Approvals, ConfigurationError, Decision};
use zot_mcp::entry::{Address, ServerEntry};
use zot_mcp::oauth::{Login, LoginRequest, LoginStore, OAuthError};

use super::{Busy, Runtime};
use crate::servers;

/// Why the files of servers were not read again, or the answer about them was not kept.
#[derive(Debug, thiserror::Error)]
pub enum McpReloadError {
    /// A prompt or compaction is running.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// The configuration that was named at the start cannot be used any more.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// The answer was not kept.
    #[error(transparent)]
    Approval(#[from] ApprovalError),
}

/// Why a login at a server was not begun, or not forgotten.
#[derive(Debug, thiserror::Error)]
pub enum McpLoginError {
    /// No server has this name.
    #[error("unknown MCP server {0:?}")]
    Unknown(String),
    /// It is a program on this machine.
    #[error("the MCP server {0:?} is a program on this machine: it has no login")]
    Local(String),
    /// The login failed.
    #[error(transparent)]
    Login(#[from] OAuthError),
}

impl Runtime {
    /// Reads the files of MCP servers again and uses the servers they describe now, between two prompts.
    /// Servers whose description is the same go on. Returns warnings about the files.
    pub fn reload_mcp(&self) -> Result<Vec<String>, McpReloadError> {
        let found = servers::find(&self.mcp_choice, &self.workspace)?;
        self.set_mcp_servers(found.entries)?;
        self.servers.set_project(found.project);
        Ok(found.warnings)
    }

    /// Keeps the user's answer about the project's servers, as they were found at the start or by the last
    /// [reload](Self::reload_mcp), and acts on it.
    pub fn answer_mcp_project(&self, decision: Decision) -> Result<Vec<String>, McpReloadError> {
        if let Some(project) = self.mcp_project() {
            let approvals = Approvals::new(self.servers.home());
            approvals.record(&project.directory, &project.digest, decision)?;
        }
        self.reload_mcp()
    }

    /// Returns how a server is described, if there is one of this name.
    pub fn mcp_entry(&self, name: &str) -> Option<ServerEntry> {
        self.servers.described(name)
    }

    /// Begins a login at a server. When it is finished, [restart](zot_mcp::ServerSet::restart) the server.
    pub async fn begin_mcp_login(&self, name: &str) -> Result<Login, McpLoginError> {
        let (entry, url) = self.remote(name)?;
        let settings = entry.oauth.unwrap_or_default();
        let request = LoginRequest {
            http: self.servers.http(),
            home: self.servers.home(),
            server: &url,
            settings: &settings,
            challenge: None,
        };
        Ok(Login::begin(request).await?)
    }

    /// Forgets the login at a server, and returns whether there was one.
    pub fn forget_mcp_login(&self, name: &str) -> Result<bool, McpLoginError> {
        let (_, url) = self.remote(name)?;
        Ok(LoginStore::new(self.servers.home()).remove(&url)?)
    }

    fn remote(&self, name: &str) -> Result<(ServerEntry, String), McpLoginError> {
        let entry = self.servers.described(name);
        let entry = entry.ok_or_else(|| McpLoginError::Unknown(name.to_owned()))?;
        let url = match &entry.address {
            Address::Http { url, .. } | Address::Sse { url, .. } => url.clone(),
            Address::Stdio { .. } => return Err(McpLoginError::Local(name.to_owned())),
        };
        Ok((entry, url))
    }
}
