//! Whether a tool's schema is one that model providers accept.

use serde_json::{Map, Value};

const KNOWN_TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "array", "object", "null",
];

/// Deep enough for any real schema; a deeper one is refused rather than followed.
const MAX_DEPTH: usize = 32;

/// What is wrong with the schema of a tool, each with where it is.
pub fn schema_problems(schema: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    match schema {
        Value::Object(fields) => {
            if fields.get("type").and_then(Value::as_str) != Some("object") {
                problems.push("the schema's \"type\" must be \"object\"".to_owned());
            }
            check_object("schema", fields, 0, &mut problems);
        }
        other => problems.push(format!(
            "the schema is {}, but must be an object such as {{\"type\":\"object\",\"properties\":{{}}}}",
            kind(other)
        )),
    }
    problems
}

fn check(place: &str, schema: &Value, depth: usize, problems: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => check_object(place, fields, depth, problems),
        // `true` and `false` are schemas, too.
        Value::Bool(_) => {}
        other => problems.push(format!("{place} is {}, but must be an object", kind(other))),
    }
}

fn check_object(
    place: &str,
    fields: &Map<String, Value>,
    depth: usize,
    problems: &mut Vec<String>,
) {
    if depth > MAX_DEPTH {
        problems.push(format!(
            "{place} is nested more than {MAX_DEPTH} levels deep"
        ));
        return;
    }
    check_type(place, fields.get("type"), problems);
    match fields.get("properties") {
        Some(Value::Object(properties)) => {
            for (name, property) in properties {
                let place = format!("{place}.properties.{name}");
                check(&place, property, depth + 1, problems);
            }
        }
        Some(other) => problems.push(format!(
            "{place}.properties is {}, but must be an object",
            kind(other)
        )),
        None => {}
    }
    check_required(place, fields, problems);
    for keyword in ["items", "additionalProperties"] {
        if let Some(schema) = fields.get(keyword) {
            check(&format!("{place}.{keyword}"), schema, depth + 1, problems);
        }
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        match fields.get(keyword) {
            Some(Value::Array(schemas)) => {
                for (index, schema) in schemas.iter().enumerate() {
                    let place = format!("{place}.{keyword}[{index}]");
                    check(&place, schema, depth + 1, problems);
                }
            }
            Some(other) => problems.push(format!(
                "{place}.{keyword} is {}, but must be an array of schemas",
                kind(other)
            )),
            None => {}
        }
    }
    if let Some(choices) = fields.get("enum")
        && choices.as_array().is_none_or(Vec::is_empty)
    {
        problems.push(format!(
            "{place}.enum must be an array with something in it"
        ));
    }
}

fn check_type(place: &str, value: Option<&Value>, problems: &mut Vec<String>) {
    let names = match value {
        None => return,
        Some(Value::Array(names)) => names.as_slice(),
        Some(name) => std::slice::from_ref(name),
    };
    for name in names {
        if !name
            .as_str()
            .is_some_and(|name| KNOWN_TYPES.contains(&name))
        {
            problems.push(format!(
                "{place}.type is {name}, but must be one of {}",
                KNOWN_TYPES.join(", ")
            ));
        }
    }
}

fn check_required(place: &str, fields: &Map<String, Value>, problems: &mut Vec<String>) {
    let required = match fields.get("required") {
        None => return,
        Some(Value::Array(required)) => required,
        Some(other) => {
            problems.push(format!(
                "{place}.required is {}, but must be an array of names (beside \"properties\", not in a property)",
                kind(other)
            ));
            return;
        }
    };
    let properties = fields.get("properties").and_then(Value::as_object);
    for name in required {
        match name.as_str() {
            Some(name) if properties.is_some_and(|properties| properties.contains_key(name)) => {}
            Some(name) => problems.push(format!(
                "{place}.required names {name:?}, which is not in \"properties\""
            )),
            None => problems.push(format!("{place}.required holds {name}, which is no name")),
        }
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
