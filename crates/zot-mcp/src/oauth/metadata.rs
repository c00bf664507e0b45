//! What servers publish about themselves: protected resources (RFC 9728) and authorisation servers (RFC 8414,
//! OpenID Connect Discovery).

use serde::Deserialize;

/// Of an MCP server.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct ProtectedResource {
    #[serde(default)]
    pub(super) resource: String,
    #[serde(default)]
    pub(super) authorization_servers: Vec<String>,
    pub(super) scopes_supported: Option<Vec<String>>,
}

/// Of an authorisation server.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct AuthorizationServer {
    #[serde(default)]
    pub(super) issuer: String,
    pub(super) authorization_endpoint: Option<String>,
    #[serde(default)]
    pub(super) token_endpoint: String,
    pub(super) registration_endpoint: Option<String>,
    pub(super) scopes_supported: Option<Vec<String>>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

impl AuthorizationServer {
    /// Returns whether codes are protected with PKCE. A server that does not say so must be refused.
    pub(super) fn has_pkce(&self) -> bool {
        let mut methods = self.code_challenge_methods_supported.iter();
        methods.any(|method| method == "S256")
    }
}
