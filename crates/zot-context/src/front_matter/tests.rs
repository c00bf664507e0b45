use proptest::prelude::{ProptestConfig, proptest};
use serde_json::json;

use super::{FrontMatterError, MAX_FRONT_MATTER_BYTES, split};

#[track_caller]
fn check(text: &str, fields: serde_json::Value, body: &str) {
    let document = split(text).expect("front matter in order");
    assert_eq!(serde_json::Value::from(document.fields), fields);
    assert_eq!(document.body, body);
}

#[test]
fn fields_and_body_are_distinguished() {
    check("just text\n---\nmore", json!({}), "just text\n---\nmore");
    check("---", json!({}), "---");
    check("---\n---\nbody\n", json!({}), "body\n");
    check("---\n# nothing\n---\nbody", json!({}), "body");
    check(
        "---\nname: a\ndescription: b c\n---\n\nbody\n",
        json!({"name": "a", "description": "b c"}),
        "body\n",
    );
    check(
        "\u{feff}---\r\na: b\r\n---\r\nbody\r\n",
        json!({"a": "b"}),
        "body\r\n",
    );
    check("---\na: b\n...\nbody", json!({"a": "b"}), "body");
    check("---\na: b\n---", json!({"a": "b"}), "");
}

#[test]
fn values_are_texts_lists_and_mappings() {
    check(
        "---\nquoted: \"a: b\"\nfolded: >\n  one\n  two\nblock: |\n  1\n  2\nlist: [a, \"b\"]\nitems:\n  - x\n  - y\n\
         deep: {k: {l: v}}\nversion: 1.10\nyes: true\nempty:\n---\n",
        json!({
            "quoted": "a: b", "folded": "one two\n", "block": "1\n2\n", "list": ["a", "b"],
            "items": ["x", "y"], "deep": {"k": {"l": "v"}}, "version": "1.10", "yes": true,
            "empty": null,
        }),
        "",
    );
}

#[test]
fn mistakes_are_named_with_their_line() {
    for (text, expected) in [
        ("---\na: b\n", "its front matter has no end"),
        ("---\na: b: c\n---\n", "line 2: "),
        ("---\nname: x\ndescription: when: now\n---\n", "line 3: "),
        ("---\n- a\n---\n", "line 2: the front matter must be"),
        ("---\njust words\n---\n", "line 2: the front matter must be"),
        ("---\na: 1\na: 2\n---\n", "line 3: a is there twice"),
        ("---\na: &x [1]\nb: *x\n---\n", "line 2: anchors"),
        (
            "---\na: [[[[[[[[[[1]]]]]]]]]]\n---\n",
            "line 2: more than 8",
        ),
        ("---\na: [1\n---\n", "line "),
    ] {
        let error = split(text).expect_err(text).to_string();
        assert!(error.starts_with(expected), "{text:?}: {error}");
    }
}

#[test]
fn a_long_front_matter_is_refused_before_it_is_parsed() {
    let text = format!("---\na: {}\n---\n", "x".repeat(MAX_FRONT_MATTER_BYTES));
    assert!(matches!(split(&text), Err(FrontMatterError::TooLong)));
    let deep = format!("---\na: {}\n---\n", "[".repeat(10_000));
    assert!(split(&deep).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_fail_otherwise(text in "[ \\-a:\\[\\]{}&*|>\"'#\n,?!%@`]{0,80}") {
        let _ = split(&format!("---\n{text}\n---\nbody"));
        let _ = split(&text);
    }
}
