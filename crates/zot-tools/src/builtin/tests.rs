use serde_json::Value;
use serde_json::value::RawValue;
use zot_conversation::ToolEffect;

use super::{ToolsConfig, builtin_tools};

#[test]
fn names_order_effects_and_schemas_are_the_contract() {
    let tools = builtin_tools(ToolsConfig::new("/work", "/tmp/outputs"));
    let seen: Vec<(String, ToolEffect, Vec<String>, Value)> = tools
        .iter()
        .map(|tool| {
            let definition = tool.definition();
            let schema: Value = serde_json::from_str(definition.parameters.get()).unwrap();
            assert_eq!(schema["type"], "object");
            assert!(definition.description.len() > 40);
            let properties = schema["properties"].as_object().unwrap();
            (
                definition.name.clone(),
                definition.effect,
                properties.keys().cloned().collect(),
                schema["required"].clone(),
            )
        })
        .collect();
    let expected = [
        ("read", ToolEffect::ReadOnly, "limit offset path", "path"),
        ("write", ToolEffect::Changes, "content path", "path content"),
        ("edit", ToolEffect::Changes, "edits path", "path edits"),
        ("bash", ToolEffect::Changes, "command timeout", "command"),
    ];
    assert_eq!(seen.len(), expected.len());
    for ((name, effect, mut properties, required), expected) in seen.into_iter().zip(expected) {
        properties.sort();
        let required: Vec<&str> = required
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let actual = (
            name.as_str(),
            effect,
            properties.join(" "),
            required.join(" "),
        );
        assert_eq!(
            actual,
            (
                expected.0,
                expected.1,
                expected.2.to_owned(),
                expected.3.to_owned()
            )
        );
    }
}

#[test]
fn previews_tell_what_a_call_would_do_and_do_nothing() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("a.txt"), "one\ntwo\n").unwrap();
    let tools = builtin_tools(ToolsConfig::new(directory.path(), directory.path()));
    let preview = |name: &str, arguments: serde_json::Value| {
        let tool = tools.iter().find(|t| t.definition().name == name).unwrap();
        let arguments = RawValue::from_string(arguments.to_string()).unwrap();
        tool.preview(&arguments)
    };
    use serde_json::json;
    assert_eq!(
        preview("bash", json!({"command": "rm -rf x"})).as_deref(),
        Some("rm -rf x")
    );
    let edits = json!([{"oldText": "two", "newText": "2"}]);
    assert_eq!(
        preview("edit", json!({"path": "a.txt", "edits": edits})).as_deref(),
        Some(" one\n-two\n+2\n \n")
    );
    assert_eq!(
        preview("write", json!({"path": "a.txt", "content": "one\n"})).as_deref(),
        Some(" one\n-two\n \n")
    );
    assert_eq!(
        preview("write", json!({"path": "new.txt", "content": "hi"})).as_deref(),
        Some("hi")
    );
    assert_eq!(preview("edit", json!({"path": "missing.txt"})), None);
    assert_eq!(preview("read", json!({"path": "a.txt"})), None);
    assert_eq!(
        std::fs::read_to_string(directory.path().join("a.txt")).unwrap(),
        "one\ntwo\n"
    );
    assert!(!directory.path().join("new.txt").exists());
}
