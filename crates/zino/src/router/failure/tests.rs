use super::*;

fn error(kind: ModelErrorKind, message: &str) -> ModelError {
    ModelError::new(kind, message)
}

#[test]
fn a_refusal_reads_as_the_original_has_it() {
    let cases = [
        (
            r#"openai: http 401: {"error":{"message":"no","type":"scripted"}}"#,
            "Error code: 401 - no",
        ),
        (r#"x: http 404: {"error":"gone"}"#, "Error code: 404 - gone"),
        (
            "x: http 502: <html>bad</html>",
            "Error code: 502 - <html>bad</html>",
        ),
        ("x: http 500: ", "Error code: 500 - "),
        (
            "x: Post \"http://a/\": refused",
            "x: Post \"http://a/\": refused",
        ),
    ];
    for (said, expected) in cases {
        assert_eq!(message(&error(ModelErrorKind::Invalid, said)), expected);
    }
}

#[test]
fn other_servers_are_for_those_that_fail_or_are_busy() {
    for (kind, message) in [
        (ModelErrorKind::Connection, "x: Post: refused"),
        (ModelErrorKind::Unavailable, "x: http 500: oh"),
        (ModelErrorKind::RateLimited, "x: http 429: busy"),
        (ModelErrorKind::InsufficientQuota, "x: http 402: pay"),
    ] {
        let failed = error(kind, message);
        assert_eq!(next(&failed, true), Next::Elsewhere, "{message}");
        assert_eq!(next(&failed, false), Next::Report, "{message}");
    }
    let refused = error(ModelErrorKind::Unauthorized, "x: http 401: no");
    assert_eq!(next(&refused, true), Next::Report);
}
