use super::*;

#[test]
fn what_a_server_says_is_taken_out_of_its_json() {
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

#[test]
fn every_error_that_can_be_helped_has_a_next_step() {
    let step = |code, wait| next_step(code, Some("openai"), wait, &[]);
    assert_eq!(
        step("unauthorized", None).as_deref(),
        Some("/login openai gives another key")
    );
    assert_eq!(
        step("rate_limited", Some(61_000)).as_deref(),
        Some("try again in 61 s")
    );
    assert_eq!(
        step("rate_limited", Some(200_000)).as_deref(),
        Some("try again in 4 min")
    );
    assert_eq!(step("refused", None), None);
    let others = ["groq".to_owned()];
    assert_eq!(
        next_step("connection", None, None, &others).as_deref(),
        Some(
            "`zot doctor --network` says what is in the way, or `zot --provider groq`, which has a key"
        )
    );
}
