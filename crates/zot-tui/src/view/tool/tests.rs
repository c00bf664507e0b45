use super::arguments::{edits, field};
use super::*;

/// A command that is over, as text.
fn shown(output: &str, expanded: bool) -> Vec<String> {
    let tool = Tool {
        id: String::new(),
        name: "bash".to_owned(),
        arguments: r#"{"command":"cat a"}"#.to_owned(),
        output: output.to_owned(),
        state: ToolState::Succeeded,
        started_ms: 0,
        took_ms: 0,
    };
    let lines = finished(&tool, 60, &Theme::DARK, expanded);
    let text = |line: Line| line.0.iter().map(|span| span.text.as_str()).collect();
    lines.into_iter().map(text).collect()
}

#[test]
fn what_is_unfolded_has_its_blank_lines() {
    let output = "$ cat a\n\none\n\n  two\n\n[exit 0]  Took 0.1s";
    let edge = ["╭ bash  cat a", "╰ exit 0 · 0.1s"];
    assert_eq!(
        shown(output, true),
        [edge[0], "│ one", "│ ", "│   two", edge[1]]
    );
    assert_eq!(shown(output, false), [edge[0], "│ one", "│   two", edge[1]]);
}

#[test]
fn what_was_stopped_has_no_exit_code() {
    let shown = shown("$ cat a\n\n[exit -1]  Took 2.0s", false);
    assert_eq!(shown, ["╭ bash  cat a", "╰ killed · 2.0s"]);
}

#[test]
fn a_field_is_read_as_far_as_it_has_come() {
    let whole = r#"{"path":"a\"b.rs","content":"one\ntwo \u00e9"}"#;
    assert_eq!(field(whole, "path").as_deref(), Some("a\"b.rs"));
    assert_eq!(field(whole, "content").as_deref(), Some("one\ntwo é"));
    assert_eq!(
        field(r#"{"path":"a", "content":"on"#, "content").as_deref(),
        Some("on")
    );
    assert_eq!(field(r#"{"path":"content","content""#, "content"), None);
    assert_eq!(
        field(r#"{"path":"content","content":"x"#, "content").as_deref(),
        Some("x")
    );
    for end in 0..whole.len() {
        if let Some(part) = whole.get(..end) {
            field(part, "content");
        }
    }
}

#[test]
fn edits_are_read_one_by_one() {
    let text = r#"{"path":"a","edits":[{"oldText":"x","newText":"y"},{"oldText":"z","newTe"#;
    assert_eq!(
        edits(text),
        [
            ("x".to_owned(), "y".to_owned()),
            ("z".to_owned(), String::new())
        ]
    );
}

#[test]
fn once_complete_the_order_of_the_fields_does_not_matter() {
    let text = r#"{"edits":[{"newText":"y","oldText":"x"}],"path":"the \"path\": here"}"#;
    assert_eq!(edits(text), [("x".to_owned(), "y".to_owned())]);
    assert_eq!(field(text, "path").as_deref(), Some("the \"path\": here"));
    assert_eq!(field(text, "oldText"), None);
}
