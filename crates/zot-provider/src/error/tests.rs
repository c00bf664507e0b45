use super::*;

fn refused(status: u16, body: &str) -> ModelError {
    let status = StatusCode::from_u16(status).unwrap();
    http_error(
        "openai",
        status,
        None,
        body.as_bytes(),
        Some("sk-secret-key"),
    )
}

#[test]
fn kinds_by_status() {
    let cases = [
        (401, "no", ModelErrorKind::Unauthorized),
        (403, "no", ModelErrorKind::Unauthorized),
        (429, "slow down", ModelErrorKind::RateLimited),
        (400, "bad", ModelErrorKind::Invalid),
        (
            400,
            r#"{"code":"context_length_exceeded"}"#,
            ModelErrorKind::ContextOverflow,
        ),
        (
            400,
            "Prompt is too long: 9 > 8",
            ModelErrorKind::ContextOverflow,
        ),
        (413, "request_too_large", ModelErrorKind::ContextOverflow),
        (404, "maximum context length", ModelErrorKind::Invalid),
        (500, "oops", ModelErrorKind::Unavailable),
        (529, "overloaded", ModelErrorKind::Unavailable),
        (301, "", ModelErrorKind::Invalid),
    ];
    for (status, body, kind) in cases {
        assert_eq!(refused(status, body).kind, kind, "{status} {body}");
    }
}

#[test]
fn text_is_trimmed_capped_and_free_of_the_key() {
    assert_eq!(
        refused(401, " {\"a\":1}\n").to_string(),
        "openai: http 401: {\"a\":1}"
    );
    assert_eq!(
        refused(401, "bad key sk-secret-key").to_string(),
        "openai: http 401: bad key [redacted]"
    );
    let long = refused(400, &"é".repeat(5000)).to_string();
    assert!(long.len() < MAX_SHOWN_BODY_BYTES + 64 && long.ends_with('…'));
    // A key that the cap cuts in two must not leave its first half behind.
    let cut = format!("{}sk-secret-key", "x".repeat(MAX_SHOWN_BODY_BYTES - 8));
    assert!(!refused(400, &cut).to_string().contains("sk-secre"));
}
