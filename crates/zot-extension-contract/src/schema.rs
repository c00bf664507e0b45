//! Checks whether a tool schema can be given to a model, and whether arguments fit it.
//!
//! Only the keywords that tools use are checked; arguments are not rejected for unknown ones.

mod fit;
mod judgement;
#[cfg(test)]
mod tests;

use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub use fit::check_arguments;

/// Deeper than any real schema; serde_json itself stops at 128.
const MAX_CHECKED_SCHEMA_DEPTH: usize = 32;

/// A schema that a model can be given.
#[derive(Debug)]
pub struct AcceptedSchema {
    pub schema: Box<RawValue>,
    /// What some providers refuse, or what its author cannot have meant, each with its location.
    pub advice: Vec<String>,
}

/// Returns the schema as a model gets it, or why no model could use it.
///
/// A tool without a schema takes no arguments.
pub fn accept_schema(schema: Option<&str>) -> Result<AcceptedSchema, String> {
    let value = match schema {
        None => Value::Object(Map::new()),
        Some(text) => serde_json::from_str(text).map_err(|error| error.to_string())?,
    };
    let Value::Object(mut object) = value else {
        return Err(format!(
            "must be a JSON Schema object, not {}",
            kind(&value)
        ));
    };
    let mut advice = judgement::judge(&object)?;
    let is_complete = object.contains_key("type");
    if !is_complete {
        object.insert("type".to_owned(), "object".into());
        advice.push("\"type\" is missing: \"object\" is assumed".to_owned());
    }
    let text = match schema {
        // Kept as the author wrote it: the order of fields helps people who read requests.
        Some(text) if is_complete => text.to_owned(),
        _ => Value::Object(object).to_string(),
    };
    let schema = RawValue::from_string(text).map_err(|error| error.to_string())?;
    Ok(AcceptedSchema { schema, advice })
}

/// Returns the JSON Schema name of a value's type.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
