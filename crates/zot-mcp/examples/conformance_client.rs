//! The client that the official conformance suite drives; run by `scripts/mcp-conformance`.
#![expect(
    clippy::expect_used,
    clippy::print_stderr,
    reason = "a program for tests: it fails by panicking, and says why on standard error"
)]

use std::collections::BTreeMap;
use std::env;
use std::sync::Arc;

use http::Method;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use zot_conversation::BoxFuture;
use zot_mcp::authorization::{Authorization, AuthorizationError, NextStep, Refusal};
use zot_mcp::entry::{OAuthGrant, OAuthSettings};
use zot_mcp::json_rpc::{METHOD_NOT_FOUND, RequestId, RpcError};
use zot_mcp::oauth::{Login, LoginRequest, LoginStore, StoredLogin};
use zot_mcp::transport::http::{HttpSettings, HttpTransport};
use zot_mcp::transport::{CallHints, Inbox, Transport};
use zot_mcp::version::{Era, LEGACY_VERSION, MODERN_VERSION};
use zot_process::Secret;
use zot_provider::{FetchRequest, HttpClient};

/// The address that the suite expects as a client id where such addresses are taken.
const CLIENT_DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

struct Silent;

impl Inbox for Silent {
    fn notification(&self, _method: &str, _params: Option<&RawValue>) {}

    fn request<'a>(
        &'a self,
        method: &'a str,
        _params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, RpcError>> {
        Box::pin(async move {
            Err(RpcError {
                code: METHOD_NOT_FOUND,
                message: method.to_owned(),
                data: None,
            })
        })
    }
}

/// Logs in by itself where a person would be asked to.
struct Automatic {
    stored: StoredLogin,
    home: tempfile::TempDir,
    server: String,
    settings: OAuthSettings,
}

impl Authorization for Automatic {
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, AuthorizationError>> {
        self.stored.token()
    }

    fn refused<'a>(
        &'a self,
        refusal: Refusal<'a>,
    ) -> BoxFuture<'a, Result<NextStep, AuthorizationError>> {
        Box::pin(async move {
            if self.stored.refused(refusal).await? == NextStep::LogIn {
                let login = Login::begin(LoginRequest {
                    http: HttpClient::new(),
                    home: self.home.path(),
                    server: &self.server,
                    settings: &self.settings,
                    challenge: refusal.challenge,
                })
                .await?;
                let pasted = browse(login.url()).await;
                let redirect = login.read_redirect(&pasted)?;
                login.finish(redirect).await?;
            }
            Ok(NextStep::Repeat)
        })
    }
}

/// Does what a browser does when the user agrees at once; returns where it was redirected to.
async fn browse(url: &str) -> String {
    let fetched = HttpClient::new()
        .fetch_whole(FetchRequest {
            method: Method::GET,
            url,
            headers: http::HeaderMap::new(),
            body: Vec::new(),
        })
        .await
        .expect("the authorisation endpoint answers");
    let location = fetched.headers.get("location").expect("a redirect");
    location.to_str().expect("text").to_owned()
}

fn raw(value: &Value) -> Box<RawValue> {
    to_raw_value(value).expect("JSON")
}

struct Client {
    transport: HttpTransport,
    modern: bool,
    next: i64,
}

impl Client {
    async fn call(&mut self, method: &str, name: Option<&str>, mut params: Value) -> Value {
        self.next += 1;
        if self.modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
                "io.modelcontextprotocol/clientInfo": {"name": "zot", "version": "0"},
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let (id, params) = (RequestId::Number(self.next), raw(&params));
        let hints = CallHints {
            name,
            parameters: Vec::new(),
        };
        match self.transport.call(&id, method, &params, hints).await {
            Ok(result) => serde_json::from_str(result.get()).expect("JSON"),
            Err(error) => {
                eprintln!("{method}: {error}");
                std::process::exit(1);
            }
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let server = env::args().nth(1).expect("the address of the server");
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let version = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default();
    let context = env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    eprintln!("{scenario} {version} {context}");
    let text = |name: &str| context[name].as_str().map(str::to_owned);
    let settings = OAuthSettings {
        client_id: text("client_id"),
        client_secret: text("client_secret"),
        client_metadata_url: Some(CLIENT_DOCUMENT.to_owned()),
        grant: match scenario.starts_with("auth/client-credentials") {
            true => OAuthGrant::ClientCredentials,
            false => OAuthGrant::AuthorizationCode,
        },
        ..OAuthSettings::default()
    };
    let home = tempfile::tempdir().expect("a directory");
    let store = LoginStore::new(home.path());
    let authorization = Automatic {
        stored: StoredLogin::new(HttpClient::new(), store, &server, settings.clone()),
        home,
        server: server.clone(),
        settings,
    };
    let transport = HttpTransport::new(HttpSettings {
        http: HttpClient::new(),
        url: &server,
        headers: &BTreeMap::new(),
        authorization: Some(Arc::new(authorization)),
        inbox: Arc::new(Silent),
    })
    .expect("a valid address");
    let modern = version == MODERN_VERSION;
    let mut client = Client {
        transport,
        modern,
        next: 0,
    };
    if modern {
        client.transport.set_version(Era::Modern, MODERN_VERSION);
        client.call("server/discover", None, json!({})).await;
    } else {
        let hello = json!({
            "protocolVersion": LEGACY_VERSION,
            "capabilities": {},
            "clientInfo": {"name": "zot", "version": "0"},
        });
        client.call("initialize", None, hello).await;
        client.transport.set_version(Era::Legacy, LEGACY_VERSION);
        let begun = client.transport.notify("notifications/initialized", None);
        begun.await.expect("taken");
    }
    let listed = client.call("tools/list", None, json!({})).await;
    for tool in listed["tools"].as_array().cloned().unwrap_or_default() {
        let name = tool["name"].as_str().unwrap_or_default();
        let params = json!({"name": name, "arguments": {}});
        client.call("tools/call", Some(name), params).await;
    }
    client.transport.close().await;
}
