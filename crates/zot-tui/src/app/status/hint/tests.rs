use super::*;

#[test]
fn the_message_of_a_server_is_extracted_from_json() {
    for (message, shown) in [
        (
            r#"openai: http 401: {"error":{"message":"bad key","code":"401"}}"#,
            "openai: http 401: bad key",
        ),
        (r#"x: http 500: {"error":"oops"}"#, "x: http 500: oops"),
        (r#"x: http 400: {"detail":"no"}"#, "x: http 400: no"),
        (r#"x: http 400: {"other":1}"#, r#"x: http 400: {"other":1}"#),
        (
            r#"x: {"error":{"message":"cut"#,
            r#"x: {"error":{"message":"cut"#,
        ),
        ("no connection", "no connection"),
    ] {
        assert_eq!(readable(message), shown);
    }
}

fn report(code: ErrorCode, provider: Option<&str>, wait: Option<u64>) -> ErrorReport {
    ErrorReport {
        provider: provider.map(str::to_owned),
        retry_after: wait.map(Duration::from_millis),
        ..ErrorReport::new(code, "message")
    }
}

#[test]
fn errors_with_a_remedy_have_a_hint() {
    let hint_for = |code, wait| hint(&report(code, Some("openai"), wait));
    assert_eq!(
        hint_for(ErrorCode::Unauthorized, None).as_deref(),
        Some("/login openai sets another key")
    );
    assert_eq!(
        hint_for(ErrorCode::RateLimited, Some(61_000)).as_deref(),
        Some("try again in 61 s")
    );
    assert_eq!(
        hint_for(ErrorCode::RateLimited, Some(200_000)).as_deref(),
        Some("try again in 4 min")
    );
    assert_eq!(hint_for(ErrorCode::Refused, None), None);
    let with_alternative = ErrorReport {
        alternatives: vec!["groq".to_owned()],
        ..report(ErrorCode::Connection, None, None)
    };
    assert_eq!(
        hint(&with_alternative).as_deref(),
        Some("`zot doctor --network` finds the cause, or `zot --provider groq`, which has a key")
    );
}

#[test]
fn a_short_conversation_cannot_be_compacted() {
    let report = ErrorReport::new(ErrorCode::NothingToCompact, "keep-tail covers everything");
    assert_eq!(
        explain(&report),
        "nothing to compact: the conversation is short"
    );
}
