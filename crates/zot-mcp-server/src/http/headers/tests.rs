use super::{accepts_events, decoded, is_json};
use zot_http_server::http::header::{ACCEPT, CONTENT_TYPE};
use zot_http_server::http::{HeaderMap, HeaderName, HeaderValue};

fn headers(name: HeaderName, values: &[&'static str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(name.clone(), HeaderValue::from_static(value));
    }
    headers
}

#[test]
fn names_may_be_encoded() {
    assert_eq!(decoded("zot").as_deref(), Some("zot"));
    assert_eq!(
        decoded("=?base64?SGVsbG8sIOS4lueVjA==?=").as_deref(),
        Some("Hello, 世界")
    );
    assert_eq!(decoded("=?base64?!?="), None);
    assert_eq!(decoded("=?base64?/w==?="), None, "not UTF-8");
    // The marks are case-sensitive.
    assert_eq!(
        decoded("=?BASE64?eA==?=").as_deref(),
        Some("=?BASE64?eA==?=")
    );
}

#[test]
fn a_body_is_json_if_it_says_so() {
    assert!(is_json(&headers(CONTENT_TYPE, &["application/json"])));
    assert!(is_json(&headers(
        CONTENT_TYPE,
        &["Application/JSON; charset=utf-8"]
    )));
    assert!(!is_json(&headers(CONTENT_TYPE, &["text/plain"])));
    assert!(!is_json(&headers(
        CONTENT_TYPE,
        &["application/json", "application/json"]
    )));
    assert!(!is_json(&HeaderMap::new()));
}

#[test]
fn events_are_sent_to_those_who_accept_them() {
    assert!(accepts_events(&headers(
        ACCEPT,
        &["application/json, text/event-stream"]
    )));
    assert!(accepts_events(&headers(
        ACCEPT,
        &["application/json", "text/event-stream;q=0.5"]
    )));
    assert!(!accepts_events(&headers(ACCEPT, &["application/json"])));
    assert!(!accepts_events(&headers(ACCEPT, &["*/*"])));
    assert!(!accepts_events(&HeaderMap::new()));
}
