use serde_json::value::RawValue;

use super::{ArgumentError, Fields};

fn parse(json: &str) -> Result<Fields, ArgumentError> {
    Fields::parse(&RawValue::from_string(json.to_owned()).unwrap())
}

#[test]
fn errors_name_the_field_what_is_expected_and_what_came() {
    let integer = |json: &str| parse(json)?.take_integer("offset");
    for (json, expected) in [
        (
            r#"{"offset":"2"}"#,
            "invalid args: offset must be an integer, got a string",
        ),
        (
            r#"{"offset":2.5}"#,
            "invalid args: offset must be an integer, got a fraction",
        ),
        (
            r#"{"offset":[1]}"#,
            "invalid args: offset must be an integer, got an array",
        ),
    ] {
        assert_eq!(integer(json).unwrap_err().to_string(), expected);
    }
    let error = parse(r#"{"path":"a","path":"b"}"#).unwrap_err().to_string();
    assert!(
        error.starts_with("invalid args: path is given more than once"),
        "{error}"
    );
    let error = parse("[]").unwrap_err().to_string();
    assert!(error.contains("expected a JSON object"), "{error}");
}

#[test]
fn null_and_unknown_fields_are_absent_and_whole_fractions_are_integers() {
    let mut fields = parse(r#"{"path":null,"offset":3.0,"extra":{}}"#).unwrap();
    assert_eq!(fields.take_string("path").unwrap(), None);
    assert_eq!(fields.take_integer("offset").unwrap(), Some(3));
    assert!(fields.take_array("edits").unwrap().is_none());
}
