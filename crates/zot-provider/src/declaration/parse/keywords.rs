//! Reads the keywords of one schema: types, annotations, limits and values.

use std::collections::HashSet;

use super::{MAX_DECLARED_VALUES, MAX_QUOTED_SCHEMA_BYTES};
use crate::declaration::json::{Fields, Json};
use crate::declaration::schema::{Kinds, Range, Schema};

/// Returns the types a schema names, or those its other keywords imply.
pub(super) fn kinds(fields: &Fields) -> Kinds {
    let named = match fields.get("type") {
        Some(Json::String(name)) => Kinds::named(name),
        Some(Json::Array(names)) => {
            let kinds = names.iter().map(|name| match name {
                Json::String(name) => Kinds::named(name),
                // Draft 3 has schemas in the list.
                Json::Object(fields) => Some(kinds(fields)),
                _ => None,
            });
            let all: Option<Vec<Kinds>> = kinds.collect();
            all.filter(|all| !all.is_empty())
                .map(|all| all.into_iter().fold(Kinds::NONE, Kinds::or))
        }
        _ => None,
    };
    if let Some(named) = named {
        return named;
    }
    let values = match (fields.get("enum"), fields.get("const")) {
        (Some(Json::Array(values)), _) if !values.is_empty() => Some(values.as_slice()),
        (_, Some(value)) => Some(std::slice::from_ref(value)),
        _ => None,
    };
    if let Some(values) = values {
        return values.iter().map(Kinds::of).fold(Kinds::NONE, Kinds::or);
    }
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| fields.contains(keyword));
    if has(&["properties", "additionalProperties", "patternProperties"]) {
        return Kinds::OBJECT;
    }
    if has(&["items", "prefixItems"]) {
        return Kinds::ARRAY;
    }
    Kinds::ANY
}

pub(super) fn annotations(fields: &Fields, schema: &mut Schema) {
    let text = |keyword: &str| {
        let text = fields.get(keyword).and_then(Json::as_str)?;
        (!text.trim().is_empty()).then(|| text.to_owned())
    };
    schema.title = text("title");
    schema.description = text("description");
    schema.default = fields.get("default").cloned();
    schema.examples = match (fields.get("examples"), fields.get("example")) {
        (Some(Json::Array(examples)), _) => Some(examples.clone()),
        (_, Some(example)) => Some(vec![example.clone()]),
        _ => None,
    };
}

pub(super) fn limits(fields: &Fields, schema: &mut Schema) {
    let count = |keyword: &str| fields.get(keyword).and_then(Json::as_count);
    let number = |keyword: &str| fields.get(keyword).and_then(Json::as_number).cloned();
    let counts = |min: &str, max: &str| Range {
        min: count(min),
        max: count(max),
    };
    schema.length = counts("minLength", "maxLength");
    schema.items_count = counts("minItems", "maxItems");
    schema.properties_count = counts("minProperties", "maxProperties");
    schema.unique_items = fields.get("uniqueItems") == Some(&Json::Bool(true));
    schema.range = Range {
        min: number("minimum"),
        max: number("maximum"),
    };
    schema.exclusive_range = Range {
        min: number("exclusiveMinimum"),
        max: number("exclusiveMaximum"),
    };
    // Draft 4 has a flag next to the limit.
    if fields.get("exclusiveMinimum") == Some(&Json::Bool(true)) {
        schema.exclusive_range.min = schema.range.min.take();
    }
    if fields.get("exclusiveMaximum") == Some(&Json::Bool(true)) {
        schema.exclusive_range.max = schema.range.max.take();
    }
    let positive = |number: &serde_json::Number| number.as_f64().is_some_and(|number| number > 0.0);
    schema.multiple_of = number("multipleOf").filter(positive);
    let text = |keyword: &str| {
        fields
            .get(keyword)
            .and_then(Json::as_str)
            .map(str::to_owned)
    };
    schema.pattern = text("pattern");
    schema.format = text("format");
}

pub(super) fn values(fields: &Fields, schema: &mut Schema) {
    let mut values = match (fields.get("enum"), fields.get("const")) {
        (_, Some(value)) => vec![value.clone()],
        (Some(Json::Array(values)), _) if !values.is_empty() => values.clone(),
        _ => return,
    };
    let mut seen = HashSet::new();
    values.retain(|value| seen.insert(value.text()));
    // Where type and values contradict each other, the author probably meant the values.
    let possible = |value: &Json, kinds: Kinds| kinds.meets(Kinds::of(value));
    if values.iter().any(|value| possible(value, schema.kinds)) {
        values.retain(|value| possible(value, schema.kinds));
    }
    schema.kinds = values.iter().map(Kinds::of).fold(Kinds::NONE, Kinds::or);
    if values.len() > MAX_DECLARED_VALUES {
        let first: Vec<String> = values.iter().take(20).map(Json::text).collect();
        schema.remark(format!(
            "One of {} values, such as {}",
            values.len(),
            first.join(", ")
        ));
        return;
    }
    schema.values = Some(values);
}

/// Adds remarks for keywords that no wire accepts.
pub(super) fn remarks(fields: &Fields, schema: &mut Schema) {
    let mut quote = |lead: &str, value: &Json| {
        let text = value.text();
        if text.len() <= MAX_QUOTED_SCHEMA_BYTES {
            schema.remark(format!("{lead} {text}"));
        }
    };
    if let Some(not) = fields.get("not") {
        quote("Must not match the JSON Schema", not);
    }
    if let Some(condition) = fields.get("if") {
        quote("When it matches", condition);
        for (keyword, lead) in [("then", "then it must match"), ("else", "otherwise")] {
            if let Some(branch) = fields.get(keyword) {
                quote(lead, branch);
            }
        }
    }
    for keyword in ["dependentRequired", "dependencies"] {
        if let Some(value) = fields.get(keyword) {
            quote("Keys that need others:", value);
        }
    }
    if let Some(names) = fields.get("propertyNames") {
        quote("Keys match the JSON Schema", names);
    }
    if let Some(contained) = fields.get("contains") {
        quote("At least one item matches the JSON Schema", contained);
    }
}

/// Describes an item of a tuple for a remark.
pub(super) fn short_description(schema: &Schema) -> String {
    let names: Vec<&str> = schema.kinds.single().map(|(_, name)| name).collect();
    let kind = match schema.kinds {
        Kinds::ANY => "any value".to_owned(),
        _ => names.join(" or "),
    };
    match schema.title.as_ref().or(schema.description.as_ref()) {
        Some(text) => format!("{kind} ({text})"),
        None => kind,
    }
}
