use serde_json::{Value, json};

use super::captures::Capture;
use super::{mismatches, problems, validator};

/// A protocol with one command, one event and one response.
fn schema() -> Value {
    let tagged =
        |name: &str| json!({"properties": {"type": {"const": name}}, "required": ["type"]});
    json!({
        "oneOf": [{"$ref": "#/$defs/Command"}, {"$ref": "#/$defs/Response"}, {"$ref": "#/$defs/Event"}],
        "$defs": {
            "Command": {"oneOf": [tagged("ping")]},
            "Event": {"oneOf": [tagged("done")]},
            "Response": {"oneOf": [{"$ref": "#/$defs/PingResponse"}, {"$ref": "#/$defs/Failure"}]},
            "PingResponse": {"properties": {
                "type": {"const": "response"}, "command": {"const": "ping"}, "success": {"const": true},
            }, "required": ["type", "command", "success"]},
            "Failure": {"properties": {
                "type": {"const": "response"}, "success": {"const": false},
            }, "required": ["type", "success", "error"]},
        },
    })
}

const WHOLE: &str = r#"> {"id": "1", "type": "ping"}
< {"type": "response", "command": "ping", "id": "1", "success": true, "data": {"pong": true}}
> not json
< {"type": "response", "command": "", "success": false, "error": "malformed"}
< {"type": "done"}
# exit 0"#;

fn check(schema: &Value, text: &str, expected: &[&str]) {
    let capture = Capture::parse("session".to_owned(), text);
    assert_eq!(problems(schema, &[capture]), expected);
}

#[test]
fn a_variant_without_a_capture_is_reported() {
    check(&schema(), WHOLE, &[]);
    let expected = [
        "no capture sends the command ping",
        "no capture shows the event done",
        "no capture shows the response to ping",
        "no capture shows a failure",
    ];
    check(&schema(), "# exit 0", &expected);
    let mut grown = schema();
    let event = json!({"properties": {"type": {"const": "rewound"}}, "required": ["type"]});
    let events = grown["$defs"]["Event"]["oneOf"].as_array_mut().unwrap();
    events.push(event);
    check(&grown, WHOLE, &["no capture shows the event rewound"]);
}

#[test]
fn a_command_without_a_response_is_reported() {
    let mut grown = schema();
    let command = json!({"properties": {"type": {"const": "clear"}}});
    let commands = grown["$defs"]["Command"]["oneOf"].as_array_mut().unwrap();
    commands.push(command);
    let expected = [
        "no capture sends the command clear",
        "the schema has no response to clear",
    ];
    check(&grown, WHOLE, &expected);
}

#[test]
fn a_frame_that_does_not_round_trip_is_reported() {
    let check = |line: &str, expected: &str| {
        let capture = Capture::parse("session".to_owned(), line);
        let found = mismatches(&zot_wire::rpc::json_schema(), &capture);
        assert!(
            found.iter().any(|complaint| complaint.contains(expected)),
            "{found:?}"
        );
    };
    check(r#"< {"type": "done", "extra": 1}"#, "comes back as");
    check(r#"< {"type": "rewound"}"#, "unknown variant");
    check(
        r#"< {"type": "response", "command": "rewind", "success": true}"#,
        "does not know the type",
    );
    check(
        r#"< {"type": "turn_start", "step": -1}"#,
        "does not match the schema",
    );
}

#[test]
fn a_command_missing_from_the_schema_is_reported() {
    let line = r#"> {"type": "get_state", "id": 1}"#;
    let capture = Capture::parse("session".to_owned(), line);
    assert_eq!(
        mismatches(&zot_wire::rpc::json_schema(), &capture),
        Vec::<String>::new()
    );
    let found = mismatches(&schema(), &capture);
    assert!(
        found
            .iter()
            .any(|complaint| complaint.contains("does not match the schema")),
        "{found:?}"
    );
}

#[test]
fn masked_parts_are_not_compared() {
    let line = r#"< {"type": "assistant_message", "content": "<partial>", "time": "<time>"}"#;
    let capture = Capture::parse("session".to_owned(), line);
    assert_eq!(
        mismatches(&zot_wire::rpc::json_schema(), &capture),
        Vec::<String>::new()
    );
}

#[test]
fn the_validator_refuses_unknown_keywords() {
    let check = |schema: Value, value: Value, fits: bool| {
        let outcome = validator::validate(&schema, &value);
        assert_eq!(outcome.is_ok(), fits, "{schema} {value}: {outcome:?}");
    };
    check(json!(true), json!(1), true);
    check(json!({"maxLength": 1}), json!("a"), false);
    check(json!({"$ref": "#/$defs/Gone"}), json!("a"), false);
    check(json!({"type": ["string", "number"]}), json!(1.5), true);
    check(json!({"type": "integer", "minimum": 0}), json!(-1), false);
    check(
        json!({"oneOf": [{"type": "number"}, {"type": "integer"}]}),
        json!(1),
        false,
    );
    check(json!({"items": {"type": "string"}}), json!(["a", 1]), false);
    check(json!({"required": ["a"]}), json!({"b": 1}), false);
    check(
        json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
        json!({"b": 1}),
        true,
    );
}
