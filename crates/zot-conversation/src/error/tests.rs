use super::*;

#[test]
fn the_sentence_names_what_is_known() {
    let error = ModelError::new(ModelErrorKind::Unauthorized, "no such key");
    assert_eq!(error.to_string(), "no such key");
    let error = error.with_provider("openai");
    assert_eq!(error.to_string(), "openai: no such key");
    let error = error.with_status(401);
    assert_eq!(error.to_string(), "openai: http 401: no such key");
    let error = error.with_hint("POST http://a/").with_hint("wait");
    assert_eq!(
        error.to_string(),
        "openai: http 401: no such key (POST http://a/) (wait)"
    );
}

#[test]
fn a_report_keeps_what_the_error_knows() {
    let error = ModelError::new(ModelErrorKind::RateLimited, "slow down")
        .with_provider("openai-responses")
        .with_status(429)
        .with_retry_after(Some(Duration::from_secs(3)));
    let report = ErrorReport::of_provider(&error, "openai");
    assert_eq!(report.code, ErrorCode::RateLimited);
    assert_eq!(report.message, "openai-responses: http 429: slow down");
    assert_eq!(report.status, Some(429));
    assert_eq!(report.retry_after, Some(Duration::from_secs(3)));
    assert_eq!(report.provider.as_deref(), Some("openai"));
    let report = ErrorReport::from(&error);
    assert_eq!(report.provider.as_deref(), Some("openai-responses"));
}
