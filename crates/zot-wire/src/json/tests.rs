use serde_json::json;

use super::{Fields, FieldsError, MAX_OBJECT_FIELDS, RawJson, replace_lone_surrogates, write_line};

fn line(value: &impl serde::Serialize) -> String {
    let mut buffer = Vec::new();
    write_line(&mut buffer, value).unwrap();
    String::from_utf8(buffer).unwrap()
}

#[test]
fn line_separators_are_escaped_and_nothing_else_is() {
    assert_eq!(
        line(&json!("a\u{2028}b\u{2029}c<&>é€\n")),
        "\"a\\u2028b\\u2029c<&>é€\\n\"\n"
    );
}

#[test]
fn raw_json_stays_on_one_line() {
    let raw = RawJson::try_from("{\n  \"a\": \"x\u{2028}\",\r\n \"b\": 1}".to_owned()).unwrap();
    let text = line(&raw);
    assert_eq!(text.matches('\n').count(), 1);
    assert_eq!(text, "{   \"a\": \"x\\u2028\",   \"b\": 1}\n");
}

#[test]
fn fields_match_in_any_case_and_the_last_wins() {
    let fields = Fields::parse(br#"{"TYPE":"ping","id":"a","ID":"b","none":null}"#).unwrap();
    assert_eq!(fields.get::<String>("type").unwrap(), "ping");
    assert_eq!(fields.get::<String>("id").unwrap(), "b");
    assert!(fields.raw("none").is_none());
    assert_eq!(fields.get::<String>("absent").unwrap(), "");
}

#[test]
fn only_objects_and_null_are_accepted() {
    assert!(Fields::parse(b"null").unwrap().raw("type").is_none());
    for bad in ["{", "[]", "5", "{} trailing", "{}{}", "not json"] {
        assert!(
            matches!(Fields::parse(bad.as_bytes()), Err(FieldsError::NotJson(_))),
            "{bad}"
        );
    }
    assert!(matches!(
        Fields::parse(b"{\"a\":\"\xff\"}"),
        Err(FieldsError::NotUtf8(6))
    ));
}

#[test]
fn lone_surrogates_are_replaced_and_pairs_are_kept() {
    for (given, expected) in [
        (r"\ud800", r"\uFFFD"),
        (r"\udc00x", r"\uFFFDx"),
        (r"\ud83c\udf89", r"\ud83c\udf89"),
        (r"\ud83c\ud83c\udf89", r"\uFFFD\ud83c\udf89"),
        (r"\\ud800", r"\\ud800"),
        (r"\", r"\"),
        (r"\u12", r"\u12"),
    ] {
        assert_eq!(replace_lone_surrogates(given), expected, "{given}");
    }
}

#[test]
fn deep_nesting_does_not_overflow_the_stack() {
    let deep = format!("{{\"type\":{}", "[".repeat(1_000_000));
    assert!(Fields::parse(deep.as_bytes()).is_err());
    let closed = format!(
        "{{\"type\":{}{}}}",
        "[".repeat(200_000),
        "]".repeat(200_000)
    );
    let fields = Fields::parse(closed.as_bytes()).unwrap();
    assert!(fields.get::<serde_json::Value>("type").is_err());
}

#[test]
fn the_number_of_fields_is_limited() {
    let object = |count: usize| format!("{{{}\"type\":\"x\"}}", "\"a\":1,".repeat(count - 1));
    assert!(Fields::parse(object(MAX_OBJECT_FIELDS).as_bytes()).is_ok());
    let error = Fields::parse(object(MAX_OBJECT_FIELDS + 1).as_bytes()).unwrap_err();
    assert!(error.to_string().contains("fields at most"), "{error}");
}
