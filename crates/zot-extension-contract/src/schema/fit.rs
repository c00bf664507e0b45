//! Checks whether a value fits a schema, by the keywords that tools use.

use std::cell::Cell;

use serde_json::{Map, Value};

use super::{MAX_CHECKED_SCHEMA_DEPTH, kind};

/// The most values that arguments may have to be checked: parsed, each takes up to a hundred times its
/// length. A long text is one value.
///
/// Limit: `modified_args` are ignored.
pub(super) const MAX_MODIFIED_VALUES: usize = 10_000;

/// The most steps one check takes.
const MAX_MATCHING_STEPS: usize = 1_000_000;

/// Checks that `arguments` fit a tool's schema; the error names the field and the problem.
pub fn check_arguments(schema: &str, arguments: &str) -> Result<(), String> {
    if value_count(arguments) > MAX_MODIFIED_VALUES {
        return Err(format!("may have {MAX_MODIFIED_VALUES} values at most"));
    }
    let arguments: Value = serde_json::from_str(arguments).map_err(|error| error.to_string())?;
    if !arguments.is_object() {
        return Err(format!("must be an object, not {}", kind(&arguments)));
    }
    let schema: Value = serde_json::from_str(schema).map_err(|error| error.to_string())?;
    check(
        &schema,
        &arguments,
        "",
        0,
        &Budget(Cell::new(MAX_MATCHING_STEPS)),
    )
}

/// Returns an upper bound of the number of values in a JSON text, without parsing it.
fn value_count(text: &str) -> usize {
    let mut count = 1;
    let mut in_string = false;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => drop(bytes.next()),
            b',' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count
}

fn check(
    schema: &Value,
    value: &Value,
    path: &str,
    depth: usize,
    budget: &Budget,
) -> Result<(), String> {
    let schema = match schema {
        Value::Bool(false) => return Err(format!("{}is not allowed", named(path))),
        Value::Object(schema) if depth < MAX_CHECKED_SCHEMA_DEPTH => schema,
        _ => return Ok(()),
    };
    budget.spend(1)?;
    check_type(schema, value, path)?;
    if let Some(Value::Array(allowed)) = schema.get("enum") {
        budget.spend(allowed.len())?;
        if !allowed.contains(value) {
            return Err(format!(
                "{}must be one of {}",
                named(path),
                some_of(allowed)
            ));
        }
    }
    if let Some(expected) = schema.get("const")
        && expected != value
    {
        return Err(format!("{}must be {expected}", named(path)));
    }
    check_alternatives(schema, value, path, depth, budget)?;
    match value {
        Value::Object(fields) => check_object(schema, fields, path, depth, budget),
        Value::Array(items) => check_array(schema, items, path, depth, budget),
        Value::String(text) => {
            let length = text.chars().count() as f64;
            check_range(schema, "minLength", "maxLength", length, "characters", path)
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            check_range(schema, "minimum", "maximum", number, "", path)
        }
        _ => Ok(()),
    }
}

/// Returns the first values of a list that may be long.
fn some_of(values: &[Value]) -> String {
    const SHOWN: usize = 20;
    let shown: Vec<String> = values.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if values.len() > SHOWN { ", …" } else { "" };
    shown.join(", ") + more
}

/// How many steps a check may still take: nested alternatives multiply.
struct Budget(Cell<usize>);

impl Budget {
    fn spend(&self, steps: usize) -> Result<(), String> {
        match self.0.get().checked_sub(steps) {
            Some(rest) => {
                self.0.set(rest);
                Ok(())
            }
            None => {
                // Everything that follows fails at once, in every alternative.
                self.0.set(0);
                Err("cannot be checked: the schema is too complex for them".to_owned())
            }
        }
    }
}

fn check_type(schema: &Map<String, Value>, value: &Value, path: &str) -> Result<(), String> {
    let expected: Vec<&str> = match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    if expected.iter().any(|name| has_type(value, name)) {
        return Ok(());
    }
    Err(format!(
        "{}must be {}, not {}",
        named(path),
        expected.join(" or "),
        kind(value)
    ))
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => kind(value) == name,
    }
}

fn check_alternatives(
    schema: &Map<String, Value>,
    value: &Value,
    path: &str,
    depth: usize,
    budget: &Budget,
) -> Result<(), String> {
    let fits = |alternative: &&Value| check(alternative, value, path, depth + 1, budget).is_ok();
    if let Some(Value::Array(all)) = schema.get("allOf") {
        for part in all {
            check(part, value, path, depth + 1, budget)?;
        }
    }
    if let Some(Value::Array(any)) = schema.get("anyOf")
        && !any.iter().any(|alternative| fits(&alternative))
    {
        return Err(format!("{}fits none of its alternatives", named(path)));
    }
    if let Some(Value::Array(one)) = schema.get("oneOf")
        && one.iter().filter(fits).count() != 1
    {
        return Err(format!("{}must fit exactly one alternative", named(path)));
    }
    Ok(())
}

fn check_object(
    schema: &Map<String, Value>,
    fields: &Map<String, Value>,
    path: &str,
    depth: usize,
    budget: &Budget,
) -> Result<(), String> {
    if let Some(Value::Array(required)) = schema.get("required") {
        let missing = required
            .iter()
            .filter_map(Value::as_str)
            .find(|name| !fields.contains_key(*name));
        if let Some(name) = missing {
            return Err(format!("{}is missing", named(&below(path, name))));
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, value) in fields {
        let path = below(path, name);
        match properties.and_then(|properties| properties.get(name)) {
            Some(property) => check(property, value, &path, depth + 1, budget)?,
            None => match schema.get("additionalProperties") {
                Some(Value::Bool(false)) => {
                    return Err(format!("{}is not a known field", named(&path)));
                }
                Some(other) => check(other, value, &path, depth + 1, budget)?,
                None => {}
            },
        }
    }
    Ok(())
}

fn check_array(
    schema: &Map<String, Value>,
    items: &[Value],
    path: &str,
    depth: usize,
    budget: &Budget,
) -> Result<(), String> {
    let count = items.len() as f64;
    check_range(schema, "minItems", "maxItems", count, "items", path)?;
    if let Some(item_schema) = schema.get("items") {
        for (index, item) in items.iter().enumerate() {
            check(
                item_schema,
                item,
                &format!("{path}[{index}]"),
                depth + 1,
                budget,
            )?;
        }
    }
    Ok(())
}

fn check_range(
    schema: &Map<String, Value>,
    least: &str,
    most: &str,
    found: f64,
    unit: &str,
    path: &str,
) -> Result<(), String> {
    let limit = |keyword| schema.get(keyword).and_then(Value::as_f64);
    if let Some(limit) = limit(least)
        && found < limit
    {
        return Err(format!("{}must be at least {limit} {unit}", named(path))
            .trim_end()
            .to_owned());
    }
    if let Some(limit) = limit(most)
        && found > limit
    {
        return Err(format!("{}must be at most {limit} {unit}", named(path))
            .trim_end()
            .to_owned());
    }
    Ok(())
}

fn below(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    }
}

fn named(path: &str) -> String {
    match path {
        "" => String::new(),
        _ => format!("{path:?} "),
    }
}
