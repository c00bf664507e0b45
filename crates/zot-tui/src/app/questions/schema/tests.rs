use serde_json::json;

use super::{MAX_FIELDS, SchemaError, fields};
use crate::app::questions::field::{Entry, Field};

fn only(property: serde_json::Value) -> Field {
    let schema = json!({"type": "object", "properties": {"x": property}, "required": ["x"]});
    fields(&schema.to_string()).unwrap().remove(0)
}

fn titles(field: &Field) -> Vec<&str> {
    let (Entry::One { options, .. } | Entry::Several { options, .. }) = &field.entry else {
        return Vec::new();
    };
    options.iter().map(|option| option.title.as_str()).collect()
}

#[test]
fn fields_keep_the_order_of_the_server() {
    let schema = r#"{"type":"object","properties":{"zeta":{"type":"string"},"alpha":{"type":"number"},
        "mid":{"type":"boolean"}},"required":["alpha"]}"#;
    let fields = fields(schema).unwrap();
    let names: Vec<_> = fields
        .iter()
        .map(|field| (field.name.as_str(), field.is_required))
        .collect();
    assert_eq!(names, [("zeta", false), ("alpha", true), ("mid", false)]);
}

#[test]
fn every_kind_of_choice_is_read() {
    let plain = only(json!({"type": "string", "enum": ["red", "green"], "default": "green"}));
    assert_eq!(titles(&plain), ["red", "green"]);
    assert_eq!(plain.value(), Ok(Some(json!("green"))));
    let named = only(json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]}));
    assert_eq!(titles(&named), ["Red", "Green"]);
    let titled = only(json!({"type": "string", "default": "#0f0",
        "oneOf": [{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}]}));
    assert_eq!(titles(&titled), ["Red", "Green"]);
    assert_eq!(titled.value(), Ok(Some(json!("#0f0"))));
    let several = only(json!({"type": "array", "default": ["a", "c"],
        "items": {"type": "string", "enum": ["a", "b", "c"]}}));
    assert_eq!(several.value(), Ok(Some(json!(["a", "c"]))));
    let several = only(json!({"type": "array", "minItems": 1,
        "items": {"anyOf": [{"const": 1, "title": "One"}, {"const": 2, "title": "Two"}]}}));
    assert_eq!(titles(&several), ["One", "Two"]);
    assert_eq!(several.value(), Err("choose at least 1, not 0".to_owned()));
    let boolean = only(json!({"type": "boolean", "default": false}));
    assert_eq!(boolean.value(), Ok(Some(json!(false))));
}

#[test]
fn values_have_their_type_and_their_limits() {
    let entered = |property: serde_json::Value, text: &str| {
        let mut field = only(property);
        field.paste(text);
        field.value()
    };
    let integer = json!({"type": "integer", "minimum": 1, "maximum": 10});
    assert_eq!(entered(integer.clone(), "7"), Ok(Some(json!(7))));
    assert_eq!(
        entered(integer.clone(), "70"),
        Err("expected a whole number, 1 to 10".to_owned())
    );
    assert!(entered(integer, "7.5").is_err());
    let number = json!({"type": "number"});
    assert_eq!(entered(number.clone(), " -2.5 "), Ok(Some(json!(-2.5))));
    assert_eq!(
        entered(number.clone(), "18446744073709551615"),
        Ok(Some(json!(u64::MAX)))
    );
    assert!(entered(number.clone(), "inf").is_err());
    assert!(entered(number, "seven").is_err());
    let text = json!({"type": "string", "minLength": 2, "maxLength": 3});
    assert_eq!(entered(text.clone(), "äö"), Ok(Some(json!("äö"))));
    assert_eq!(
        entered(text, "long"),
        Err("expected 2 to 3 characters, got 4".to_owned())
    );
    assert_eq!(
        entered(json!({"type": "string", "format": "email"}), "nobody"),
        Err("expected an email address".to_owned())
    );
    assert_eq!(
        entered(json!({"type": "string"}), ""),
        Err("this has to be filled in".to_owned())
    );
}

#[test]
fn what_cannot_be_shown_is_left_out_or_refused() {
    let nested = json!({"type": "object", "properties": {}});
    let optional = json!({"properties": {"a": nested, "b": {"type": "string"}}});
    assert_eq!(fields(&optional.to_string()).unwrap().len(), 1);
    let required = json!({"properties": {"a": nested}, "required": ["a"]});
    assert_eq!(
        fields(&required.to_string()).unwrap_err(),
        SchemaError::UnknownKind("a".to_owned())
    );
    let many: serde_json::Map<_, _> = (0..=MAX_FIELDS)
        .map(|index| (index.to_string(), json!({"type": "string"})))
        .collect();
    let many = json!({"properties": many});
    assert_eq!(
        fields(&many.to_string()).unwrap_err(),
        SchemaError::TooManyFields(MAX_FIELDS + 1)
    );
    assert_eq!(fields("[]").unwrap_err(), SchemaError::NoObject);
    assert_eq!(
        fields(r#"{"properties": []}"#).unwrap_err(),
        SchemaError::NoObject
    );
    assert!(fields("{}").unwrap().is_empty());
}
