//! Generates arguments that fit a tool's schema.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

/// References may be circular.
const MAX_EXAMPLE_DEPTH: usize = 8;

/// Returns arguments that a model could have written for a tool with this schema: the required
/// fields, or all of them if none is required.
pub fn arguments_for(schema: &Value) -> Value {
    match value_for(schema, schema, 0) {
        Value::Object(fields) => Value::Object(fields),
        _ => json!({}),
    }
}

fn value_for(schema: &Value, root: &Value, depth: usize) -> Value {
    if depth > MAX_EXAMPLE_DEPTH {
        return Value::Null;
    }
    for keyword in ["const", "default"] {
        if let Some(value) = schema.get(keyword) {
            return value.clone();
        }
    }
    for keyword in ["examples", "enum"] {
        if let Some(value) = schema.get(keyword).and_then(|values| values.get(0)) {
            return value.clone();
        }
    }
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = reference
            .strip_prefix('#')
            .and_then(|pointer| root.pointer(pointer));
        return target.map_or(Value::Null, |target| value_for(target, root, depth + 1));
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        if let Some(first) = schema.get(keyword).and_then(|schemas| schemas.get(0)) {
            return value_for(first, root, depth + 1);
        }
    }
    match type_of(schema) {
        "object" => object_for(schema, root, depth),
        "array" => {
            let least = number(schema, "minItems").unwrap_or(1.0) as usize;
            let item = schema
                .get("items")
                .cloned()
                .unwrap_or(json!({"type": "string"}));
            let item = value_for(&item, root, depth + 1);
            Value::Array(vec![item; least.clamp(1, MAX_EXAMPLE_DEPTH)])
        }
        "string" => Value::String(text_for(schema)),
        "integer" => json!(number_for(schema).ceil() as i64),
        "number" => json!(number_for(schema)),
        "boolean" => json!(true),
        _ => Value::Null,
    }
}

/// Returns the first type that is not null; guesses it if none is given.
fn type_of(schema: &Value) -> &str {
    match schema.get("type") {
        Some(Value::String(name)) => name,
        Some(Value::Array(names)) => names
            .iter()
            .filter_map(Value::as_str)
            .find(|name| *name != "null")
            .unwrap_or("null"),
        _ if schema.get("properties").is_some() => "object",
        _ if schema.get("items").is_some() => "array",
        _ => "string",
    }
}

fn object_for(schema: &Value, root: &Value, depth: usize) -> Value {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let mut object = Map::new();
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, property) in properties {
            if required.is_empty() || required.contains(&name.as_str()) {
                object.insert(name.clone(), value_for(property, root, depth + 1));
            }
        }
    }
    Value::Object(object)
}

fn text_for(schema: &Value) -> String {
    let text = match schema.get("format").and_then(Value::as_str) {
        Some("date") => "2026-01-31",
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("time") => "12:00:00Z",
        Some("email") => "someone@example.com",
        Some("uri" | "url") => "https://example.com/",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some("ipv4") => "127.0.0.1",
        _ => "test",
    };
    let least = number(schema, "minLength").unwrap_or(0.0) as usize;
    let most = number(schema, "maxLength").map_or(usize::MAX, |most| most as usize);
    let repeated = text.chars().cycle().take(text.len().max(least.min(4096)));
    repeated.take(most).collect()
}

fn number_for(schema: &Value) -> f64 {
    let least = number(schema, "minimum")
        .or_else(|| number(schema, "exclusiveMinimum").map(|bound| bound + 1.0));
    let most = number(schema, "maximum")
        .or_else(|| number(schema, "exclusiveMaximum").map(|bound| bound - 1.0));
    let wanted = least.map_or(1.0, |least| least.max(1.0));
    most.map_or(wanted, |most| wanted.min(most))
}

fn number(schema: &Value, keyword: &str) -> Option<f64> {
    schema.get(keyword).and_then(Value::as_f64)
}
