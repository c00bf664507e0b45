use std::sync::Mutex as StdMutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};

use serde_json::{Value, json};
use testkit::{HttpReply, HttpRequest, HttpScript};
use zot_process::Secret;

use super::*;
use crate::authorization::{AuthorizationError, NextStep, Refusal};
use crate::json_rpc::RpcError;

/// Keeps what a server sends, and answers its requests with their method.
#[derive(Default)]
struct Kept {
    notifications: StdMutex<Vec<String>>,
}

impl Inbox for Kept {
    fn notification(&self, method: &str, _params: Option<&RawValue>) {
        self.notifications.lock().unwrap().push(method.to_owned());
    }

    fn request<'a>(
        &'a self,
        method: &'a str,
        _params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, RpcError>> {
        Box::pin(async move { Ok(raw(json!({"asked": method}))) })
    }
}

fn raw(value: Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(&value).unwrap()
}

struct Client {
    transport: HttpTransport,
    kept: Arc<Kept>,
}

fn client_with(server: &HttpScript, authorization: Option<Arc<dyn Authorization>>) -> Client {
    let kept = Arc::new(Kept::default());
    let headers = BTreeMap::from([("X-Own".to_owned(), "mine".to_owned())]);
    let transport = HttpTransport::new(HttpSettings {
        http: HttpClient::new(),
        url: &format!("{}/mcp", server.origin()),
        headers: &headers,
        authorization,
        inbox: kept.clone(),
    })
    .unwrap();
    Client { transport, kept }
}

fn client(server: &HttpScript) -> Client {
    client_with(server, None)
}

impl Client {
    async fn call(&self, method: &str) -> Result<Value, CallError> {
        let hints = CallHints {
            name: (method == "tools/call").then_some("wetter_ä"),
            parameters: vec![("Region".to_owned(), "west".to_owned())],
        };
        let (id, params) = (RequestId::Number(7), raw(json!({})));
        let result = self.transport.call(&id, method, &params, hints);
        Ok(serde_json::from_str(result.await?.get()).unwrap())
    }

    async fn begin(&self) {
        self.call("initialize").await.unwrap();
        self.transport.set_version(Era::Legacy, "2025-11-25");
        self.transport
            .notify("notifications/initialized", None)
            .await
            .unwrap();
    }
}

fn result_for(request: &HttpRequest, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request.json()["id"], "result": result})
}

fn event(value: &Value) -> String {
    format!("event: message\ndata: {value}\n\n")
}

/// Waits for a condition that other threads bring about.
async fn until(mut condition: impl FnMut() -> bool) {
    while !condition() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn modern_requests_repeat_their_body_in_headers() {
    let server =
        HttpScript::start(|request| HttpReply::json(&result_for(request, json!({"ok": 1}))));
    let client = client(&server);
    client.transport.set_version(Era::Modern, "2026-07-28");
    assert!(client.transport.cancels_by_dropping());
    assert_eq!(client.call("tools/call").await.unwrap(), json!({"ok": 1}));
    let request = &server.requests()[0];
    for (name, value) in [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "=?base64?d2V0dGVyX8Ok?="),
        ("mcp-param-region", "west"),
        ("x-own", "mine"),
    ] {
        assert_eq!(request.header(name), Some(value), "{name}");
    }
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.json()["jsonrpc"], "2.0");
}

#[tokio::test]
async fn a_legacy_session_is_kept_and_ended() {
    let server = HttpScript::start(|request| {
        match (request.method.as_str(), request.json()["method"].as_str()) {
            ("POST", Some("initialize")) => {
                HttpReply::json(&result_for(request, json!({}))).with("Mcp-Session-Id", "one two")
            }
            ("POST", Some("notifications/initialized")) => HttpReply::new(202, ""),
            ("POST", _) => HttpReply::json(&result_for(request, json!(3))),
            ("DELETE", _) => HttpReply::new(200, ""),
            _ => HttpReply::new(405, ""),
        }
    });
    let client = client(&server);
    client.begin().await;
    assert!(!client.transport.cancels_by_dropping());
    assert_eq!(client.call("tools/list").await.unwrap(), json!(3));
    until(|| {
        server
            .requests()
            .iter()
            .any(|request| request.method == "GET")
    })
    .await;
    client.transport.close().await;
    let requests = server.requests();
    let first = &requests[0];
    assert_eq!(first.header("mcp-session-id"), None);
    assert_eq!(first.header("mcp-protocol-version"), None);
    assert_eq!(first.header("mcp-method"), None);
    for request in &requests[1..] {
        assert_eq!(request.header("mcp-session-id"), Some("one two"));
        assert_eq!(request.header("mcp-protocol-version"), Some("2025-11-25"));
    }
    assert_eq!(requests.last().unwrap().method, "DELETE");
}

#[tokio::test]
async fn events_before_the_response_are_passed_on_and_requests_answered() {
    let server = HttpScript::start(|request| {
        let body = request.json();
        if body["method"] != "tools/call" {
            return HttpReply::new(202, "");
        }
        HttpReply::events(
            [
                ": a comment\n\nid: 1\ndata:\n\n".to_owned(),
                event(&json!({"jsonrpc": "2.0", "method": "notifications/progress"})),
                event(&json!({"jsonrpc": "2.0", "id": "s1", "method": "elicitation/create"})),
                event(&json!({"jsonrpc": "2.0", "id": 99, "result": "of another request"})),
                event(&result_for(request, json!("done"))),
                event(&json!({"jsonrpc": "2.0", "method": "notifications/late"})),
            ]
            .concat(),
        )
    });
    let client = client(&server);
    client.transport.set_version(Era::Legacy, "2025-11-25");
    assert_eq!(client.call("tools/call").await.unwrap(), json!("done"));
    assert_eq!(
        *client.kept.notifications.lock().unwrap(),
        ["notifications/progress"]
    );
    until(|| server.requests().len() == 2).await;
    assert_eq!(
        server.requests()[1].json(),
        json!({"jsonrpc": "2.0", "id": "s1", "result": {"asked": "elicitation/create"}})
    );
}

#[tokio::test]
async fn statuses_say_what_went_wrong() {
    let server = HttpScript::start(|request| match request.json()["method"].as_str().unwrap() {
        "version" => HttpReply::new(
            400,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no","data":{"supported":["2025-11-25"]}}}"#,
        ),
        "html" => HttpReply::new(502, "<h1>Bad gateway</h1>"),
        "page" => {
            HttpReply::new(200, "<h1>Hello</h1>").with("content-type", "text/html; charset=utf-8")
        }
        "redirect" => HttpReply::new(308, "").with("location", "https://elsewhere.test/"),
        "cut" => HttpReply::events("data: {\"jsonrpc\":\"2.0\",\"id\":7,\"res"),
        "garbage" => HttpReply::events("data: nonsense\n\n"),
        "wrong" => HttpReply::json(&json!({"jsonrpc": "2.0", "id": 8, "result": {}})),
        "huge" => HttpReply::new(200, vec![b' '; 9 << 20]).with("content-type", "application/json"),
        "long" => HttpReply::new(500, "x".repeat(60_000)),
        "nameless" => HttpReply::json(&json!({"id": null, "error": {"code": -32600}})),
        "list" => HttpReply::json(&json!([
            {"jsonrpc": "2.0", "method": "notifications/x"},
            {"jsonrpc": "2.0", "id": 1.5},
            result_for(request, json!("in a list")),
        ])),
        _ => HttpReply::hang_up(),
    });
    let client = client(&server);
    client.transport.set_version(Era::Modern, "2026-07-28");
    let failure = async |method: &str| client.call(method).await.unwrap_err();
    assert!(matches!(failure("version").await, CallError::Refused(error) if error.code == -32022));
    assert!(
        matches!(failure("html").await, CallError::Status { status: 502, body } if body.contains("gateway"))
    );
    assert!(failure("long").await.to_string().len() < 5_000);
    assert!(matches!(failure("nameless").await, CallError::Refused(error) if error.code == -32600));
    assert!(failure("page").await.to_string().contains("text/html"));
    assert!(
        failure("redirect")
            .await
            .to_string()
            .contains("https://elsewhere.test/")
    );
    assert!(matches!(failure("cut").await, CallError::Disconnected(_)));
    assert!(matches!(failure("garbage").await, CallError::Invalid(_)));
    assert!(matches!(failure("wrong").await, CallError::Invalid(_)));
    assert!(
        failure("huge")
            .await
            .to_string()
            .contains("MAX_HTTP_MESSAGE_BYTES")
    );
    assert!(matches!(failure("gone").await, CallError::Disconnected(_)));
    assert_eq!(client.call("list").await.unwrap(), json!("in a list"));
}

#[tokio::test]
async fn a_forgotten_session_is_told_apart() {
    let calls = AtomicUsize::new(0);
    let server = HttpScript::start(move |request| match request.json()["method"].as_str() {
        Some("initialize") => {
            HttpReply::json(&result_for(request, json!({}))).with("mcp-session-id", "s")
        }
        Some("tools/list") => match calls.fetch_add(1, Ordering::SeqCst) {
            0 => HttpReply::new(404, "{}"),
            1 => HttpReply::new(
                400,
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}"#,
            ),
            _ => HttpReply::new(
                400,
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Disk full"}}"#,
            ),
        },
        _ => HttpReply::new(405, ""),
    });
    let client = client(&server);
    client.call("initialize").await.unwrap();
    client.transport.set_version(Era::Legacy, "2025-11-25");
    for _ in 0..2 {
        assert!(matches!(
            client.call("tools/list").await,
            Err(CallError::SessionLost)
        ));
    }
    assert!(matches!(
        client.call("tools/list").await,
        Err(CallError::Refused(_))
    ));
}

#[tokio::test]
async fn a_request_that_was_accepted_is_not_taken_for_one_of_a_lost_session() {
    let server = HttpScript::start(|request| match request.json()["method"].as_str() {
        Some("initialize") => {
            HttpReply::json(&result_for(request, json!({}))).with("mcp-session-id", "s")
        }
        // The tool ran, and failed with words that servers without a session use too.
        Some("tools/call") => HttpReply::json(&json!({
            "jsonrpc": "2.0", "id": 7, "error": {"code": -32000, "message": "session expired"},
        })),
        // The stream breaks, and the session is gone when it is asked for again.
        Some("resumed") => HttpReply::events("retry: 100\nid: a1\ndata:\n\n"),
        _ => HttpReply::new(404, ""),
    });
    let client = client(&server);
    client.call("initialize").await.unwrap();
    client.transport.set_version(Era::Legacy, "2025-11-25");
    assert!(matches!(
        client.call("tools/call").await,
        Err(CallError::Refused(_))
    ));
    assert!(matches!(
        client.call("resumed").await,
        Err(CallError::Disconnected(_))
    ));
}

#[tokio::test]
async fn the_listening_stream_outlives_a_server_that_is_overloaded() {
    let opened = AtomicUsize::new(0);
    let server = HttpScript::start(move |request| match request.method.as_str() {
        "GET" => match opened.fetch_add(1, Ordering::SeqCst) {
            0 => HttpReply::events("retry: 100\nid: e1\ndata:\n\n"),
            1 => HttpReply::new(503, ""),
            2 => HttpReply::new(429, ""),
            3 => HttpReply::events(
                "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/late\"}\n\n",
            ),
            _ => HttpReply::new(405, ""),
        },
        _ if request.json()["method"] == "initialize" => {
            HttpReply::json(&result_for(request, json!({})))
        }
        _ => HttpReply::new(202, ""),
    });
    let client = client(&server);
    client.begin().await;
    until(|| !client.kept.notifications.lock().unwrap().is_empty()).await;
}

#[tokio::test]
async fn a_broken_legacy_response_is_resumed_and_a_modern_one_lost() {
    let server = HttpScript::start(|request| match request.method.as_str() {
        "GET" if request.header("last-event-id") == Some("a1") => HttpReply::events(event(
            &json!({"jsonrpc": "2.0", "id": 7, "result": "resumed"}),
        )),
        "GET" => HttpReply::new(400, ""),
        _ => HttpReply::events("retry: 100\nid: a1\ndata:\n\nid: a2\ndata: {\"cut"),
    });
    let client = client(&server);
    client.transport.set_version(Era::Legacy, "2025-11-25");
    assert_eq!(client.call("tools/call").await.unwrap(), json!("resumed"));
    client.transport.set_version(Era::Modern, "2026-07-28");
    assert!(matches!(
        client.call("tools/call").await,
        Err(CallError::Disconnected(_))
    ));
}

#[tokio::test]
async fn the_listening_stream_is_opened_again_where_it_ended() {
    let server = HttpScript::start(|request| match request.method.as_str() {
        "GET" if request.header("last-event-id").is_none() => HttpReply::events(
            "retry: 100\nid: e1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/one\"}\n\n",
        ),
        "GET" if request.header("last-event-id") == Some("e1") => HttpReply::events(
            "id: e2\ndata: nonsense\n\nid: e3\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/two\"}\n\n",
        ),
        "GET" => HttpReply::new(405, ""),
        _ if request.json()["method"] == "initialize" => {
            HttpReply::json(&result_for(request, json!({})))
        }
        _ => HttpReply::new(202, ""),
    });
    let client = client(&server);
    client.begin().await;
    let gets = || {
        let requests = server.requests();
        let gets = requests.iter().filter(|request| request.method == "GET");
        gets.map(|request| request.header("last-event-id").map(str::to_owned))
            .collect::<Vec<_>>()
    };
    until(|| gets().len() == 3).await;
    assert_eq!(gets(), [None, Some("e1".to_owned()), Some("e3".to_owned())]);
    assert_eq!(
        *client.kept.notifications.lock().unwrap(),
        ["notifications/one", "notifications/two"]
    );
}

#[tokio::test]
async fn connections_are_used_again_after_events() {
    let open = Arc::new(StdMutex::new(None));
    let opened = Arc::clone(&open);
    let server = HttpScript::start(move |request| {
        let text = event(&result_for(request, json!(1)));
        if request.json()["method"] != "later" {
            return HttpReply::events(text);
        }
        // The end comes after the response.
        let (sender, pieces) = mpsc::channel();
        sender.send(text.into_bytes()).unwrap();
        *opened.lock().unwrap() = Some(sender);
        HttpReply::streamed(pieces)
    });
    let client = client(&server);
    client.transport.set_version(Era::Modern, "2026-07-28");
    for _ in 0..3 {
        client.call("tools/list").await.unwrap();
    }
    client.call("later").await.unwrap();
    *open.lock().unwrap() = None;
    until(|| {
        client
            .transport
            .ending
            .lock()
            .unwrap()
            .try_join_next()
            .is_some()
    })
    .await;
    client.call("tools/list").await.unwrap();
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_response_may_come_on_the_listening_stream() {
    let (sender, pieces) = mpsc::channel();
    let (sender, pieces) = (StdMutex::new(sender), StdMutex::new(Some(pieces)));
    let server = HttpScript::start(move |request| match request.method.as_str() {
        "GET" if request.header("last-event-id").is_none() => {
            HttpReply::streamed(pieces.lock().unwrap().take().unwrap())
        }
        // The resumed stream stays silent.
        "GET" => HttpReply::streamed(mpsc::channel().1),
        _ => match request.json()["method"].as_str() {
            Some("initialize") => HttpReply::json(&result_for(request, json!({}))),
            Some("tools/call") => {
                let text = event(&result_for(request, json!("late"))).into_bytes();
                sender.lock().unwrap().send(text).unwrap();
                HttpReply::events("retry: 100\nid: 1\ndata:\n\n")
            }
            _ => HttpReply::new(202, ""),
        },
    });
    let client = client(&server);
    client.begin().await;
    assert_eq!(client.call("tools/call").await.unwrap(), json!("late"));
    assert!(client.transport.shared.waiting.is_empty());
}

#[tokio::test]
async fn dropping_a_call_closes_its_stream() {
    let (sender, pieces) = mpsc::channel();
    let (keep, pieces) = (
        StdMutex::new(None::<Sender<Vec<u8>>>),
        StdMutex::new(Some(pieces)),
    );
    *keep.lock().unwrap() = Some(sender);
    let server =
        HttpScript::start(move |_| HttpReply::streamed(pieces.lock().unwrap().take().unwrap()));
    let client = client(&server);
    client.transport.set_version(Era::Modern, "2026-07-28");
    {
        let call = client.call("tools/call");
        tokio::pin!(call);
        let asked = until(|| server.requests().len() == 1);
        tokio::select! {
            _ = &mut call => panic!("the server sends nothing"),
            () = asked => {}
        }
    }
    until(|| server.abandoned() == 1).await;
}

/// Gives out the tokens `t0`, `t1` and so on, and remembers why.
#[derive(Default)]
struct Tokens {
    count: AtomicUsize,
    refusals: StdMutex<Vec<String>>,
}

impl Authorization for Tokens {
    fn token(&self) -> BoxFuture<'_, Result<Option<Secret>, AuthorizationError>> {
        let token = format!("t{}", self.count.load(Ordering::SeqCst));
        Box::pin(async move { Ok(Some(Secret::from(token))) })
    }

    fn refused<'a>(
        &'a self,
        refusal: Refusal<'a>,
    ) -> BoxFuture<'a, Result<NextStep, AuthorizationError>> {
        self.count.fetch_add(1, Ordering::SeqCst);
        let challenge = refusal.challenge.unwrap_or_default();
        let text = format!("{} {challenge}", refusal.status);
        self.refusals.lock().unwrap().push(text);
        Box::pin(async { Ok(NextStep::Repeat) })
    }
}

#[tokio::test]
async fn refused_requests_are_repeated_a_few_times_only() {
    let server = HttpScript::start(|request| {
        let method = request.json()["method"].as_str().unwrap().to_owned();
        match (method.as_str(), request.header("authorization").unwrap()) {
            ("never", _) => HttpReply::new(401, ""),
            ("plain", _) => HttpReply::new(403, "no"),
            (_, "Bearer t0") => HttpReply::new(401, "")
                .with("WWW-Authenticate", "Basic realm=x")
                .with("WWW-Authenticate", "Bearer scope=\"a\""),
            (_, "Bearer t1") => HttpReply::new(403, "")
                .with("www-authenticate", "bearer error=\"insufficient_scope\""),
            _ => HttpReply::json(&result_for(request, json!("in"))),
        }
    });
    let tokens = Arc::new(Tokens::default());
    let client = client_with(&server, Some(tokens.clone()));
    client.transport.set_version(Era::Modern, "2026-07-28");
    assert_eq!(client.call("tools/list").await.unwrap(), json!("in"));
    assert_eq!(
        *tokens.refusals.lock().unwrap(),
        [
            "401 Bearer scope=\"a\"",
            "403 bearer error=\"insufficient_scope\""
        ]
    );
    let before = server.requests().len();
    let refused = client.call("never").await;
    assert!(matches!(
        refused,
        Err(CallError::Unauthorized {
            status: 401,
            challenge: None
        })
    ));
    assert_eq!(server.requests().len() - before, 4);
    assert!(matches!(
        client.call("plain").await,
        Err(CallError::Status { status: 403, .. })
    ));
}
