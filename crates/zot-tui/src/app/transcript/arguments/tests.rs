use serde_json::json;

use super::*;

fn parse(text: &str) -> Arguments {
    let mut arguments = Arguments::default();
    arguments.push(text);
    arguments
}

fn lines(text: &str) -> Vec<String> {
    parse(text).last_lines().map(str::to_owned).collect()
}

#[test]
fn a_subject_is_known_as_far_as_it_has_arrived() {
    for (text, subject) in [
        ("", ""),
        ("{}", ""),
        (r#"{"pa"#, r#"{"pa"#),
        (r#"{"path":"#, r#"{"path":"#),
        (r#"{"path":"a\"b.r"#, "a\"b.r"),
        (r#"{"path":"a\"b.rs","content":"name"}"#, "a\"b.rs"),
        (r#"{"name":"x","command":"ls"#, "ls"),
        (r#"{"x":{"path":"inner"},"name":"outer"}"#, "outer"),
        (
            r#"{"x":"path","name":"the \"path\": here"}"#,
            "the \"path\": here",
        ),
        (r#"{"path":["a"],"name":"b"}"#, "b"),
        (r#"{"command":"\u00e9 \ud83d\ude00 \ud83d. \u12"#, "é 😀 . "),
    ] {
        assert_eq!(parse(text).subject(), subject, "{text}");
    }
}

#[test]
fn the_last_lines_are_kept_and_all_are_counted() {
    let content: String = (1..=100).map(|line| format!("line {line}\n")).collect();
    let whole = json!({"path": "a", "content": content}).to_string();
    let arguments = parse(&whole);
    assert_eq!(arguments.line_count(), 100);
    let last: Vec<&str> = arguments.last_lines().collect();
    assert_eq!(last.len(), KEPT_ARGUMENT_LINES);
    assert_eq!(last.last(), Some(&"line 100"));
    assert_eq!(lines(r#"{"content":"one\n\ntw"#), ["one", "", "tw"]);
    assert_eq!(lines(r#"{"content":"\n"#), [""]);
    assert!(lines(r#"{"content":""#).is_empty());
}

#[test]
fn edits_are_parsed_one_by_one() {
    let text = r#"{"edits":[{"oldText":"x\ny","newText":"z"},{"oldText":"","newText":"a"},{"newT"#;
    assert_eq!(lines(text), ["-x", "-y", "+z", "+a"]);
}

#[test]
fn splits_of_the_text_do_not_matter() {
    let text =
        r#"{"path":"a\\b\u00e9","content":"日\ud83d\ude00\n\"x\"","edits":[{"oldText":"o"}]}"#;
    let whole = parse(text);
    let mut split = Arguments::default();
    for character in text.chars() {
        split.push(&character.to_string());
    }
    assert_eq!(split, whole);
    assert_eq!(whole.subject(), "a\\bé");
    assert_eq!(whole.text(), text);
}

#[test]
fn little_is_kept_for_the_screen() {
    let long = "日".repeat(100_000);
    let whole = json!({"path": long, "content": long}).to_string();
    let arguments = parse(&whole);
    assert!(arguments.subject().len() <= MAX_SHOWN_ARGUMENT_BYTES);
    let kept: usize = arguments.last_lines().map(str::len).sum();
    assert!((1..=MAX_SHOWN_ARGUMENT_BYTES).contains(&kept), "{kept}");
    assert_eq!(Arguments::from(whole.as_str()).last_lines().count(), 0);
}
