use serde_json::value::RawValue;

use super::{ArgumentError, Fields};

fn parse(json: &str) -> Result<Fields<'_>, ArgumentError> {
    Fields::parse(serde_json::from_str::<&RawValue>(json).unwrap())
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

#[test]
fn fields_of_elements_may_not_be_given_twice_either() {
    let mut fields = parse(r#"{"edits":[{"oldText":"a","oldText":"b"},5]}"#).unwrap();
    let edits = fields.take_array("edits").unwrap().unwrap();
    let error = |index: usize| {
        let read = Fields::from_element("edit 1", edits[index]);
        read.unwrap_err().to_string()
    };
    let twice = error(0);
    assert!(
        twice.starts_with("invalid args: oldText is given more than once"),
        "{twice}"
    );
    assert_eq!(
        error(1),
        "invalid args: edit 1 must be an object, got a number"
    );
}
