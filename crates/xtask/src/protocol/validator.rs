//! The part of JSON Schema that our own schema uses. An unknown keyword is an error, so the schema
//! cannot contain rules that are not checked.

use serde_json::{Map, Value};

const ANNOTATIONS: [&str; 6] = [
    "$schema",
    "$defs",
    "title",
    "description",
    "format",
    "default",
];

/// Checks `value` against the document `schema`.
pub(super) fn validate(schema: &Value, value: &Value) -> Result<(), String> {
    check(schema, schema, value)
}

/// Returns the definition that `schema` refers to, or `schema` itself.
pub(super) fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let reference = schema["$ref"].as_str();
    let target = reference
        .and_then(|reference| reference.strip_prefix('#'))
        .and_then(|pointer| document.pointer(pointer));
    target.unwrap_or(schema)
}

fn check(document: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let keywords = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(keywords) => keywords,
        _ => return Err(format!("nothing fits {schema}")),
    };
    for (keyword, argument) in keywords {
        let fits = match keyword.as_str() {
            "$ref" => {
                let target = resolve(document, schema);
                if std::ptr::eq(target, schema) {
                    return Err(format!("{argument} leads nowhere"));
                }
                check(document, target, value)?;
                true
            }
            "oneOf" => count_matches(document, argument, value) == 1,
            "anyOf" => count_matches(document, argument, value) > 0,
            "type" => has_type(argument, value),
            "const" => argument == value,
            "enum" => argument.as_array().is_some_and(|all| all.contains(value)),
            "minimum" => value.as_f64() >= argument.as_f64(),
            "maximum" => value.as_f64() <= argument.as_f64(),
            "required" => strings(argument).all(|field| value.get(field).is_some()),
            "properties" => {
                properties(document, argument, value)?;
                true
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    check(document, argument, item)?;
                }
                true
            }
            annotation if ANNOTATIONS.contains(&annotation) => true,
            unknown => return Err(format!("xtask does not know the keyword {unknown}")),
        };
        if !fits {
            return Err(format!("{value} breaks {keyword} {argument}"));
        }
    }
    Ok(())
}

fn properties(document: &Value, schemas: &Value, value: &Value) -> Result<(), String> {
    let none = Map::new();
    for (name, schema) in schemas.as_object().unwrap_or(&none) {
        if let Some(field) = value.get(name) {
            check(document, schema, field).map_err(|problem| format!("{name}: {problem}"))?;
        }
    }
    Ok(())
}

fn count_matches(document: &Value, choices: &Value, value: &Value) -> usize {
    let choices = choices.as_array().into_iter().flatten();
    choices
        .filter(|choice| check(document, choice, value).is_ok())
        .count()
}

fn strings(array: &Value) -> impl Iterator<Item = &str> {
    array
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
}

fn has_type(types: &Value, value: &Value) -> bool {
    let mut types = types.as_str().into_iter().chain(strings(types));
    types.any(|name| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        _ => false,
    })
}
