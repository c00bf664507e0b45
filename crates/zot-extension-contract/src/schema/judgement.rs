//! Finds what is wrong with a tool's schema, and whether that makes it unusable.

use serde_json::{Map, Value};

use super::{MAX_CHECKED_SCHEMA_DEPTH, kind};

const KNOWN_TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "array", "object", "null",
];

/// Returns advice for the author; the error is why no model could use the schema.
pub(super) fn judge(schema: &Map<String, Value>) -> Result<Vec<String>, String> {
    let mut judgement = Judgement::default();
    match schema.get("type") {
        None => {}
        Some(Value::String(name)) if name == "object" => {}
        Some(other) => return Err(format!("type must be \"object\", not {other}")),
    }
    judgement.object("", schema, 0);
    match judgement.refusal {
        Some(refusal) => Err(refusal),
        None => Ok(judgement.advice),
    }
}

#[derive(Default)]
struct Judgement {
    refusal: Option<String>,
    advice: Vec<String>,
}

impl Judgement {
    /// Records a malformed schema. Every provider checks the top level; only some check what is
    /// nested.
    fn broken(&mut self, depth: usize, problem: String) {
        if depth == 0 {
            self.refusal.get_or_insert(problem);
        } else {
            self.advice.push(problem);
        }
    }

    fn schema(&mut self, place: &str, schema: &Value, depth: usize) {
        match schema {
            Value::Object(fields) => self.object(&format!("{place}."), fields, depth + 1),
            // `true` and `false` are schemas, too.
            Value::Bool(_) => {}
            other => self.broken(
                depth,
                format!("{place} must be a schema, not {}", kind(other)),
            ),
        }
    }

    /// `place` is empty or ends with a dot.
    fn object(&mut self, place: &str, fields: &Map<String, Value>, depth: usize) {
        if depth > MAX_CHECKED_SCHEMA_DEPTH {
            let place = place.trim_end_matches('.');
            self.advice.push(format!(
                "{place} is nested more than {MAX_CHECKED_SCHEMA_DEPTH} levels deep"
            ));
            return;
        }
        self.types(place, fields.get("type"));
        match fields.get("properties") {
            None => {}
            Some(Value::Object(properties)) => {
                for (name, property) in properties {
                    self.schema(&format!("{place}properties.{name}"), property, depth);
                }
            }
            Some(other) => self.broken(
                depth,
                format!("{place}properties must be an object, not {}", kind(other)),
            ),
        }
        self.required(place, fields, depth);
        for keyword in ["items", "additionalProperties"] {
            if let Some(schema) = fields.get(keyword) {
                self.schema(&format!("{place}{keyword}"), schema, depth);
            }
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            match fields.get(keyword) {
                None => {}
                Some(Value::Array(schemas)) => {
                    for (index, schema) in schemas.iter().enumerate() {
                        self.schema(&format!("{place}{keyword}[{index}]"), schema, depth);
                    }
                }
                Some(other) => self.broken(
                    depth,
                    format!(
                        "{place}{keyword} must be a list of schemas, not {}",
                        kind(other)
                    ),
                ),
            }
        }
        if let Some(choices) = fields.get("enum")
            && choices.as_array().is_none_or(Vec::is_empty)
        {
            self.advice
                .push(format!("{place}enum must be a list that is not empty"));
        }
    }

    fn types(&mut self, place: &str, value: Option<&Value>) {
        let names = match value {
            None => return,
            Some(Value::Array(names)) => names.as_slice(),
            Some(name) => std::slice::from_ref(name),
        };
        for name in names {
            let is_known = |name: &str| KNOWN_TYPES.contains(&name);
            if !name.as_str().is_some_and(is_known) {
                let known = KNOWN_TYPES.join(", ");
                self.advice
                    .push(format!("{place}type must be one of {known}, not {name}"));
            }
        }
    }

    fn required(&mut self, place: &str, fields: &Map<String, Value>, depth: usize) {
        let names = match fields.get("required") {
            None => return,
            Some(Value::Array(names)) if names.iter().all(Value::is_string) => names,
            Some(other) => {
                return self.broken(
                    depth,
                    format!(
                        "{place}required must be a list of names (beside \"properties\", not in a \
                         property), not {other}"
                    ),
                );
            }
        };
        let properties = fields.get("properties").and_then(Value::as_object);
        for name in names.iter().filter_map(Value::as_str) {
            if properties.is_none_or(|properties| !properties.contains_key(name)) {
                self.advice.push(format!(
                    "{place}required names {name:?}, which is not in \"properties\""
                ));
            }
        }
    }
}
