use serde_json::{Value, json};

use super::Masks;
use crate::mask::Mask;

fn check(recorded: Value, now: Value, expected: &str) {
    let masks = Masks {
        recorded: Mask::default(),
        now: Mask::default(),
    };
    let found = masks.compare("messages[3]", &recorded, &now);
    let found = found.map(|found| found.to_string()).unwrap_or_default();
    assert_eq!(found, expected);
}

fn message(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text}]})
}

#[test]
fn the_first_place_is_named_with_both_values() {
    check(message("a"), message("a"), "");
    check(
        message("read a.txt"),
        message("read b.txt"),
        r#"messages[3].content[0].text: recorded "read a.txt", now "read b.txt""#,
    );
    check(
        json!({"role": "user", "content": []}),
        json!({"role": "tool", "content": []}),
        r#"messages[3].role: recorded "user", now "tool""#,
    );
    check(
        json!({"content": [1, 2]}),
        json!({"content": [1]}),
        "messages[3].content[1]: recorded 2, now nothing",
    );
    check(
        json!({"a": 1}),
        json!({"a": 1, "b": {"c": true}}),
        r#"messages[3].b: recorded nothing, now {"c":true}"#,
    );
    check(
        json!({"a": 1}),
        json!({"a": "1"}),
        r#"messages[3].a: recorded 1, now "1""#,
    );
}

#[test]
fn long_values_are_cut_to_where_they_differ() {
    let long = "word ".repeat(100);
    check(
        message(&format!("{long}one {long}")),
        message(&format!("{long}two {long}")),
        concat!(
            "messages[3].content[0].text: ",
            r#"recorded "…word word word word one word word word word word word word w…", "#,
            r#"now "…word word word word two word word word word word word word w…""#
        ),
    );
    check(
        message(&long),
        message(""),
        concat!(
            "messages[3].content[0].text: recorded ",
            r#""word word word word word word word word word word word word …", now """#
        ),
    );
}

#[test]
fn the_working_directory_may_be_another() {
    let masks = Masks {
        recorded: Mask::of("Working directory: /app"),
        now: Mask::of("Working directory: /ci"),
    };
    let same = |recorded: &str, now: &str| masks.compare("", &recorded.into(), &now.into());
    assert_eq!(same("in /app/a.txt", "in /ci/a.txt"), None);
    assert_eq!(
        same("use /app/a.txt  Took 0.1s", "use /app/a.txt  Took 0.2s"),
        None
    );
    assert!(same("in /app/a.txt", "in /ci/b.txt").is_some());
}

#[test]
fn what_may_differ_is_not_reported() {
    check(message("x Took 0.1s"), message("x Took 9.9s"), "");
    check(message("a [redacted] b"), message("a sk-123 b"), "");
    check(
        json!("{\"pin\":[redacted]}"),
        json!({"pin": 12_345_678}),
        "",
    );
}
