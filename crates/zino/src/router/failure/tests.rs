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
fn other_servers_are_for_those_that_are_down() {
    let down = error(ModelErrorKind::Connection, "x: Post: refused");
    assert_eq!(next(&down, 0, true), Next::Elsewhere);
    assert_eq!(next(&down, 0, false), Next::Report);
    let failing = error(ModelErrorKind::Unavailable, "x: http 500: oh");
    assert_eq!(next(&failing, 0, true), Next::Elsewhere);
    assert_eq!(next(&failing, 1, false), Next::Again(PAUSES[1]));
    assert_eq!(next(&failing, 2, false), Next::Report);
    let overloaded = error(ModelErrorKind::Unavailable, "x: http 503: oh");
    assert_eq!(next(&overloaded, 0, false), Next::Report);
    let refused = error(ModelErrorKind::Unauthorized, "x: http 401: no");
    assert_eq!(next(&refused, 0, true), Next::Report);
}

#[test]
fn a_server_that_is_busy_is_asked_again() {
    let busy = |seconds| {
        error(ModelErrorKind::RateLimited, "x: http 429: busy")
            .with_retry_after(Some(Duration::from_secs(seconds)))
    };
    assert_eq!(next(&busy(0), 0, true), Next::Again(PAUSES[0]));
    assert_eq!(
        next(&busy(3), 1, false),
        Next::Again(Duration::from_secs(3))
    );
    assert_eq!(next(&busy(300), 0, false), Next::Report);
    assert_eq!(next(&busy(300), 0, true), Next::Elsewhere);
    assert_eq!(next(&busy(0), 2, true), Next::Elsewhere);
    assert_eq!(next(&busy(0), 2, false), Next::Report);
}
