use serde_json::json;
use zot_extension_contract::check_arguments;

use super::arguments_for;

#[test]
fn arguments_fit_their_schema() {
    let schema = json!({
        "type": "object",
        "properties": {
            "text": {"type": "string", "minLength": 6},
            "short": {"type": "string", "maxLength": 2},
            "choice": {"enum": ["red", "blue"]},
            "count": {"type": "integer", "minimum": 5},
            "small": {"type": "number", "maximum": 0.5},
            "list": {"type": "array", "items": {"type": "boolean"}},
            "day": {"type": "string", "format": "date"},
            "maybe": {"anyOf": [{"type": "null"}, {"type": "string"}]},
            "point": {"$ref": "#/$defs/point"},
        },
        "$defs": {"point": {"type": "object", "properties": {"x": {"default": 7}}}},
    });
    let expected = json!({
        "text": "testte",
        "short": "te",
        "choice": "red",
        "count": 5,
        "small": 0.5,
        "list": [true],
        "day": "2026-01-31",
        "maybe": null,
        "point": {"x": 7},
    });
    assert_eq!(arguments_for(&schema), expected);
    assert_eq!(
        check_arguments(&schema.to_string(), &expected.to_string()),
        Ok(())
    );
    let mut required = schema;
    required["required"] = json!(["count"]);
    assert_eq!(arguments_for(&required), json!({"count": 5}));
    assert_eq!(arguments_for(&json!("nonsense")), json!({}));
    let circle = json!({"type": "object", "properties": {"a": {"$ref": "#"}}});
    assert!(arguments_for(&circle).is_object());
}
