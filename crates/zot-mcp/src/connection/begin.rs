//! Finds out which era a server speaks, and begins in it.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::timeout;

use super::params::{Client, Params};
use super::{Capabilities, Connection, Exchange};
use crate::catalog::cut;
use crate::json_rpc::{HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, RpcError, UNSUPPORTED_VERSION};
use crate::transport::{CallError, CallHints, Transport};
use crate::version::{Era, LEGACY_VERSION, LEGACY_VERSIONS, MODERN_VERSION};

/// How long a server may take to answer for the first time. Some are downloaded first, and nothing waits for them.
///
/// Limit: the server counts as failed.
const MCP_START_TIME: Duration = Duration::from_secs(300);

/// How long a server that spoke the modern era last time may be silent before it is tried in the other.
///
/// Limit: the legacy handshake is tried.
const MODERN_PROBE_TIME: Duration = Duration::from_secs(15);

/// What is known about a server before it is asked.
pub(crate) struct Opening {
    pub(crate) client: Client,
    /// What to try first.
    pub(crate) first: Era,
    /// The revision to speak, whatever the server says.
    pub(crate) forced: Option<String>,
}

/// Why a connection could not be begun.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BeginError {
    #[error("it asks for a login")]
    NeedsLogin,
    #[error(
        "\"protocol\": {0:?} is not a revision that zot speaks: use \"{MODERN_VERSION}\", \"{LEGACY_VERSION}\", or leave it out"
    )]
    UnknownRevision(String),
    #[error("it did not answer within {0:?}")]
    Silent(Duration),
    #[error("it speaks revisions {0:?} of MCP, and zot none of them: a newer zot may")]
    NoCommonRevision(Vec<String>),
    #[error("{method}: {source}")]
    Refused {
        method: &'static str,
        source: CallError,
    },
    #[error("{method}: expected the result that MCP describes: {source}")]
    Unreadable {
        method: &'static str,
        source: serde_json::Error,
    },
}

impl BeginError {
    fn refused(method: &'static str, source: CallError) -> Self {
        match source {
            CallError::Unauthorized { .. } => Self::NeedsLogin,
            source => Self::Refused { method, source },
        }
    }
}

#[derive(Deserialize)]
struct InitializeResult {
    #[serde(rename = "protocolVersion")]
    version: String,
    #[serde(default)]
    capabilities: Capabilities,
    #[serde(rename = "serverInfo")]
    server: Option<ServerInfo>,
    instructions: Option<String>,
}

#[derive(Deserialize)]
struct DiscoverResult {
    #[serde(rename = "supportedVersions", default)]
    versions: Vec<String>,
    #[serde(default)]
    capabilities: Capabilities,
    instructions: Option<String>,
    #[serde(rename = "_meta", default)]
    meta: DiscoverMeta,
}

#[derive(Default, Deserialize)]
struct DiscoverMeta {
    #[serde(rename = "io.modelcontextprotocol/serverInfo")]
    server: Option<ServerInfo>,
}

#[derive(Deserialize)]
struct ServerInfo {
    #[serde(default)]
    name: String,
    title: Option<String>,
    #[serde(default)]
    version: String,
}

impl ServerInfo {
    fn describe(self) -> String {
        let name = self.title.unwrap_or(self.name);
        cut(format!("{name} {}", self.version).trim(), 200)
    }
}

#[derive(Deserialize)]
struct Supported {
    #[serde(default)]
    supported: Vec<String>,
}

/// Returns the revisions that an error names.
fn named_revisions(error: &RpcError) -> Vec<String> {
    let data = error.data.as_deref().map_or("{}", RawValue::get);
    serde_json::from_str::<Supported>(data).map_or_else(|_| Vec::new(), |data| data.supported)
}

/// What follows a refused beginning.
enum Verdict {
    /// The other era may work.
    TryOther,
    Final,
}

impl Connection {
    /// Begins in the era that `opening` expects, and in the other if the server says so.
    ///
    /// A server decides its era with the first request it understands, so nothing is asked twice
    /// without need.
    pub(crate) async fn begin(
        transport: Arc<dyn Transport>,
        exchange: Arc<Exchange>,
        opening: &Opening,
    ) -> Result<Self, BeginError> {
        let beginning = Beginning {
            transport,
            exchange,
            client: &opening.client,
        };
        if let Some(version) = &opening.forced {
            return match Era::of(version) {
                Some(Era::Legacy) => beginning.legacy(version).await,
                Some(Era::Modern) => beginning.modern(MCP_START_TIME).await,
                None => Err(BeginError::UnknownRevision(version.clone())),
            };
        }
        match opening.first {
            Era::Legacy => match beginning.legacy(LEGACY_VERSION).await {
                Err(error) if matches!(after_legacy(&error), Verdict::TryOther) => {
                    match beginning.modern(MCP_START_TIME).await {
                        Ok(connection) => Ok(connection),
                        Err(BeginError::NoCommonRevision(versions)) => {
                            Err(BeginError::NoCommonRevision(versions))
                        }
                        // What it said first is what it meant.
                        Err(_) => Err(error),
                    }
                }
                begun => begun,
            },
            Era::Modern => match beginning.modern(MODERN_PROBE_TIME).await {
                Err(error) if matches!(after_modern(&error), Verdict::TryOther) => {
                    let was_silent = matches!(error, BeginError::Silent(_));
                    match beginning.legacy(LEGACY_VERSION).await {
                        // It was only slow to start, and is as modern as it was the last time.
                        Err(error)
                            if was_silent && matches!(after_legacy(&error), Verdict::TryOther) =>
                        {
                            beginning.modern(MCP_START_TIME).await
                        }
                        begun => begun,
                    }
                }
                begun => begun,
            },
        }
    }
}

/// Returns whether a status may mean that the server does not know the era. Too many requests (429) are
/// refused in every era.
fn may_mean_other_era(status: u16) -> bool {
    (400..500).contains(&status) && status != 429
}

fn after_legacy(error: &BeginError) -> Verdict {
    match error {
        BeginError::Refused {
            source: CallError::Refused(_),
            ..
        } => Verdict::TryOther,
        BeginError::Refused {
            source: CallError::Status { status, .. },
            ..
        } if may_mean_other_era(*status) => Verdict::TryOther,
        // A handshake that ends in the newest revision means that there is none.
        BeginError::NoCommonRevision(versions)
            if versions.iter().any(|version| version == MODERN_VERSION) =>
        {
            Verdict::TryOther
        }
        _ => Verdict::Final,
    }
}

fn after_modern(error: &BeginError) -> Verdict {
    match error {
        BeginError::Silent(_) => Verdict::TryOther,
        BeginError::Refused {
            source: CallError::Refused(error),
            ..
        } => match error.code {
            HEADER_MISMATCH | MISSING_CLIENT_CAPABILITY => Verdict::Final,
            UNSUPPORTED_VERSION => {
                let named = named_revisions(error);
                let is_legacy = |version: &String| LEGACY_VERSIONS.contains(&version.as_str());
                match named.iter().any(is_legacy) {
                    true => Verdict::TryOther,
                    false => Verdict::Final,
                }
            }
            _ => Verdict::TryOther,
        },
        BeginError::Refused {
            source: CallError::Status { status, .. },
            ..
        } if may_mean_other_era(*status) => Verdict::TryOther,
        // It answered, but not as the modern era would.
        BeginError::Unreadable { .. } => Verdict::TryOther,
        BeginError::NoCommonRevision(versions) => {
            let is_legacy = |version: &String| LEGACY_VERSIONS.contains(&version.as_str());
            match versions.iter().any(is_legacy) {
                true => Verdict::TryOther,
                false => Verdict::Final,
            }
        }
        _ => Verdict::Final,
    }
}

/// Returns whether a refused version comes with the offer of the one that we speak.
fn is_modern_offered(error: &BeginError) -> bool {
    match error {
        BeginError::Refused {
            source: CallError::Refused(error),
            ..
        } if error.code == UNSUPPORTED_VERSION => {
            let named = named_revisions(error);
            named.iter().any(|version| version == MODERN_VERSION)
        }
        _ => false,
    }
}

struct Beginning<'a> {
    transport: Arc<dyn Transport>,
    exchange: Arc<Exchange>,
    client: &'a Client,
}

impl Beginning<'_> {
    async fn legacy(&self, version: &str) -> Result<Connection, BeginError> {
        let method = "initialize";
        self.transport.set_version(Era::Legacy, version);
        let params = Params::new()
            .with("protocolVersion", version)
            .with_json("capabilities", &self.client.capabilities(Era::Legacy))
            .with_json("clientInfo", &self.client.info());
        let result = self.ask(method, params, "", MCP_START_TIME).await?;
        let result: InitializeResult = serde_json::from_str(result.get())
            .map_err(|source| BeginError::Unreadable { method, source })?;
        if Era::of(&result.version) != Some(Era::Legacy) {
            return Err(BeginError::NoCommonRevision(vec![result.version]));
        }
        self.transport.set_version(Era::Legacy, &result.version);
        self.exchange.set_era(Era::Legacy);
        let method = "notifications/initialized";
        self.transport
            .notify(method, None)
            .await
            .map_err(|source| BeginError::refused(method, source))?;
        Ok(Connection {
            transport: Arc::clone(&self.transport),
            exchange: Arc::clone(&self.exchange),
            era: Era::Legacy,
            version: result.version,
            meta: String::new(),
            capabilities: result.capabilities,
            instructions: result.instructions,
            product: result.server.map(ServerInfo::describe),
        })
    }

    async fn modern(&self, patience: Duration) -> Result<Connection, BeginError> {
        let method = "server/discover";
        self.transport.set_version(Era::Modern, MODERN_VERSION);
        let mut meta = self.client.modern_meta(MODERN_VERSION);
        let result = match self.ask(method, Params::new(), &meta, patience).await {
            // It names the very revision it refused: perhaps it was not ready for it.
            Err(error) if is_modern_offered(&error) => {
                self.ask(method, Params::new(), &meta, patience).await?
            }
            result => result?,
        };
        let result: DiscoverResult = serde_json::from_str(result.get())
            .map_err(|source| BeginError::Unreadable { method, source })?;
        if !result
            .versions
            .iter()
            .any(|version| version == MODERN_VERSION)
        {
            return Err(BeginError::NoCommonRevision(result.versions));
        }
        self.exchange.set_era(Era::Modern);
        if result.capabilities.logging.is_some() {
            meta.push_str(r#""io.modelcontextprotocol/logLevel":"info","#);
        }
        Ok(Connection {
            transport: Arc::clone(&self.transport),
            exchange: Arc::clone(&self.exchange),
            era: Era::Modern,
            version: MODERN_VERSION.to_owned(),
            meta,
            capabilities: result.capabilities,
            instructions: result.instructions,
            product: result.meta.server.map(ServerInfo::describe),
        })
    }

    async fn ask(
        &self,
        method: &'static str,
        params: Params,
        meta: &str,
        patience: Duration,
    ) -> Result<Box<RawValue>, BeginError> {
        let id = self.exchange.next_id();
        let params = params
            .finish(meta)
            .map_err(|source| BeginError::Unreadable { method, source })?;
        let call = self
            .transport
            .call(&id, method, &params, CallHints::default());
        match timeout(patience, call).await {
            Ok(result) => result.map_err(|source| BeginError::refused(method, source)),
            Err(_) => Err(BeginError::Silent(patience)),
        }
    }
}
