//! The arguments of a tool: their schema, and errors about arguments that do not match it.

#[cfg(test)]
mod tests;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// How many fields are examined when arguments do not match their type.
///
/// Limit: the error about a call's arguments names no further fields.
const MAX_SUSPECT_FIELDS: usize = 64;

/// The arguments of a tool without any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub struct NoArguments {}

/// Returns the schema of `T`, if it describes an object.
pub fn schema_of<T: JsonSchema>() -> Option<Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    // Not every model follows references.
    settings.inline_subschemas = true;
    let schema = SchemaGenerator::new(settings).into_root_schema_for::<T>();
    let mut schema = schema.to_value();
    // The name of a Rust type does not help the model.
    schema.as_object_mut()?.remove("title");
    // `serde_json::Value` accepts anything, but the protocol requires an object.
    if schema == json!({}) {
        schema = json!({"type": "object"});
    }
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    // An enum of structs has its variants here instead.
    let has_variants = ["oneOf", "anyOf", "allOf"]
        .iter()
        .any(|name| schema.get(name).is_some());
    if has_variants && !is_object {
        schema["type"] = "object".into();
    }
    (is_object || has_variants).then_some(schema)
}

/// Decodes arguments. The error names the invalid field.
pub fn decode<T: DeserializeOwned>(arguments: &str) -> Result<T, String> {
    serde_json::from_str(arguments).map_err(|error| {
        let message = serde_json::from_str::<Value>(arguments)
            .ok()
            .and_then(|mut value| Some((T::deserialize(&value).err()?, path::<T>(&mut value)?)));
        match message {
            Some((error, path)) => format!("invalid arguments: {path}: {error}"),
            None => format!("invalid arguments: {error}"),
        }
    })
}

/// Finds the field that prevents `value` from being a `T`: the one whose removal changes the error.
///
/// Serde does not report it, and crates that do fail with `flatten` and tagged enums.
fn path<T: DeserializeOwned>(value: &mut Value) -> Option<String> {
    let message = T::deserialize(&*value).err()?.to_string();
    // The error already names the field, and removing another would only change which one is missing.
    if message.starts_with("missing field") {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    while let Some(fields) = at(value, &names).and_then(|inner| inner.as_object()) {
        let mut suspects: Vec<String> = fields.keys().take(MAX_SUSPECT_FIELDS).cloned().collect();
        suspects.retain(|name| error_without::<T>(value, &names, name) != message);
        match suspects.len() {
            0 => break,
            1 => names.append(&mut suspects),
            // Either the tag of an enum or the field that does not match it may be wrong.
            _ => {
                names.push(suspects.join(" or "));
                break;
            }
        }
    }
    (!names.is_empty()).then(|| names.join("."))
}

/// Returns the error about `value` without the field `name` of the object at `names`.
fn error_without<T: DeserializeOwned>(value: &mut Value, names: &[String], name: &str) -> String {
    let fields = at(value, names).and_then(Value::as_object_mut);
    let taken = fields.and_then(|fields| fields.remove_entry(name));
    let message = match T::deserialize(&*value) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    };
    let fields = at(value, names).and_then(Value::as_object_mut);
    if let (Some((name, field)), Some(fields)) = (taken, fields) {
        fields.insert(name, field);
    }
    message
}

fn at<'a>(value: &'a mut Value, names: &[String]) -> Option<&'a mut Value> {
    names
        .iter()
        .try_fold(value, |value, name| value.get_mut(name))
}
