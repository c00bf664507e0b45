use super::*;

#[test]
fn parameters_of_the_bearer_challenge() {
    let some = |text: &str| Some(text.to_owned());
    for (header, resource_metadata, scope, error) in [
        ("Bearer", None, None, None),
        ("", None, None, None),
        ("Basic realm=\"scope=x\"", None, None, None),
        ("Bearer scope=\"a b\"", None, some("a b"), None),
        (
            "bearer scope=one, error=invalid_token",
            None,
            some("one"),
            some("invalid_token"),
        ),
        (
            "Bearer error=\"insufficient_scope\",\n  scope=\"x\", resource_metadata=\"https://a.test/b?c=d,e\"",
            some("https://a.test/b?c=d,e"),
            some("x"),
            some("insufficient_scope"),
        ),
        (
            "Basic realm=\"bearer \", Bearer scope=\"s\"",
            None,
            some("s"),
            None,
        ),
        (
            "Bearer realm=\"a \\\"quoted\\\" b\", scope=\"s\"",
            None,
            some("s"),
            None,
        ),
        ("Bearer scope=\"a\", scope=\"b\"", None, some("a"), None),
        ("Bearer scope=\" \"", None, None, None),
        (
            "Bearer scope=\"a\", Digest scope=\"b\", error=\"c\"",
            None,
            some("a"),
            None,
        ),
        ("Bearer scope=\"unterminated", None, None, None),
    ] {
        let expected = Challenge {
            resource_metadata,
            scope,
            error,
        };
        assert_eq!(Challenge::parse(header), expected, "{header:?}");
    }
}

#[test]
fn any_text_is_read_without_a_panic() {
    let header = "Basic x, Bearer é=\"ü\\\", scope=\"a\", b";
    for (start, _) in header.char_indices() {
        for (end, _) in header.char_indices() {
            if let Some(part) = header.get(start..end) {
                Challenge::parse(part);
            }
        }
    }
}
