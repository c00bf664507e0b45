//! Logins at servers with a URL.

use zot_mcp::entry::Address;
use zot_mcp::oauth::{Login, LoginRequest, LoginStore, LoginSummary, OAuthError};
use zot_provider::HttpClient;

use super::change::ChangeError;
use super::list::{ListedServer, Standing, find};
use crate::extensions::Starting;
use crate::workspace::Workspace;
use std::time::Duration;

/// Why there was no login, or no logout.
#[derive(Debug, thiserror::Error)]
pub enum ServerLoginError {
    /// There is no such server.
    #[error(transparent)]
    Unknown(#[from] ChangeError),
    /// It is a program on this machine.
    #[error("MCP server {name:?} is a program on this machine: it needs no login")]
    Local {
        /// Its name.
        name: String,
    },
    /// The user has not approved it.
    #[error(
        "MCP server {name:?} belongs to a project that is not approved: zot mcp approve shows its servers, and asks"
    )]
    NotApproved {
        /// Its name.
        name: String,
    },
    /// The login failed; nothing was stored.
    #[error("MCP server {name:?}: {source}")]
    OAuth {
        /// Its name.
        name: String,
        /// The cause.
        #[source]
        source: OAuthError,
    },
}

/// Begins a login at the server `name`: there is an address to open, and a redirect to wait for.
pub async fn begin_login(workspace: &Workspace, name: &str) -> Result<Login, ServerLoginError> {
    let (server, url) = remote(workspace, name).await?;
    if matches!(server.standing, Standing::NotApproved | Standing::Refused) {
        let name = name.to_owned();
        return Err(ServerLoginError::NotApproved { name });
    }
    let settings = server.entry.oauth.unwrap_or_default();
    let begun = Login::begin(LoginRequest {
        http: HttpClient::new(),
        home: &workspace.zot_home,
        server: &url,
        settings: &settings,
        challenge: None,
    });
    begun.await.map_err(|source| ServerLoginError::OAuth {
        name: name.to_owned(),
        source,
    })
}

/// Forgets the login at the server `name`, and returns whether there was one.
pub async fn log_out(workspace: &Workspace, name: &str) -> Result<bool, ServerLoginError> {
    let (_, url) = remote(workspace, name).await?;
    let removed = LoginStore::new(&workspace.zot_home).remove(&url);
    removed.map_err(|source| ServerLoginError::OAuth {
        name: name.to_owned(),
        source,
    })
}

/// Returns what may be shown of the login at a server, if there is one.
pub fn login_of(workspace: &Workspace, server: &ListedServer) -> Option<LoginSummary> {
    let url = match &server.entry.address {
        Address::Http { url, .. } | Address::Sse { url, .. } => url,
        Address::Stdio { .. } => return None,
    };
    let summary = LoginStore::new(&workspace.zot_home).summary(url);
    summary.ok().flatten()
}

async fn remote(
    workspace: &Workspace,
    name: &str,
) -> Result<(ListedServer, String), ServerLoginError> {
    let server = find(workspace, name, Starting::Skip, Duration::ZERO).await?;
    match &server.entry.address {
        Address::Http { url, .. } | Address::Sse { url, .. } => {
            let url = url.clone();
            Ok((server, url))
        }
        Address::Stdio { .. } => Err(ServerLoginError::Local {
            name: name.to_owned(),
        }),
    }
}
