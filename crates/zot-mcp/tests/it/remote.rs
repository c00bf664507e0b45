//! Servers over HTTP: every era and transport, lost sessions, logins.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};

use http::{HeaderMap, Method};
use serde_json::{Value, json};
use testkit::{HttpReply, HttpRequest, HttpScript};
use zot_mcp::ServerState;
use zot_mcp::entry::{Address, OAuthSettings, ServerEntry};
use zot_mcp::oauth::{Login, LoginRequest};
use zot_provider::{FetchRequest, HttpClient};

use crate::support::{Person, Scene, error_of, eventually, program, settle, status, text_of, tool};

fn entry(url: String) -> ServerEntry {
    ServerEntry {
        address: Address::Http {
            url,
            headers: BTreeMap::new(),
        },
        ..program("", Vec::new())
    }
}

/// Returns the result of a request to a server with one tool, as both eras write it.
fn result(message: &Value) -> Value {
    let result = match message["method"].as_str().unwrap_or_default() {
        "server/discover" => json!({
            "resultType": "complete",
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "ttlMs": 1000, "cacheScope": "private",
        }),
        "initialize" => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "remote", "version": "1"},
        }),
        "tools/list" => json!({
            "resultType": "complete",
            "tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {
                "text": {"type": "string", "x-mcp-header": "Text"},
            }}}],
            "ttlMs": 1000, "cacheScope": "private",
        }),
        _ => json!({
            "resultType": "complete",
            "content": [{"type": "text", "text": message["params"]["arguments"]["text"]}],
        }),
    };
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
}

fn answer(request: &HttpRequest) -> HttpReply {
    let message = request.json();
    match message.get("id") {
        Some(_) => HttpReply::json(&result(&message)),
        None => HttpReply::new(202, ""),
    }
}

#[tokio::test]
async fn a_modern_server_needs_no_handshake() {
    let server = HttpScript::start(|request| match request.method.as_str() {
        "POST" => answer(request),
        _ => HttpReply::new(405, ""),
    });
    let scene = Scene::new();
    let set = scene.ready(entry(format!("{}/mcp", server.origin()))).await;
    assert_eq!(status(&set).version.as_deref(), Some("2026-07-28"));
    assert_eq!(
        text_of(&set, "echo", json!({"text": "wörld"})).await,
        "wörld"
    );
    scene.pool.shut_down().await;
    let requests = server.requests();
    assert!(requests.iter().all(|request| request.method == "POST"));
    assert!(
        requests
            .iter()
            .all(|request| request.json()["method"] != "initialize")
    );
    let call = requests
        .iter()
        .find(|r| r.json()["method"] == "tools/call")
        .unwrap();
    assert_eq!(call.header("mcp-name"), Some("echo"));
    assert_eq!(call.header("mcp-param-text"), Some("=?base64?d8O2cmxk?="));
}

#[tokio::test]
async fn a_legacy_server_is_found_and_its_lost_session_begun_anew() {
    let sessions = AtomicUsize::new(0);
    let server = HttpScript::start(move |request| {
        let message = request.json();
        let current = format!("s{}", sessions.load(Ordering::SeqCst));
        match (request.method.as_str(), message["method"].as_str()) {
            ("POST", Some("server/discover")) => HttpReply::new(400, "no session"),
            ("POST", Some("initialize")) => {
                let new = format!("s{}", sessions.fetch_add(1, Ordering::SeqCst) + 1);
                answer(request).with("mcp-session-id", &new)
            }
            ("POST", _) if request.header("mcp-session-id") != Some(&current) => {
                HttpReply::new(404, "")
            }
            ("POST", Some("tools/call")) if message["params"]["arguments"]["text"] == "forget" => {
                // From now on the session is another one.
                sessions.fetch_add(1, Ordering::SeqCst);
                answer(request)
            }
            ("POST", _) => answer(request),
            _ => HttpReply::new(405, ""),
        }
    });
    let scene = Scene::new();
    let set = scene.ready(entry(format!("{}/mcp", server.origin()))).await;
    assert_eq!(status(&set).version.as_deref(), Some("2025-11-25"));
    assert_eq!(
        text_of(&set, "echo", json!({"text": "forget"})).await,
        "forget"
    );
    assert_eq!(
        text_of(&set, "echo", json!({"text": "again"})).await,
        "again"
    );
    scene.pool.shut_down().await;
    let last = server.requests().pop().unwrap();
    assert_eq!(last.method, "DELETE");
}

#[tokio::test]
async fn a_server_that_is_overloaded_at_first_becomes_ready() {
    let asked = AtomicUsize::new(0);
    let server = HttpScript::start(move |request| match request.method.as_str() {
        "POST" => match (asked.fetch_add(1, Ordering::SeqCst), request.json()) {
            (0, _) => HttpReply::new(503, ""),
            (_, message) if message["method"] == "initialize" => {
                answer(request).with("mcp-session-id", "s")
            }
            (_, message) if message["method"] == "server/discover" => HttpReply::new(400, ""),
            // The first start ends in the middle of its lists.
            (1..=3, message) if message["method"] == "tools/list" => HttpReply::new(404, ""),
            _ => answer(request),
        },
        _ => HttpReply::new(405, ""),
    });
    let scene = Scene::new();
    let set = scene.open(vec![entry(format!("{}/mcp", server.origin()))]);
    settle(&set).await;
    let state = status(&set).state;
    assert!(matches!(state, ServerState::Restarting { .. }), "{state:?}");
    eventually(|| (status(&set).state == ServerState::Ready).then_some(())).await;
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn an_older_server_is_found_at_an_http_address() {
    let (sender, pieces) = mpsc::channel::<Vec<u8>>();
    let (sender, pieces) = (Mutex::new(sender), Mutex::new(Some(pieces)));
    let server = HttpScript::start(move |request| {
        let stream = sender.lock().unwrap();
        let send = |text: String| stream.send(text.into_bytes()).unwrap();
        match (request.method.as_str(), request.path()) {
            ("GET", "/sse") => {
                send("event: endpoint\ndata: /messages\n\n".to_owned());
                HttpReply::streamed(pieces.lock().unwrap().take().unwrap())
            }
            ("POST", "/messages") => {
                let message = request.json();
                if message.get("id").is_some() {
                    send(format!("event: message\ndata: {}\n\n", result(&message)));
                }
                HttpReply::new(202, "")
            }
            _ => HttpReply::new(405, ""),
        }
    });
    let scene = Scene::new();
    let set = scene.ready(entry(format!("{}/sse", server.origin()))).await;
    assert_eq!(text_of(&set, "echo", json!({"text": "old"})).await, "old");
    assert!(scene.log().contains("HTTP+SSE"), "{}", scene.log());
    scene.pool.shut_down().await;
    while server.abandoned() == 0 {
        tokio::task::yield_now().await;
    }
}

/// A server that wants a login, and its authorisation server.
fn protected() -> HttpScript {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    HttpScript::start_on(listener, move |request| match request.path() {
        "/mcp" if request.header("authorization") == Some("Bearer good") => answer(request),
        "/mcp" => HttpReply::new(401, ""),
        "/.well-known/oauth-protected-resource/mcp" => HttpReply::json(&json!({
            "resource": format!("{origin}/mcp"), "authorization_servers": [origin],
        })),
        "/.well-known/oauth-authorization-server" => HttpReply::json(&json!({
            "issuer": origin,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "code_challenge_methods_supported": ["S256"],
        })),
        "/authorize" => {
            let state = request.target.split("state=").nth(1).unwrap();
            let state = state.split('&').next().unwrap();
            let target = format!("http://127.0.0.1:1/callback?code=c&state={state}");
            HttpReply::new(302, "").with("location", &target)
        }
        "/token" => HttpReply::json(&json!({"access_token": "good", "token_type": "Bearer"})),
        _ => HttpReply::new(404, ""),
    })
}

#[tokio::test]
async fn a_protected_server_is_ready_after_a_login() {
    let server = protected();
    let url = format!("{}/mcp", server.origin());
    let settings = OAuthSettings {
        client_id: Some("me".to_owned()),
        ..OAuthSettings::default()
    };
    let scene = Scene::new();
    let set = scene.open(vec![ServerEntry {
        oauth: Some(settings.clone()),
        ..entry(url.clone())
    }]);
    settle(&set).await;
    assert_eq!(status(&set).state, ServerState::NeedsLogin);
    let http = HttpClient::new();
    let login = Login::begin(LoginRequest {
        http: http.clone(),
        home: scene.home.path(),
        server: &url,
        settings: &settings,
        challenge: None,
    })
    .await
    .unwrap();
    let opened = http
        .fetch_whole(FetchRequest {
            method: Method::GET,
            url: login.url(),
            headers: HeaderMap::new(),
            body: Vec::new(),
        })
        .await
        .unwrap();
    let pasted = opened.headers.get("location").unwrap().to_str().unwrap();
    let redirect = login.read_redirect(pasted).unwrap();
    login.finish(redirect).await.unwrap();
    set.restart("scripted").unwrap();
    settle(&set).await;
    assert_eq!(status(&set).state, ServerState::Ready);
    assert_eq!(text_of(&set, "echo", json!({"text": "in"})).await, "in");
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn a_session_that_is_lost_while_a_task_runs_does_not_call_again() {
    let server = HttpScript::start(|request| {
        let message = request.json();
        let reply = |result: Value| {
            HttpReply::json(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
        };
        match (request.method.as_str(), message["method"].as_str()) {
            ("POST", Some("server/discover")) => HttpReply::new(400, ""),
            ("POST", Some("initialize")) => reply(json!({
                "protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "tasks": {}},
            }))
            .with("mcp-session-id", "s"),
            ("POST", Some("tools/list")) => reply(json!({"tools": [{
                "name": "work", "inputSchema": {"type": "object"},
                "execution": {"taskSupport": "required"},
            }]})),
            ("POST", Some("tools/call")) => reply(json!({
                "task": {"taskId": "t", "status": "working", "pollInterval": 100},
            })),
            ("POST", Some("tasks/get")) => HttpReply::new(404, ""),
            ("POST", _) => HttpReply::new(202, ""),
            _ => HttpReply::new(405, ""),
        }
    });
    let scene = Scene::new();
    let set = scene.ready(entry(format!("{}/mcp", server.origin()))).await;
    let error = error_of(&set, "work").await;
    assert!(error.contains("forgotten the session"), "{error}");
    scene.pool.shut_down().await;
    let requests = server.requests();
    let calls = requests
        .iter()
        .filter(|request| request.method == "POST" && request.json()["method"] == "tools/call");
    assert_eq!(calls.count(), 1);
}

#[tokio::test]
async fn a_refused_tool_does_not_leave_a_working_server_without_a_login() {
    let server = HttpScript::start(|request| match request.method.as_str() {
        "POST" if request.json()["params"]["arguments"]["text"] == "forbidden" => {
            let challenge = "Bearer error=\"insufficient_scope\"";
            HttpReply::new(403, "").with("www-authenticate", challenge)
        }
        "POST" => answer(request),
        _ => HttpReply::new(405, ""),
    });
    let scene = Scene::new();
    let set = scene.ready(entry(format!("{}/mcp", server.origin()))).await;
    let echo = tool(&set, "echo");
    let person = Person::default();
    let refused = person.call(&echo, json!({"text": "forbidden"})).await;
    assert!(refused.is_error, "{}", refused.joined_text());
    assert_eq!(status(&set).state, ServerState::NeedsLogin);
    let allowed = person.call(&echo, json!({"text": "allowed"})).await;
    assert_eq!(allowed.joined_text(), "allowed");
    assert_eq!(status(&set).state, ServerState::Ready);
    scene.pool.shut_down().await;
}

#[tokio::test]
async fn an_unusable_address_is_named_without_its_key() {
    let scene = Scene::new();
    let set = scene.open(vec![entry("ftp://a.test/mcp?key=hunter2".to_owned())]);
    settle(&set).await;
    let state = format!("{:?}", status(&set).state);
    assert!(state.contains("ftp://a.test/mcp?…"), "{state}");
    assert!(!scene.log().contains("hunter2"), "{}", scene.log());
    scene.pool.shut_down().await;
}
