//! The part of JSON Schema that function declarations take.
//!
//! Google refuses a declaration with a keyword it does not know, so everything else is left out or
//! said in its words. What is lost only tells the model less; arguments are checked by the tool.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// Keywords that mean the same on both sides and hold no schema.
const PLAIN_KEYWORDS: [&str; 12] = [
    "title",
    "description",
    "nullable",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "minProperties",
    "maxProperties",
];

const FORMATS: [&str; 6] = ["int32", "int64", "float", "double", "enum", "date-time"];

/// How far references are followed: schemas may contain themselves.
const MAX_DEPTH: usize = 16;

/// The parameters of a function, or nothing when it takes none: an object without properties is
/// refused.
pub(super) fn parameters(schema: &RawValue) -> Option<Value> {
    let root: Value = serde_json::from_str(schema.get()).ok()?;
    let converted = convert(&root, &root, 0);
    let takes_some = converted
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|properties| !properties.is_empty());
    takes_some.then_some(converted)
}

fn convert(schema: &Value, root: &Value, depth: usize) -> Value {
    let Some(object) = schema.as_object().filter(|_| depth < MAX_DEPTH) else {
        // `true` and what lies too deep: anything goes.
        return Value::Object(Map::new());
    };
    if let Some(target) = object.get("$ref").and_then(Value::as_str) {
        let found = target.strip_prefix('#').and_then(|path| root.pointer(path));
        return found.map_or_else(
            || Value::Object(Map::new()),
            |found| convert(found, root, depth + 1),
        );
    }
    let mut converted = Map::new();
    for keyword in PLAIN_KEYWORDS {
        if let Some(value) = object.get(keyword) {
            converted.insert(keyword.to_owned(), value.clone());
        }
    }
    convert_type(object, &mut converted);
    convert_values(object, &mut converted);
    if let Some(format) = object.get("format").and_then(Value::as_str)
        && FORMATS.contains(&format)
    {
        converted.insert("format".to_owned(), format.into());
    }
    if let Some(items) = object.get("items") {
        converted.insert("items".to_owned(), convert(items, root, depth + 1));
    } else if converted.get("type").is_some_and(|kind| kind == "array") {
        // An array must say of what.
        converted.insert("items".to_owned(), Value::Object(Map::new()));
    }
    convert_properties(object, root, depth, &mut converted);
    for keyword in ["anyOf", "oneOf"] {
        if let Some(choices) = object.get(keyword).and_then(Value::as_array) {
            convert_choices(choices, root, depth, &mut converted);
        }
    }
    for part in object
        .get("allOf")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        if let Value::Object(part) = convert(part, root, depth + 1) {
            for (keyword, value) in part {
                converted.entry(keyword).or_insert(value);
            }
        }
    }
    Value::Object(converted)
}

/// A list of types becomes one type, nullable where the list says so.
fn convert_type(object: &Map<String, Value>, converted: &mut Map<String, Value>) {
    let kind = match object.get("type") {
        Some(Value::Array(kinds)) => {
            if kinds.iter().any(|kind| kind == "null") {
                converted.insert("nullable".to_owned(), true.into());
            }
            kinds.iter().find(|kind| *kind != "null").cloned()
        }
        Some(kind) => Some(kind.clone()),
        None if object.contains_key("properties") => Some("object".into()),
        None => None,
    };
    if let Some(kind) = kind {
        converted.insert("type".to_owned(), kind);
    }
}

/// Only strings may be enumerated.
fn convert_values(object: &Map<String, Value>, converted: &mut Map<String, Value>) {
    let values: Vec<Value> = match (object.get("enum"), object.get("const")) {
        (Some(Value::Array(values)), _) => values.clone(),
        (_, Some(value)) => vec![value.clone()],
        _ => return,
    };
    let all_strings = values.iter().all(Value::is_string);
    if all_strings && values.iter().all(|value| value != "") {
        converted
            .entry("type")
            .or_insert_with(|| Value::from("string"));
        converted.insert("enum".to_owned(), Value::Array(values));
    }
}

fn convert_properties(
    object: &Map<String, Value>,
    root: &Value,
    depth: usize,
    converted: &mut Map<String, Value>,
) {
    let Some(properties) = object.get("properties").and_then(Value::as_object) else {
        return;
    };
    if properties.is_empty() {
        return;
    }
    let required: Vec<Value> = object
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter(|name| {
            name.as_str()
                .is_some_and(|name| properties.contains_key(name))
        })
        .cloned()
        .collect();
    let properties: Map<String, Value> = properties
        .iter()
        .map(|(name, schema)| (name.clone(), convert(schema, root, depth + 1)))
        .collect();
    converted.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        converted.insert("required".to_owned(), Value::Array(required));
    }
}

/// Alternatives; one that only allows `null` makes the others nullable instead.
fn convert_choices(
    choices: &[Value],
    root: &Value,
    depth: usize,
    converted: &mut Map<String, Value>,
) {
    let is_null = |choice: &&Value| choice.get("type").is_some_and(|kind| kind == "null");
    if choices.iter().any(|choice| is_null(&choice)) {
        converted.insert("nullable".to_owned(), true.into());
    }
    let mut choices: Vec<Value> = choices
        .iter()
        .filter(|choice| !is_null(choice))
        .map(|choice| convert(choice, root, depth + 1))
        .collect();
    if choices.len() > 1 {
        converted.insert("anyOf".to_owned(), Value::Array(choices));
    } else if let Some(Value::Object(only)) = choices.pop() {
        for (keyword, value) in only {
            converted.entry(keyword).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests;
