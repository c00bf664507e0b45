use super::arguments::{edits, field};

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
