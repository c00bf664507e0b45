use serde_json::Value;
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
