use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, advance};
use zot_conversation::{Answer, QuestionKind};

use super::elicitation::{answer_json, parse_question};
use super::{CallTime, Client, MAX_MCP_CALL_TIME, Params};
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
