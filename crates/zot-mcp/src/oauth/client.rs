//! What zot is to an authorisation server: a client that was registered before, one that describes itself at
//! an address of its own, or one that is registered now.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::json;
use zot_auth::form;
use zot_process::Secret;
use zot_provider::HttpClient;

use super::OAuthError;
use super::metadata::AuthorizationServer;
use super::request::{decode, post_json};
use super::store::secret_text;
use super::token::refusal;
use crate::entry::OAuthSettings;

const CLIENT_NAME: &str = "zot";

/// A client of one authorisation server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) id: String,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "secret_text::optional"
    )]
    pub(super) secret: Option<Secret>,
    pub(super) method: AuthMethod,
    pub(super) origin: ClientOrigin,
    /// The one redirect address it was registered with, if it was registered by us.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) redirect: Option<String>,
}

/// How a client proves at the token endpoint who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum AuthMethod {
    None,
    ClientSecretBasic,
    ClientSecretPost,
}

/// Where a client id comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ClientOrigin {
    /// The server's entry.
    Configured,
    /// It is the address of a document that describes the client.
    Document,
    /// The authorisation server made it up.
    Registered,
}

impl AuthMethod {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
        }
    }

    fn parse(name: &str) -> Option<Self> {
        let all = [Self::None, Self::ClientSecretBasic, Self::ClientSecretPost];
        all.into_iter().find(|method| method.name() == name)
    }

    fn is_supported(self, server: &AuthorizationServer) -> bool {
        match &server.token_endpoint_auth_methods_supported {
            Some(methods) => methods.iter().any(|method| method == self.name()),
            // What RFC 8414 says a server means that says nothing. Public clients are common anyway.
            None => self != Self::ClientSecretPost,
        }
    }

    /// Returns the method for a client with a secret.
    fn with_secret(server: &AuthorizationServer) -> Self {
        let methods = [Self::ClientSecretBasic, Self::ClientSecretPost];
        let supported = methods
            .into_iter()
            .find(|method| method.is_supported(server));
        supported.unwrap_or(Self::ClientSecretBasic)
    }

    /// Returns the method to register with: without a secret where that is allowed.
    fn to_register(server: &AuthorizationServer) -> Self {
        let methods = [Self::None, Self::ClientSecretBasic, Self::ClientSecretPost];
        let supported = methods
            .into_iter()
            .find(|method| method.is_supported(server));
        supported.unwrap_or(Self::None)
    }
}

impl Client {
    /// Returns the client that the entry names, else the one that describes itself, if the server takes it.
    pub(super) fn known(settings: &OAuthSettings, server: &AuthorizationServer) -> Option<Self> {
        if let Some(id) = &settings.client_id {
            let secret = settings.client_secret.as_deref().map(Secret::from);
            let method = match secret {
                Some(_) => AuthMethod::with_secret(server),
                None => AuthMethod::None,
            };
            return Some(Self {
                id: id.clone(),
                secret,
                method,
                origin: ClientOrigin::Configured,
                redirect: None,
            });
        }
        let document = settings.client_metadata_url.as_ref();
        let document = document.filter(|_| server.client_id_metadata_document_supported)?;
        Some(Self {
            id: document.clone(),
            secret: None,
            method: AuthMethod::None,
            origin: ClientOrigin::Document,
            redirect: None,
        })
    }

    /// Registers a client (RFC 7591).
    pub(super) async fn register(
        http: &HttpClient,
        server: &AuthorizationServer,
        redirect: &str,
        scopes: &[String],
    ) -> Result<Self, OAuthError> {
        let Some(url) = &server.registration_endpoint else {
            return Err(OAuthError::NoClient {
                issuer: server.issuer.clone(),
            });
        };
        let method = AuthMethod::to_register(server);
        let mut registration = json!({
            "client_name": CLIENT_NAME,
            "redirect_uris": [redirect],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": method.name(),
            "application_type": "native",
        });
        if !scopes.is_empty() {
            registration["scope"] = json!(scopes.join(" "));
        }
        let fetched = post_json(http, url, &registration).await?;
        if !matches!(fetched.status, 200 | 201) {
            return Err(refusal(url, &fetched));
        }
        #[derive(Deserialize)]
        struct Registered {
            client_id: String,
            client_secret: Option<String>,
            token_endpoint_auth_method: Option<String>,
        }
        let registered: Registered = decode(url, &fetched.body)?;
        let secret = registered.client_secret.filter(|secret| !secret.is_empty());
        let told = registered
            .token_endpoint_auth_method
            .and_then(|name| AuthMethod::parse(&name));
        let method = match (told, &secret) {
            (Some(method), _) => method,
            (None, None) => AuthMethod::None,
            (None, Some(_)) if method != AuthMethod::None => method,
            (None, Some(_)) if AuthMethod::None.is_supported(server) => AuthMethod::None,
            (None, Some(_)) => AuthMethod::with_secret(server),
        };
        Ok(Self {
            id: registered.client_id,
            secret: secret.map(Secret::from),
            method,
            origin: ClientOrigin::Registered,
            redirect: Some(redirect.to_owned()),
        })
    }

    /// Adds to a form who sends it; returns the header that says so instead, if that is the method.
    pub(super) fn authenticate<'a>(
        &'a self,
        fields: &mut Vec<(&'a str, &'a str)>,
    ) -> Option<String> {
        let secret = self.secret.as_deref().unwrap_or_default();
        match self.method {
            AuthMethod::ClientSecretBasic => {
                // RFC 6749 wants both encoded as in a form first.
                let pair = format!("{}:{}", form::escaped(&self.id), form::escaped(secret));
                return Some(format!("Basic {}", STANDARD.encode(pair)));
            }
            AuthMethod::ClientSecretPost => {
                fields.extend([("client_id", self.id.as_str()), ("client_secret", secret)]);
            }
            AuthMethod::None => fields.push(("client_id", &self.id)),
        }
        None
    }
}
