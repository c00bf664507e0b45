use proptest::prelude::*;
use zot_conversation::Arguments;

use super::CallScanner;
use crate::BlockBody;
use crate::call::{FinishedCall, INVALID_CALL, read_call};

/// What was handed out before the end, and what the end said.
fn scan<'t>(
    body: &str,
    pieces: impl IntoIterator<Item = &'t str>,
) -> (Option<String>, String, (String, String)) {
    let mut scanner = CallScanner::default();
    let mut early_name = None;
    let mut handed_out = String::new();
    for piece in pieces {
        let scanned = scanner.feed(piece);
        if scanned.named {
            assert!(early_name.is_none());
            early_name = scanner.name().map(str::to_owned);
        }
        handed_out.push_str(scanned.arguments);
        assert!(early_name.is_some() || handed_out.is_empty());
    }
    assert_eq!(scanner.handed_out(), handed_out.len());
    let body = BlockBody {
        text: body,
        dropped_bytes: 0,
    };
    let finished = FinishedCall::new(body, &scanner);
    let finished = (finished.name.into_owned(), finished.arguments.to_owned());
    (early_name, handed_out, finished)
}

fn check(body: &str, early: (Option<&str>, &str), finished: (&str, &str)) {
    let (name, handed_out, end) = scan(body, [body]);
    assert_eq!((name.as_deref(), handed_out.as_str()), early, "{body}");
    assert_eq!((end.0.as_str(), end.1.as_str()), finished, "{body}");
}

#[test]
fn arguments_behind_the_name_are_handed_out_but_for_their_last_brace() {
    check(
        r#" {"name": "read", "arguments": {"a": ["}", "\"}"]}} "#,
        (Some("read"), r#"{"a": ["}", "\"}"]"#),
        ("read", r#"{"a": ["}", "\"}"]}"#),
    );
    check(
        "```json\n{\"name\":\"read\",\"arguments\":{\"a\":1},\"x\":[2]}\n```",
        (Some("read"), r#"{"a":1"#),
        ("read", r#"{"a":1}"#),
    );
    check(
        r#"{"x":-1.5e3,"y":[{"name":"no"}],"name":"read","arguments":{}}"#,
        (Some("read"), "{"),
        ("read", "{}"),
    );
    check(r#"{"name":"read"}"#, (Some("read"), ""), ("read", ""));
}

#[test]
fn the_rest_waits_for_the_end() {
    check(
        r#"{"arguments":{"a":1},"name":"read"}"#,
        (None, ""),
        ("read", r#"{"a":1}"#),
    );
    check(
        r#"{"name":"read","arguments":"text"}"#,
        (Some("read"), ""),
        ("read", r#""text""#),
    );
}

#[test]
fn what_is_no_call_is_made_to_fail() {
    check(
        r#"{"name": "execute_bash", "arguments": {"code": "#,
        (Some("execute_bash"), r#"{"code": "#),
        ("execute_bash", r#"{"code": "#),
    );
    // One brace short: running what looks whole would be guessing.
    check(
        r#"{"name":"read","arguments":{"a":1}"#,
        (Some("read"), r#"{"a":1"#),
        ("read", r#"{"a":1"#),
    );
    check(
        r#"{"name":"read","arguments":{"a":1}}}"#,
        (Some("read"), r#"{"a":1"#),
        ("read", r#"{"a":1}}}"#),
    );
    check(
        r#"{"name":"read","name":"write"}"#,
        (Some("read"), ""),
        ("read", r#"{"name":"read","name":"write""#),
    );
    check(
        r#"{"arguments":{"a":1},"name":"read","#,
        (None, ""),
        ("read", r#"{"a":1},"name":"read","#),
    );
    check(r#"{"a":1}"#, (None, ""), (INVALID_CALL, r#"{"a":1}"#));
    check(
        "{'name': 'read'}",
        (None, ""),
        (INVALID_CALL, "{'name': 'read'}"),
    );
    check(r#"{"name":7}"#, (None, ""), (INVALID_CALL, r#"{"name":7}"#));
    check(
        "{\"name\":\"read\",\"arguments\":\u{a0}",
        (Some("read"), ""),
        ("read", "{\"name\":\"read\",\"arguments\":\u{a0}"),
    );
}

#[test]
fn a_body_that_was_cut_is_no_call() {
    let mut scanner = CallScanner::default();
    let body = r#"{"name":"read","arguments":{}}"#;
    scanner.feed(body);
    let body = BlockBody {
        text: body,
        dropped_bytes: 1,
    };
    let finished = FinishedCall::new(body, &scanner);
    assert_eq!(finished.arguments, "{}}");
}

/// Bodies that are nearly calls.
fn nearly_a_call() -> impl Strategy<Value = String> {
    const PARTS: &[&str] = &[
        r#"{"name": "read", "arguments": "#,
        r#"{"name": "read", "arguments": "#,
        r#"{"name": "read", "arguments": "#,
        r#"{"name": "read", "arguments": "#,
        r#"{"a": [1, "}\"", {"b": null}]}"#,
        r#"{"a": [1, "}\"", {"b": null}]}"#,
        "}",
        "}",
        r#""arguments":"#,
        r#""name":"#,
        r#""x""#,
        r#""n\u0061me""#,
        "{",
        "{}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "-1e3",
        "null",
        "日",
        "\u{a0}",
        " \n",
        "```json",
        "```",
    ];
    let part = prop::sample::select(PARTS);
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn every_cut_gives_the_same_and_only_whole_calls_can_run(body in nearly_a_call()) {
        let whole = scan(&body, [body.as_str()]);
        prop_assert_eq!(&scan(&body, body.split_inclusive(|_| true)), &whole);
        for place in (0..=body.len()).filter(|&place| body.is_char_boundary(place)) {
            let (head, tail) = body.split_at(place);
            prop_assert_eq!(&scan(&body, [head, tail]), &whole);
        }
        let (early_name, handed_out, (name, arguments)) = whole;
        prop_assert!(arguments.starts_with(&handed_out), "{} {}", arguments, handed_out);
        prop_assert!(early_name.is_none_or(|early| early == name));
        match read_call(&body) {
            Ok(call) => {
                prop_assert_eq!(name, call.name);
                prop_assert_eq!(arguments, call.arguments.map_or("", |raw| raw.get()));
            }
            Err(_) => prop_assert!(
                name == INVALID_CALL || Arguments::from_model_text(&arguments).json().is_err(),
                "{} {}", name, arguments
            ),
        }
    }
}
