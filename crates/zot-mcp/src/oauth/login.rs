//! A login in progress: an address to open in a browser, and the redirect that comes back.

use std::path::Path;
use std::time::Duration;

use http::Method;
use serde_json::json;
use tokio::time::timeout;
use zot_auth::{LoopbackReply, LoopbackServer, Pkce, form, random_token, same_secret};
use zot_provider::{ExchangeRequest, HttpClient, Repeat};

use super::OAuthError;
use super::challenge::Challenge;
use super::client::{Client, ClientOrigin};
use super::discovery::{Discovered, discover};
use super::scope::{self, OFFLINE_ACCESS, Sources};
use super::store::{LoginStore, StoredTokens};
use super::token;
use crate::entry::OAuthSettings;
use crate::transport::address;
use crate::transport::http::{add_common, add_json};
use crate::version::MODERN_VERSION;

/// How long the user may take to log in.
///
/// Limit: the login fails.
const LOGIN_TIME: Duration = Duration::from_secs(600);

/// How long the server may take to say that it wants a login.
///
/// Limit: the login goes on without what the server would have said.
const PROBE_TIME: Duration = Duration::from_secs(15);

const REDIRECT_PATH: &str = "/callback";

/// Where to log in.
pub struct LoginRequest<'a> {
    pub http: HttpClient,
    /// `$ZOT_HOME`.
    pub home: &'a Path,
    /// The address of the MCP server.
    pub server: &'a str,
    pub settings: &'a OAuthSettings,
    /// The header `WWW-Authenticate` of a refused request, if one is at hand; else the server is asked.
    pub challenge: Option<&'a str>,
}

/// A login in progress. Dropping it cancels it.
pub struct Login {
    http: HttpClient,
    store: LoginStore,
    server: String,
    found: Discovered,
    client: Client,
    scopes: Vec<String>,
    pkce: Pkce,
    state: String,
    redirect: String,
    url: String,
    listener: Option<LoopbackServer>,
}

/// What the browser brought back. Holds the code, so it has no `Debug`.
pub struct Redirect {
    fields: Vec<(String, String)>,
}

impl Redirect {
    fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.fields.iter();
        let found = fields.find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Login {
    /// Finds out where to log in, becomes a client there, and listens for the redirect. Must be called
    /// within a tokio runtime.
    pub async fn begin(request: LoginRequest<'_>) -> Result<Self, OAuthError> {
        let LoginRequest {
            http,
            settings,
            server,
            ..
        } = request;
        let store = LoginStore::new(request.home);
        let header = match request.challenge {
            Some(challenge) => Some(challenge.to_owned()),
            None => match store.wanted(server)? {
                Some(wanted) => Some(wanted),
                None => probe(&http, server).await,
            },
        };
        let challenge = Challenge::parse(header.as_deref().unwrap_or_default());
        let metadata_url = settings.metadata_url.as_deref();
        let found = discover(&http, server, &challenge, metadata_url).await?;
        let issuer = found.server.issuer.clone();
        if !found.server.has_pkce() {
            return Err(OAuthError::NoPkce { issuer });
        }
        let before = store.tokens(server)?;
        check_binding(server, before.as_ref(), &issuer, settings)?;
        let before = before.filter(|before| before.issuer == issuer);
        let scopes = scope::choose(&Sources {
            challenged: challenge.scope.as_deref(),
            before: before.as_ref().map_or(&[], |before| &before.scopes),
            configured: &settings.scopes,
            resource: &found.resource,
            server: &found.server,
        });
        let known = Client::known(settings, &found.server);
        let registered = match known {
            Some(_) => None,
            None => store.client(&issuer)?,
        };
        let (listener, redirect) = listen(settings, registered.as_ref())?;
        let reusable = registered.filter(|client| client.redirect.as_deref() == Some(&*redirect));
        let client = match known.or(reusable) {
            Some(client) => client,
            None => {
                let client = Client::register(&http, &found.server, &redirect, &scopes).await?;
                store.put_client(&issuer, client.clone())?;
                client
            }
        };
        let login = Self {
            http,
            store,
            server: server.to_owned(),
            found,
            client,
            scopes,
            pkce: Pkce::new().map_err(OAuthError::Random)?,
            state: random_token().map_err(OAuthError::Random)?,
            redirect,
            url: String::new(),
            listener,
        };
        let url = login.authorization_url()?;
        Ok(Self { url, ..login })
    }

    /// Returns the address to open in a browser.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the authorisation server that is logged in at.
    pub fn issuer(&self) -> &str {
        &self.found.server.issuer
    }

    /// Waits for a browser on this machine. Cancel-safe. Without a port to listen on it fails, and the
    /// redirect has to be pasted.
    pub async fn redirect(&mut self) -> Result<Redirect, OAuthError> {
        let (path, state) = (REDIRECT_PATH, self.state.as_str());
        let Some(listener) = &mut self.listener else {
            return Err(OAuthError::NotARedirect {
                reason: "no port of this machine could be listened on",
            });
        };
        let waiting = async {
            loop {
                let request = listener
                    .next()
                    .await
                    .map_err(|source| OAuthError::Listening {
                        port: listener.port(),
                        source,
                    })?;
                let redirect = Redirect {
                    fields: request.query.clone(),
                };
                let is_ours = request.path == path
                    && redirect
                        .field("state")
                        .is_some_and(|text| same_secret(text, state));
                if !is_ours {
                    // An unrelated request, such as for an icon: keep waiting.
                    request.answer(LoopbackReply::not_found());
                    continue;
                }
                let text = match redirect.field("code") {
                    Some(_) => "zot has received the response. You can close this page.",
                    None => "The login failed; zot says why. You can close this page.",
                };
                request.answer(LoopbackReply::message("zot mcp login", text));
                return Ok(redirect);
            }
        };
        match timeout(LOGIN_TIME, waiting).await {
            Ok(redirect) => redirect,
            Err(_) => Err(OAuthError::TooLate {
                minutes: LOGIN_TIME.as_secs() / 60,
            }),
        }
    }

    /// Reads the address that the browser was sent to, or its query: for a browser on another machine.
    pub fn read_redirect(&self, pasted: &str) -> Result<Redirect, OAuthError> {
        let pasted = pasted.trim();
        let query = pasted.split_once('?').map_or(pasted, |(_, query)| query);
        let query = query.split('#').next().unwrap_or_default();
        let redirect = Redirect {
            fields: form::decoded(query),
        };
        let reason = match redirect.field("state") {
            None => "this is not the address of a finished login",
            Some(state) if same_secret(state, &self.state) => return Ok(redirect),
            Some(_) => "this address belongs to another login",
        };
        Err(OAuthError::NotARedirect { reason })
    }

    /// Checks where the redirect comes from, gets the tokens and stores them.
    pub async fn finish(self, redirect: Redirect) -> Result<(), OAuthError> {
        let code = self.code(&redirect)?;
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &self.redirect),
            ("code_verifier", self.pkce.verifier()),
        ];
        let server = &self.found.server;
        let resource = &self.found.resource.resource;
        let granted = token::request(
            &self.http,
            &server.token_endpoint,
            &self.client,
            resource,
            &grant,
        )
        .await;
        if let Some(listener) = self.listener {
            listener.close().await;
        }
        let granted = match granted {
            Err(OAuthError::Refused { code, reason }) if code == "invalid_client" => {
                // The registration has expired: the next login makes a new one.
                if self.client.origin == ClientOrigin::Registered {
                    self.store.remove_client(&server.issuer)?;
                }
                return Err(OAuthError::Refused { code, reason });
            }
            granted => granted?,
        };
        let tokens = StoredTokens {
            issuer: self.found.server.issuer,
            resource: self.found.resource.resource,
            token_endpoint: self.found.server.token_endpoint,
            client: self.client,
            access: granted.access,
            refresh: granted.refresh,
            expires_at: granted.expires_at,
            scopes: granted.scopes.unwrap_or(self.scopes),
        };
        self.store.put(&self.server, tokens)
    }

    /// Returns the code of a redirect, after checking that no other authorisation server sent it (RFC 9207).
    /// The texts are compared byte for byte.
    fn code<'a>(&self, redirect: &'a Redirect) -> Result<&'a str, OAuthError> {
        let server = &self.found.server;
        let expected = || server.issuer.clone();
        match redirect.field("iss") {
            Some(issuer) if issuer != server.issuer => {
                return Err(OAuthError::MixedUp {
                    expected: expected(),
                    found: issuer.to_owned(),
                });
            }
            None if server.authorization_response_iss_parameter_supported => {
                return Err(OAuthError::MissingIssuer {
                    expected: expected(),
                });
            }
            Some(_) | None => {}
        }
        if let Some(error) = redirect.field("error") {
            return Err(OAuthError::Refused {
                code: error.to_owned(),
                reason: token::shown(error, redirect.field("error_description")),
            });
        }
        let code = redirect.field("code").filter(|code| !code.is_empty());
        code.ok_or(OAuthError::NotARedirect {
            reason: "the address holds no code",
        })
    }

    fn authorization_url(&self) -> Result<String, OAuthError> {
        let server = &self.found.server;
        let endpoint = server.authorization_endpoint.as_deref();
        let endpoint = endpoint.ok_or_else(|| OAuthError::Invalid {
            url: server.issuer.clone(),
            reason: "it has no authorization_endpoint".to_owned(),
        })?;
        let scope = self.scopes.join(" ");
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", &self.client.id),
            ("redirect_uri", &self.redirect),
            ("code_challenge", self.pkce.challenge()),
            ("code_challenge_method", "S256"),
            ("state", &self.state),
            ("resource", &self.found.resource.resource),
        ];
        if !scope.is_empty() {
            fields.push(("scope", &scope));
        }
        // OpenID Connect grants renewal only to users who are asked about it.
        if self.scopes.iter().any(|scope| scope == OFFLINE_ACCESS) {
            fields.push(("prompt", "consent"));
        }
        let separator = if endpoint.contains('?') { '&' } else { '?' };
        Ok(format!("{endpoint}{separator}{}", form::encoded(&fields)))
    }
}

/// Refuses to use a configured client at another authorisation server than before.
pub(super) fn check_binding(
    server: &str,
    before: Option<&StoredTokens>,
    issuer: &str,
    settings: &OAuthSettings,
) -> Result<(), OAuthError> {
    match before {
        Some(before)
            if before.client.origin == ClientOrigin::Configured
                && settings.client_id.as_deref() == Some(&*before.client.id)
                && before.issuer != issuer =>
        {
            Err(OAuthError::IssuerChanged {
                server: server.to_owned(),
                expected: before.issuer.clone(),
                found: issuer.to_owned(),
            })
        }
        _ => Ok(()),
    }
}

/// Listens for the redirect: on the configured port, else on the one that is registered, else on any.
fn listen(
    settings: &OAuthSettings,
    registered: Option<&Client>,
) -> Result<(Option<LoopbackServer>, String), OAuthError> {
    if let Some(port) = settings.callback_port {
        // Clients with a port of their own were registered by people, who write this name.
        let redirect = format!("http://localhost:{port}{REDIRECT_PATH}");
        return Ok((LoopbackServer::bind(port).ok(), redirect));
    }
    let registered = registered
        .and_then(|client| client.redirect.as_deref())
        .and_then(|redirect| address::parse(redirect).ok())
        .and_then(|uri| uri.port_u16());
    let bound = registered.and_then(|port| LoopbackServer::bind(port).ok());
    let server = match bound {
        Some(server) => server,
        None => {
            LoopbackServer::bind(0).map_err(|source| OAuthError::Listening { port: 0, source })?
        }
    };
    let redirect = format!("http://127.0.0.1:{}{REDIRECT_PATH}", server.port());
    Ok((Some(server), redirect))
}

/// Asks the server without a token, to hear what it says about logins.
async fn probe(http: &HttpClient, server: &str) -> Option<String> {
    let mut headers = http::HeaderMap::new();
    add_common(&mut headers, "application/json, text/event-stream");
    add_json(&mut headers);
    for (name, value) in [
        ("mcp-protocol-version", MODERN_VERSION),
        ("mcp-method", "server/discover"),
    ] {
        headers.insert(name, http::HeaderValue::from_static(value));
    }
    let prefix = "io.modelcontextprotocol";
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": {"_meta": {
        format!("{prefix}/protocolVersion"): MODERN_VERSION,
        format!("{prefix}/clientCapabilities"): {},
    }}});
    let request = ExchangeRequest {
        method: Method::POST,
        url: server,
        headers,
        body: body.to_string().into(),
        repeat: Repeat::Safe,
    };
    let response = timeout(PROBE_TIME, http.exchange(request))
        .await
        .ok()?
        .ok()?;
    match response.status {
        401 => crate::transport::http::challenge(&response.headers),
        _ => None,
    }
}
