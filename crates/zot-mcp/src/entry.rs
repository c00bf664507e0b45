//! A server as the configuration describes it, with variables expanded.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use zot_extension_contract::{Level, Permissions};

use crate::configuration::redaction;

/// A server that can be started or reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEntry {
    /// The key in `mcpServers`.
    pub name: String,
    pub address: Address,
    /// How long a call may take without progress; the default if not set.
    pub timeout: Option<Duration>,
    pub enabled: bool,
    /// How the tools reach the model; decided by their size if not set.
    pub exposure: Option<Exposure>,
    /// The same for single tools, by name or pattern with `*`. The first that matches counts; without an
    /// exposure it means: by size, as for a server that sets none.
    pub tool_exposure: Vec<(String, Option<Exposure>)>,
    /// The revision of the protocol to speak; found out if not set.
    pub protocol: Option<String>,
    /// How far the program is confined; what `permissions` name is allowed in addition.
    pub sandbox: Option<Level>,
    /// What the program may do; everything if neither this nor a sandbox is set.
    pub permissions: Option<Permissions>,
    pub oauth: Option<OAuthSettings>,
    pub origin: EntryOrigin,
    /// The directory of the file that describes it, if that belongs to a project.
    pub project: Option<PathBuf>,
}

/// Where a server is. Values of variables and headers, arguments that may be secrets, and parts of a URL
/// that may be, are not in its `Debug` output.
#[derive(Clone, PartialEq, Eq)]
pub enum Address {
    /// A program that speaks on its standard streams.
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
        cwd: Option<PathBuf>,
    },
    /// Streamable HTTP.
    Http {
        url: String,
        headers: BTreeMap<String, String>,
    },
    /// HTTP with a separate stream of events, from before 2025-03-26.
    Sse {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

/// How a tool reaches the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Declared in every request.
    Direct,
    /// Found with `tool_search`, and declared from then on.
    Deferred,
    /// Not at all.
    Hidden,
}

/// What a login at the server's authorisation server needs, where that cannot be found out.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct OAuthSettings {
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    /// The port of the redirect address; a free one if not set.
    pub callback_port: Option<u16>,
    pub scopes: Vec<String>,
    /// The address of the authorisation server's metadata, instead of discovering it.
    pub metadata_url: Option<String>,
    /// An https address where a document describes this client. It is the client id at servers that take
    /// such addresses.
    pub client_metadata_url: Option<String>,
    pub grant: OAuthGrant,
}

/// Who is granted access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OAuthGrant {
    /// The user, who logs in with a browser.
    #[default]
    AuthorizationCode,
    /// The client itself, with its id and secret: for machines without a user.
    ClientCredentials,
}

impl OAuthGrant {
    pub const ALL: [Self; 2] = [Self::AuthorizationCode, Self::ClientCredentials];

    /// Returns the word for it in configuration files, which is that of OAuth.
    pub fn name(self) -> &'static str {
        match self {
            Self::AuthorizationCode => "authorization_code",
            Self::ClientCredentials => "client_credentials",
        }
    }
}

/// Who described a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryOrigin {
    /// `$ZOT_HOME/mcp.json`.
    User,
    /// `.mcp.json` of the project.
    Project,
    /// The embedding program, a command of the pipe, or a file that was named at the start.
    Program,
}

impl Exposure {
    pub const ALL: [Self; 3] = [Self::Direct, Self::Deferred, Self::Hidden];

    /// Returns the word for it in configuration files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Deferred => "deferred",
            Self::Hidden => "hidden",
        }
    }
}

impl Address {
    /// Returns the word for its kind in configuration files.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Http { .. } => "http",
            Self::Sse { .. } => "sse",
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio { env, cwd, .. } => formatter
                .debug_struct("Stdio")
                .field("command", &redaction::target(self))
                .field("env", &env.keys().collect::<Vec<_>>())
                .field("cwd", cwd)
                .finish(),
            Self::Http { headers, .. } | Self::Sse { headers, .. } => formatter
                .debug_struct(self.kind())
                .field("url", &redaction::target(self))
                .field("headers", &headers.keys().collect::<Vec<_>>())
                .finish(),
        }
    }
}

impl fmt::Debug for OAuthSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("OAuthSettings")
            .field("client_id", &self.client_id)
            .field("client_secret", &self.client_secret.as_ref().map(|_| "…"))
            .field("callback_port", &self.callback_port)
            .field("scopes", &self.scopes)
            .field("metadata_url", &self.metadata_url)
            .finish()
    }
}
