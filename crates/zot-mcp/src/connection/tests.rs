use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, advance, timeout};
use zot_conversation::{Answer, BoxFuture, QuestionKind};

use crate::json_rpc::{RequestId, RpcError};
use crate::log::ServerLog;
use crate::transport::{CallError, CallHints, Inbox as _, Transport};

use super::elicitation::{answer_json, parse_question};
use super::{CallTime, Client, Connection, Exchange, MAX_MCP_CALL_TIME, Opening, Params};
use crate::version::{Era, MODERN_VERSION};

#[tokio::test(start_paused = true)]
async fn progress_extends_a_call_but_not_for_ever() {
    let patience = Duration::from_secs(60);
    let mut time = CallTime::new(patience);
    let began = Instant::now();
    let mut reports = 0;
    while Instant::now() < time.deadline() {
        advance(Duration::from_secs(59)).await;
        time.extend();
        reports += 1;
        assert!(reports < 1_000);
    }
    let took = began.elapsed();
    assert!(
        took >= MAX_MCP_CALL_TIME && took < MAX_MCP_CALL_TIME + patience,
        "{took:?}"
    );
    assert_eq!(time.limit(), MAX_MCP_CALL_TIME);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_user_does_not_count() {
    let mut time = CallTime::new(Duration::from_secs(10));
    let asked = Instant::now();
    advance(MAX_MCP_CALL_TIME * 2).await;
    time.end_pause(asked);
    assert_eq!(time.deadline() - Instant::now(), Duration::from_secs(10));
}

#[test]
fn parameters_are_one_object_with_what_every_request_has() {
    let client = Client {
        version: "1".to_owned(),
        has_roots: false,
    };
    let meta = client.modern_meta(MODERN_VERSION);
    let params = Params::new()
        .with("name", "a \"quoted\" name")
        .with_json("arguments", "{}")
        .finish(&meta)
        .unwrap();
    let value: Value = serde_json::from_str(params.get()).unwrap();
    assert_eq!(value["name"], "a \"quoted\" name");
    assert_eq!(
        value["_meta"]["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
    assert_eq!(Params::new().finish("").unwrap().get(), "{}");
    assert_eq!(
        Params::new().with("a", 1).finish("").unwrap().get(),
        r#"{"a":1}"#
    );
    assert!(!client.capabilities(Era::Legacy).contains("roots"));
}

#[test]
fn questions_are_forms_or_pages_and_nothing_else() {
    let ask = |json: &str| {
        let params = RawValue::from_string(json.to_owned()).unwrap();
        parse_question("s", &params)
    };
    let form = ask(r#"{"message":"m","requestedSchema":{"type":"object"}}"#).unwrap();
    assert!(matches!(form.kind, QuestionKind::Form { .. }));
    let bare = ask(r#"{"mode":"form","message":"m"}"#).unwrap();
    assert!(matches!(bare.kind, QuestionKind::Form { .. }));
    let page = ask(r#"{"mode":"url","message":"m","url":"https://a.b/"}"#).unwrap();
    assert!(matches!(page.kind, QuestionKind::Url { .. }));
    for wrong in [
        r#"{"mode":"url","message":"m"}"#,
        r#"{"mode":"url","message":"m","url":"javascript:alert(1)"}"#,
        r#"{"mode":"url","message":"m","url":"https://a.b/\u001b[0m"}"#,
        r#"{"mode":"voice","message":"m"}"#,
        r#"{"message":"m","requestedSchema":[]}"#,
        "[]",
    ] {
        assert!(ask(wrong).is_err(), "{wrong}");
    }
    let long = format!(r#"{{"message":"{}"}}"#, "m".repeat(70_000));
    assert!(ask(&long).is_err());
    assert_eq!(answer_json(&Answer::Cancel), r#"{"action":"cancel"}"#);
}

fn exchange(era: Era) -> (tempfile::TempDir, Arc<Exchange>) {
    let home = tempfile::tempdir().unwrap();
    let log = Arc::new(ServerLog::new(home.path(), "s"));
    let exchange = Exchange::new("s", log, Some("file:///work".to_owned()));
    exchange.set_era(era);
    (home, exchange)
}

#[tokio::test]
async fn requests_of_servers_exist_in_the_legacy_era_only() {
    let (_home, legacy) = exchange(Era::Legacy);
    let (_home, modern) = exchange(Era::Modern);
    let form = RawValue::from_string(r#"{"message":"m"}"#.to_owned()).unwrap();
    for (method, expected) in [
        ("ping", Some("{}")),
        (
            "roots/list",
            Some(r#"{"roots":[{"uri":"file:///work","name":"working directory"}]}"#),
        ),
        // Nobody runs a call that could ask.
        ("elicitation/create", Some(r#"{"action":"decline"}"#)),
        ("sampling/createMessage", None),
        ("tasks/get", None),
    ] {
        let answer = legacy.request(method, Some(&form)).await;
        assert_eq!(answer.ok().as_deref().map(RawValue::get), expected);
        let refusal = modern.request(method, Some(&form)).await.unwrap_err();
        assert_eq!(refusal.code, -32601);
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_with_the_call_that_never_took_it() {
    let (_home, exchange) = exchange(Era::Legacy);
    let form = RawValue::from_string(r#"{"message":"m"}"#.to_owned()).unwrap();
    let registration = exchange.register();
    let asked = exchange.request("elicitation/create", Some(&form));
    let (answer, ()) = tokio::join!(timeout(Duration::from_secs(1), asked), async {
        tokio::task::yield_now().await;
        drop(registration);
    });
    assert_eq!(answer.unwrap().unwrap().get(), r#"{"action":"cancel"}"#);
}

/// A modern server that is not up yet when it is asked for the first time.
#[derive(Default)]
struct SlowToStart {
    asked: Mutex<Vec<String>>,
}

impl Transport for SlowToStart {
    fn call<'a>(
        &'a self,
        _id: &'a RequestId,
        method: &'a str,
        _params: &'a RawValue,
        _hints: CallHints<'a>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, CallError>> {
        let is_first = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(method.to_owned());
            asked.len() == 1
        };
        Box::pin(async move {
            match method {
                _ if is_first => std::future::pending().await,
                "initialize" => Err(CallError::Refused(RpcError {
                    code: -32022,
                    message: "unsupported".to_owned(),
                    data: None,
                })),
                _ => {
                    let result = r#"{"supportedVersions":["2026-07-28"]}"#;
                    Ok(RawValue::from_string(result.to_owned()).unwrap())
                }
            }
        })
    }

    fn notify<'a>(
        &'a self,
        _method: &'a str,
        _params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<(), CallError>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn set_version(&self, _era: Era, _version: &str) {}

    fn cancels_by_dropping(&self) -> bool {
        false
    }

    fn closed(&self) -> BoxFuture<'_, String> {
        Box::pin(std::future::pending())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_modern_server_that_starts_slowly_is_asked_again() {
    let home = tempfile::tempdir().unwrap();
    let log = Arc::new(ServerLog::new(home.path(), "s"));
    let exchange = Exchange::new("s", log, None);
    let transport = Arc::new(SlowToStart::default());
    let opening = Opening {
        client: Client {
            version: "1".to_owned(),
            has_roots: false,
        },
        first: Era::Modern,
        forced: None,
    };
    let connection = Connection::begin(transport.clone(), exchange, &opening)
        .await
        .ok()
        .unwrap();
    assert_eq!(connection.era(), Era::Modern);
    assert_eq!(
        *transport.asked.lock().unwrap(),
        ["server/discover", "initialize", "server/discover"]
    );
}

#[tokio::test]
async fn what_is_abandoned_is_limited_and_taken_once() {
    let (_home, exchange) = exchange(Era::Legacy);
    for _ in 0..1_000 {
        let mut registration = exchange.register();
        registration.tell = true;
    }
    let mut taken = 0;
    while exchange.take_now(|news| news.abandoned.pop()).is_some() {
        taken += 1;
    }
    assert_eq!(taken, 256);
}
