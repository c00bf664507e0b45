use serde_json::json;

use super::*;

#[track_caller]
fn check(schema: &Value, expected: Option<Value>) {
    let raw: Box<RawValue> = serde_json::value::to_raw_value(schema).unwrap();
    assert_eq!(parameters(&raw), expected, "{schema}");
}

#[test]
fn what_both_know_stays() {
    let schema = json!({"type": "object", "description": "d", "properties": {
        "path": {"type": "string", "minLength": 1},
        "lines": {"type": "array", "items": {"type": "integer", "minimum": 0}},
        "mode": {"type": "string", "enum": ["a", "b"]},
    }, "required": ["path"]});
    check(&schema, Some(schema.clone()));
}

#[test]
fn what_google_refuses_goes() {
    check(
        &json!({"$schema": "x", "$id": "y", "type": "object", "additionalProperties": false,
            "properties": {
                "a": {"type": ["string", "null"], "format": "uri", "default": "x", "examples": []},
                "b": {"type": "integer", "enum": [1, 2], "exclusiveMinimum": 0, "format": "int64"},
                "c": {"const": "fixed"},
                "d": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                "e": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
                "f": {"type": "array"},
                "g": true,
            }, "required": ["a", "missing"]}),
        Some(json!({"type": "object", "properties": {
            "a": {"type": "string", "nullable": true},
            "b": {"type": "integer", "format": "int64"},
            "c": {"type": "string", "enum": ["fixed"]},
            "d": {"type": "string", "nullable": true},
            "e": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            "f": {"type": "array", "items": {}},
            "g": {},
        }, "required": ["a"]})),
    );
}

#[test]
fn references_are_followed_but_not_for_ever() {
    check(
        &json!({"properties": {"a": {"$ref": "#/$defs/A"}, "b": {"$ref": "other.json"}},
            "$defs": {"A": {"type": "string"}}}),
        Some(json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {}}})),
    );
    let endless = json!({"properties": {"next": {"$ref": "#"}}});
    let raw = serde_json::value::to_raw_value(&endless).unwrap();
    assert!(parameters(&raw).unwrap().to_string().len() < 4096);
}

#[test]
fn no_parameters_are_left_out() {
    check(&json!({"type": "object", "properties": {}}), None);
    check(&json!({"type": "object"}), None);
    check(&json!(true), None);
}
