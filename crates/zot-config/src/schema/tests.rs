use serde_json::Value;

use super::json_schema;
use crate::{KEYS, Kind};

#[test]
fn the_table_of_keys_and_the_types_agree() {
    let schema = json_schema();
    let mut described: Vec<&str> = schema["properties"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .filter(|name| *name != "$schema")
        .collect();
    let mut known: Vec<&str> = KEYS.iter().map(|key| key.name).collect();
    described.sort_unstable();
    known.sort_unstable();
    assert_eq!(described, known);
}

#[test]
fn choices_are_those_of_the_types() {
    let schema = json_schema();
    for key in KEYS {
        let property = &schema["properties"][key.name];
        assert_ne!(property["description"], Value::Null, "{}", key.name);
        match key.kind {
            Kind::Choice(choices) => {
                let reference = property["$ref"].as_str().unwrap();
                let variants = &schema.pointer(&reference[1..]).unwrap()["enum"];
                assert_eq!(*variants, serde_json::json!(choices), "{}", key.name);
            }
            Kind::Text => assert_eq!(property["type"], "string", "{}", key.name),
            Kind::Count { .. } => assert_eq!(property["type"], "integer", "{}", key.name),
            Kind::Amount => assert_eq!(property["type"], "number", "{}", key.name),
            Kind::Switch => assert_eq!(property["type"], "boolean", "{}", key.name),
            Kind::List(_) => assert_eq!(property["type"], "array", "{}", key.name),
        }
    }
}
