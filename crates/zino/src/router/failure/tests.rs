use super::*;

fn rejection(status: u16, body: &str) -> ModelError {
    ModelError::new(ModelErrorKind::Invalid, body)
        .with_provider("openai")
        .with_status(status)
}

#[test]
fn a_rejection_is_worded_as_in_the_original() {
    let cases = [
        (
            rejection(401, r#"{"error":{"message":"no","type":"scripted"}}"#),
            "Error code: 401 - no",
        ),
        (
            rejection(404, r#"{"error":"gone"}"#),
            "Error code: 404 - gone",
        ),
        (
            rejection(502, "<html>bad</html>"),
            "Error code: 502 - <html>bad</html>",
        ),
        (rejection(500, ""), "Error code: 500 - "),
        (
            rejection(429, r#"{"message":"slow"}"#).with_hint("the provider asks to wait 90 s"),
            "Error code: 429 - slow (the provider asks to wait 90 s)",
        ),
        (
            ModelError::new(ModelErrorKind::Connection, "Post \"http://a/\": refused")
                .with_provider("x"),
            "x: Post \"http://a/\": refused",
        ),
    ];
    for (error, expected) in cases {
        assert_eq!(message(&error), expected);
    }
}

#[test]
fn another_server_is_tried_when_one_fails_or_is_busy() {
    for kind in [
        ModelErrorKind::Connection,
        ModelErrorKind::Unavailable,
        ModelErrorKind::RateLimited,
        ModelErrorKind::InsufficientQuota,
        ModelErrorKind::Stream,
    ] {
        let failed = ModelError::new(kind, "");
        assert_eq!(next(&failed, true), Next::NextServer, "{kind:?}");
        assert_eq!(next(&failed, false), Next::Report, "{kind:?}");
    }
    for kind in [
        ModelErrorKind::Unauthorized,
        ModelErrorKind::Invalid,
        ModelErrorKind::ContextOverflow,
        ModelErrorKind::Refused,
    ] {
        assert_eq!(
            next(&ModelError::new(kind, ""), true),
            Next::Report,
            "{kind:?}"
        );
    }
}
