use serde_json::json;

use super::fit::MAX_MODIFIED_VALUES;
use super::*;

#[test]
fn schemas_for_models_are_objects() {
    let good =
        r#"{"type":"object","properties":{"z":{"type":"string"},"a":true},"required":["z"]}"#;
    assert_eq!(accept_schema(Some(good)).unwrap().schema.get(), good);
    assert_eq!(
        accept_schema(None).unwrap().schema.get(),
        r#"{"type":"object"}"#
    );
    let untyped = accept_schema(Some(r#"{"properties":{}}"#)).unwrap();
    assert!(untyped.schema.get().contains(r#""type":"object""#));
    for bad in [
        "null",
        "\"text\"",
        "[]",
        "1",
        r#"{"type":"string"}"#,
        r#"{"type":["object"]}"#,
        r#"{"properties":[]}"#,
        r#"{"properties":{"a":"string"}}"#,
        r#"{"required":"a"}"#,
        r#"{"required":[1]}"#,
        r#"{"anyOf":{"type":"object"}}"#,
        "{",
    ] {
        assert!(accept_schema(Some(bad)).is_err(), "{bad}");
    }
    let deep = format!("{}{}", "{\"a\":".repeat(10_000), "1");
    assert!(accept_schema(Some(&deep)).is_err());
}

fn check_advice(schema: Value, expected: &[&str]) {
    let advice = accept_schema(Some(&schema.to_string())).unwrap().advice;
    assert_eq!(advice.len(), expected.len(), "{schema}: {advice:?}");
    for (advice, expected) in advice.iter().zip(expected) {
        assert!(advice.contains(expected), "{schema}: {advice}");
    }
}

#[test]
fn schemas_without_advice() {
    check_advice(json!({"type": "object"}), &[]);
    check_advice(
        json!({
            "type": "object",
            "properties": {
                "a": {"type": ["string", "null"], "enum": ["x"]},
                "b": {"type": "array", "items": {"anyOf": [{"type": "integer"}, true]}},
                "c": {"$ref": "#/$defs/c"},
            },
            "required": ["a", "c"],
            "additionalProperties": false,
            "$defs": {"c": {"type": "number"}},
        }),
        &[],
    );
}

#[test]
fn what_only_some_providers_refuse() {
    check_advice(json!({}), &["\"type\" is missing"]);
    check_advice(
        json!({"type": "object", "properties": {"a": {"type": "str", "required": true}}}),
        &["properties.a.type", "properties.a.required"],
    );
    check_advice(
        json!({"type": "object", "properties": {"a": {"properties": {"b": 1}}}}),
        &["properties.a.properties.b must be a schema, not number"],
    );
    check_advice(json!({"type": "object", "required": ["a"]}), &["\"a\""]);
    check_advice(
        json!({"type": "object", "properties": {"a": {"enum": []}}}),
        &["enum"],
    );
    check_advice(
        json!({"type": "object", "properties": {"a": {"anyOf": {"type": "object"}}}}),
        &["properties.a.anyOf"],
    );
}

#[test]
fn arguments_are_checked_and_the_field_is_named() {
    let schema = r#"{"type":"object","required":["command"],"additionalProperties":false,
        "properties":{
            "command":{"type":"string","minLength":1},
            "timeout":{"type":"integer","minimum":1,"maximum":600},
            "mode":{"enum":["a","b"]},
            "edits":{"type":"array","maxItems":2,"items":{"type":"object","required":["old"]}},
            "either":{"anyOf":[{"type":"string"},{"type":"null"}]}
        }}"#;
    let fits = |arguments: &str| check_arguments(schema, arguments);
    assert_eq!(
        fits(r#"{"command":"ls","timeout":5,"mode":"a","edits":[{"old":"x"}],"either":null}"#),
        Ok(())
    );
    assert_eq!(fits(r#"{"command":"ls","timeout":5.0}"#), Ok(()));
    let wrong = [
        ("[]", "must be an object"),
        ("\"text\"", "must be an object"),
        ("{", "EOF"),
        ("{}", "\"command\" is missing"),
        (r#"{"command":1}"#, "\"command\" must be string, not number"),
        (r#"{"command":""}"#, "at least 1 characters"),
        (
            r#"{"command":"x","timeout":0.5}"#,
            "\"timeout\" must be integer",
        ),
        (
            r#"{"command":"x","timeout":601}"#,
            "\"timeout\" must be at most 600",
        ),
        (r#"{"command":"x","mode":"c"}"#, "\"mode\" must be one of"),
        (
            r#"{"command":"x","edits":[{"old":1},{}]}"#,
            "\"edits[1].old\" is missing",
        ),
        (r#"{"command":"x","edits":[1,2,3]}"#, "at most 2 items"),
        (r#"{"command":"x","either":1}"#, "\"either\" fits none"),
        (
            r#"{"command":"x","other":1}"#,
            "\"other\" is not a known field",
        ),
    ];
    for (arguments, expected) in wrong {
        let error = fits(arguments).unwrap_err();
        assert!(error.contains(expected), "{arguments}: {error}");
    }
}

#[test]
fn arguments_of_too_many_values_are_not_parsed() {
    let schema = r#"{"type": "object"}"#;
    let many = format!(
        r#"{{"a": [{}0]}}"#,
        r#"{"b":0},"#.repeat(MAX_MODIFIED_VALUES)
    );
    assert_eq!(
        check_arguments(schema, &many),
        Err("may have 10000 values at most".to_owned())
    );
    let long = format!(
        r#"{{"a": "{}"}}"#,
        r#",[{\",\\"#.repeat(MAX_MODIFIED_VALUES)
    );
    assert_eq!(check_arguments(schema, &long), Ok(()));
}

#[test]
fn a_check_cannot_take_forever() {
    let zeros = vec!["0"; 30_000].join(",");
    let schema =
        format!(r#"{{"properties":{{"a":{{"items":{{"anyOf":[{{"enum":[{zeros}]}},{{}}]}}}}}}}}"#);
    let ones = vec!["1"; 9_000].join(",");
    let error = check_arguments(&schema, &format!(r#"{{"a":[{ones}]}}"#)).unwrap_err();
    assert!(
        error.contains("too complex") || error.contains("none"),
        "{error}"
    );
}
