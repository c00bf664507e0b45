//! A protected MCP server and its authorisation server, on loopback.

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::{HeaderMap, Method};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use testkit::{HttpReply, HttpRequest, HttpScript};
use zot_auth::form;
use zot_provider::{FetchRequest, Fetched, HttpClient};

use crate::authorization::{Authorization as _, NextStep, Refusal};
use crate::entry::OAuthSettings;
use crate::oauth::{Login, LoginRequest, LoginStore, OAuthError, StoredLogin};

/// What the authorisation server does with `iss`.
#[derive(Clone, Default)]
pub(super) enum Iss {
    #[default]
    Absent,
    Right,
    /// The right one with this at its end.
    Changed(&'static str),
}

/// How the servers behave. The default is honest.
#[derive(Clone)]
pub(super) struct Behaviour {
    pub(super) iss: Iss,
    /// What the metadata has instead of the truth, or beside it.
    pub(super) metadata: Value,
    /// What the protected resource's metadata has instead of the truth, or beside it.
    pub(super) resource: Value,
    /// What a grant has beside the access token.
    pub(super) grant: Value,
    /// What a registration has beside the id.
    pub(super) registration: Value,
    /// Scopes that tools need; named in the refusal.
    pub(super) needed: &'static str,
    /// Whether every token is refused.
    pub(super) refuses_all: bool,
    /// Whether the user refuses.
    pub(super) user_refuses: bool,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            iss: Iss::Absent,
            metadata: json!({}),
            resource: json!({}),
            grant: json!({"refresh_token": "r0"}),
            registration: json!({}),
            needed: "",
            refuses_all: false,
            user_refuses: false,
        }
    }
}

#[derive(Default)]
struct State {
    /// What was asked for, by code.
    codes: HashMap<String, HashMap<String, String>>,
    /// The scopes and the audience of each token.
    tokens: HashMap<String, (String, String)>,
    refresh: Option<String>,
    count: usize,
}

/// Both servers, and a home for logins.
pub(super) struct World {
    pub(super) mcp: HttpScript,
    pub(super) issuer: HttpScript,
    pub(super) home: TempDir,
    pub(super) behaviour: Arc<Mutex<Behaviour>>,
    pub(super) settings: OAuthSettings,
}

impl World {
    pub(super) fn new(behaviour: Behaviour) -> Self {
        let behaviour = Arc::new(Mutex::new(behaviour));
        let state = Arc::new(Mutex::new(State::default()));
        let issuer = start_issuer(&behaviour, &state);
        let mcp = start_mcp(&behaviour, &state, issuer.origin());
        Self {
            mcp,
            issuer,
            home: tempfile::tempdir().unwrap(),
            behaviour,
            settings: OAuthSettings::default(),
        }
    }

    pub(super) fn url(&self) -> String {
        format!("{}/mcp", self.mcp.origin())
    }

    pub(super) fn store(&self) -> LoginStore {
        LoginStore::new(self.home.path())
    }

    pub(super) fn stored(&self) -> StoredLogin {
        let settings = self.settings.clone();
        StoredLogin::new(HttpClient::new(), self.store(), &self.url(), settings)
    }

    pub(super) async fn begin(&self) -> Result<Login, OAuthError> {
        Login::begin(LoginRequest {
            http: HttpClient::new(),
            home: self.home.path(),
            server: &self.url(),
            settings: &self.settings,
            challenge: None,
        })
        .await
    }

    /// Logs in from beginning to end, with a pasted address.
    pub(super) async fn log_in(&self) -> Result<(), OAuthError> {
        let login = self.begin().await?;
        let redirect = login.read_redirect(&browse(login.url()).await)?;
        login.finish(redirect).await
    }

    /// Calls the server as the transport does; returns the status at the end.
    pub(super) async fn call(&self, stored: &StoredLogin) -> u16 {
        for _ in 0..4 {
            let token = stored.token().await.unwrap();
            let mut headers = HeaderMap::new();
            if let Some(token) = &token {
                let value = format!("Bearer {}", &**token);
                headers.insert("authorization", value.parse().unwrap());
            }
            let fetched = fetch(Method::POST, &self.url(), headers).await;
            if fetched.status == 200 {
                return 200;
            }
            let challenge = fetched.headers.get("www-authenticate").unwrap();
            let refusal = Refusal {
                status: fetched.status,
                challenge: challenge.to_str().ok(),
                token: token.as_ref(),
            };
            if stored.refused(refusal).await.unwrap() == NextStep::LogIn {
                return fetched.status;
            }
        }
        panic!("refused too often");
    }

    /// Returns the forms that were posted to the token endpoint.
    pub(super) fn token_requests(&self) -> Vec<HashMap<String, String>> {
        let requests = self.issuer.requests();
        let requests = requests.iter().filter(|request| request.path() == "/token");
        requests.map(posted).collect()
    }

    /// Returns what clients have registered with.
    pub(super) fn registrations(&self) -> Vec<Value> {
        let requests = self.issuer.requests();
        let requests = requests
            .iter()
            .filter(|request| request.path() == "/register");
        requests.map(HttpRequest::json).collect()
    }
}

async fn fetch(method: Method, url: &str, headers: HeaderMap) -> Fetched {
    let request = FetchRequest {
        method,
        url,
        headers,
        body: Vec::new(),
    };
    HttpClient::new().fetch_whole(request).await.unwrap()
}

/// Does what a browser does when the user agrees at once; returns where it is redirected to.
pub(super) async fn browse(url: &str) -> String {
    let fetched = fetch(Method::GET, url, HeaderMap::new()).await;
    let location = fetched.headers.get("location").unwrap();
    location.to_str().unwrap().to_owned()
}

/// Follows the redirect, as a browser on this machine does; returns the status.
pub(super) async fn follow(url: &str) -> u16 {
    fetch(Method::GET, url, HeaderMap::new()).await.status
}

/// Returns the fields of an address.
pub(super) fn query(url: &str) -> HashMap<String, String> {
    let query = url.split_once('?').unwrap().1;
    form::decoded(query).into_iter().collect()
}

/// Returns the fields of a form, and who sent it.
fn posted(request: &HttpRequest) -> HashMap<String, String> {
    let mut fields: HashMap<_, _> = form::decoded(&request.text()).into_iter().collect();
    if let Some(basic) = request.header("authorization") {
        let pair = STANDARD
            .decode(basic.strip_prefix("Basic ").unwrap())
            .unwrap();
        fields.insert("basic".to_owned(), String::from_utf8(pair).unwrap());
    }
    fields
}

fn merge(mut value: Value, more: &Value) -> Value {
    for (name, field) in more.as_object().unwrap() {
        value[name] = field.clone();
    }
    value
}

fn start_mcp(
    behaviour: &Arc<Mutex<Behaviour>>,
    state: &Arc<Mutex<State>>,
    issuer: String,
) -> HttpScript {
    let (behaviour, state) = (Arc::clone(behaviour), Arc::clone(state));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    HttpScript::start_on(listener, move |request| {
        let behaviour = behaviour.lock().unwrap().clone();
        let url = format!("{origin}/mcp");
        let metadata = format!("{origin}/metadata");
        let challenge = |more: &str| {
            let scope = match behaviour.needed {
                "" => String::new(),
                needed => format!(", scope=\"{needed}\""),
            };
            format!("Bearer resource_metadata=\"{metadata}\"{scope}{more}")
        };
        match request.path() {
            "/metadata" => HttpReply::json(&merge(
                json!({"resource": url, "authorization_servers": [issuer]}),
                &behaviour.resource,
            )),
            "/mcp" => {
                let token = request.header("authorization").unwrap_or_default();
                let token = token.strip_prefix("Bearer ").unwrap_or_default();
                let state = state.lock().unwrap();
                match state.tokens.get(token) {
                    Some((scopes, audience)) if *audience == url && !behaviour.refuses_all => {
                        let has = |scope: &str| scopes.split(' ').any(|granted| granted == scope);
                        match behaviour.needed.split_whitespace().all(has) {
                            true => HttpReply::json(&json!({})),
                            false => HttpReply::new(403, "").with(
                                "www-authenticate",
                                &challenge(", error=\"insufficient_scope\""),
                            ),
                        }
                    }
                    _ => HttpReply::new(401, "").with("www-authenticate", &challenge("")),
                }
            }
            _ => HttpReply::new(404, ""),
        }
    })
}

fn start_issuer(behaviour: &Arc<Mutex<Behaviour>>, state: &Arc<Mutex<State>>) -> HttpScript {
    let (behaviour, state) = (Arc::clone(behaviour), Arc::clone(state));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    HttpScript::start_on(listener, move |request| {
        let behaviour = behaviour.lock().unwrap().clone();
        let mut state = state.lock().unwrap();
        match request.path() {
            "/.well-known/oauth-authorization-server" => HttpReply::json(&merge(
                json!({
                    "issuer": origin,
                    "authorization_endpoint": format!("{origin}/authorize"),
                    "token_endpoint": format!("{origin}/token"),
                    "registration_endpoint": format!("{origin}/register"),
                    "code_challenge_methods_supported": ["S256"],
                }),
                &behaviour.metadata,
            )),
            "/register" => {
                state.count += 1;
                let id = json!({"client_id": format!("client{}", state.count)});
                HttpReply::json(&merge(id, &behaviour.registration)).status(201)
            }
            "/authorize" => authorize(request, &behaviour, &mut state, &origin),
            "/token" => token(request, &behaviour, &mut state),
            _ => HttpReply::new(404, ""),
        }
    })
}

fn authorize(
    request: &HttpRequest,
    behaviour: &Behaviour,
    state: &mut State,
    origin: &str,
) -> HttpReply {
    let fields = query(&request.target);
    let mut answer = vec![("state", fields["state"].clone())];
    match behaviour.user_refuses {
        true => answer.push(("error", "access_denied".to_owned())),
        false => {
            state.count += 1;
            let code = format!("code{}", state.count);
            answer.push(("code", code.clone()));
            state.codes.insert(code, fields.clone());
        }
    }
    match behaviour.iss {
        Iss::Absent => {}
        Iss::Right => answer.push(("iss", origin.to_owned())),
        Iss::Changed(end) => answer.push(("iss", format!("{origin}{end}"))),
    }
    let answer: Vec<_> = answer
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect();
    let location = format!("{}?{}", fields["redirect_uri"], form::encoded(&answer));
    HttpReply::new(302, "").with("location", &location)
}

fn token(request: &HttpRequest, behaviour: &Behaviour, state: &mut State) -> HttpReply {
    let fields = posted(request);
    let refused = |error: &str| HttpReply::json(&json!({"error": error})).status(400);
    let field = |name: &str| fields.get(name).cloned().unwrap_or_default();
    let scope = match &*field("grant_type") {
        "authorization_code" => {
            let Some(asked) = state.codes.remove(&field("code")) else {
                return refused("invalid_grant");
            };
            let digest = URL_SAFE_NO_PAD.encode(Sha256::digest(field("code_verifier")));
            let is_same = asked["code_challenge"] == digest
                && asked["redirect_uri"] == field("redirect_uri")
                && asked["resource"] == field("resource");
            if !is_same {
                return refused("invalid_grant");
            }
            asked.get("scope").cloned().unwrap_or_default()
        }
        "refresh_token" if Some(field("refresh_token")) == state.refresh => String::new(),
        "client_credentials" => field("scope"),
        _ => return refused("invalid_grant"),
    };
    state.count += 1;
    let access = format!("token{}", state.count);
    state
        .tokens
        .insert(access.clone(), (scope, field("resource")));
    let mut grant = merge(
        json!({"access_token": access, "token_type": "Bearer"}),
        &behaviour.grant,
    );
    if grant.get("refresh_token").is_some() {
        // Each works once.
        let refresh = format!("refresh{}", state.count);
        grant["refresh_token"] = json!(refresh);
        state.refresh = Some(refresh);
    }
    HttpReply::json(&grant)
}
