//! What a request says about itself: the era, what its client can do, where its progress goes.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};
use zot_mcp::json_rpc::{INVALID_PARAMS, RpcError, UNSUPPORTED_VERSION};
use zot_mcp::version::{Era, LEGACY_VERSIONS, MODERN_VERSION};

use crate::frame::{error, error_with};

/// Says which revision a request is in; only requests of the modern era have it.
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// What the client of a request can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ClientAbilities {
    /// It can show a form to its user.
    pub(crate) elicits: bool,
    /// It can send its user to an address.
    pub(crate) opens_urls: bool,
}

impl ClientAbilities {
    /// Reads the capabilities of a client, of either era.
    pub(crate) fn read(capabilities: &Value) -> Self {
        match capabilities.get("elicitation") {
            Some(Value::Object(modes)) => Self {
                elicits: modes.contains_key("form") || !modes.contains_key("url"),
                opens_urls: modes.contains_key("url"),
            },
            _ => Self::default(),
        }
    }
}

/// A request before it is dispatched.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) era: Era,
    pub(crate) method: String,
    pub(crate) params: Map<String, Value>,
    pub(crate) abilities: ClientAbilities,
    pub(crate) progress_token: Option<Value>,
}

impl Request {
    /// Describes a request of a client that has sent `initialize`.
    pub(crate) fn legacy(
        method: String,
        params: Map<String, Value>,
        abilities: ClientAbilities,
    ) -> Self {
        Self {
            era: Era::Legacy,
            progress_token: progress_token(&params),
            method,
            params,
            abilities,
        }
    }

    /// Describes a request that says everything about itself.
    pub(crate) fn modern(method: String, params: Map<String, Value>) -> Result<Self, RpcError> {
        let meta = params.get("_meta");
        let field = |key: &str| meta.and_then(|meta| meta.get(key));
        let missing = |key: &str, kind: &str| {
            error(
                INVALID_PARAMS,
                format!("_meta[{key:?}]: expected {kind} in every request, or `initialize` first"),
            )
        };
        let version = field(VERSION_KEY)
            .and_then(Value::as_str)
            .ok_or_else(|| missing(VERSION_KEY, "the protocol's version"))?;
        if version != MODERN_VERSION {
            return Err(unsupported_version(version));
        }
        let capabilities = field(CAPABILITIES_KEY)
            .filter(|capabilities| capabilities.is_object())
            .ok_or_else(|| missing(CAPABILITIES_KEY, "an object"))?;
        Ok(Self {
            era: Era::Modern,
            abilities: ClientAbilities::read(capabilities),
            progress_token: progress_token(&params),
            method,
            params,
        })
    }
}

/// Returns the version that the request says it is in.
pub(crate) fn stated_version(params: &Map<String, Value>) -> Option<&Value> {
    params.get("_meta")?.get(VERSION_KEY)
}

/// Returns every version we speak, the newest first.
pub(crate) fn supported_versions() -> Vec<&'static str> {
    let legacy = LEGACY_VERSIONS.iter().copied();
    std::iter::once(MODERN_VERSION).chain(legacy).collect()
}

pub(crate) fn unsupported_version(requested: &str) -> RpcError {
    error_with(
        UNSUPPORTED_VERSION,
        format!("the protocol version {requested:?} is not supported"),
        &json!({"supported": supported_versions(), "requested": requested}),
    )
}

fn progress_token(params: &Map<String, Value>) -> Option<Value> {
    let token = params.get("_meta")?.get("progressToken")?;
    (token.is_string() || token.is_i64() || token.is_u64()).then(|| token.clone())
}
