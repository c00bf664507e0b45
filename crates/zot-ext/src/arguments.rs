//! The arguments of a tool: their schema, and what is wrong with those that do not fit it.

#[cfg(test)]
mod tests;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use zot_wire::RawJson;

/// How many fields are suspected when arguments do not fit.
const MAX_SUSPECTS: usize = 64;

/// The arguments of a tool that needs none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub struct NoArguments {}

/// The schema of `T`, if it describes an object.
pub(crate) fn schema_of<T: JsonSchema>() -> Option<Value> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.meta_schema = None;
    // Not every model follows references.
    settings.inline_subschemas = true;
    let mut schema = SchemaGenerator::new(settings)
        .into_root_schema_for::<T>()
        .to_value();
    match &mut schema {
        // The name of a Rust type tells the model nothing.
        Value::Object(fields) => {
            fields.remove("title");
        }
        // `serde_json::Value`: whatever the model likes, but the protocol wants an object.
        Value::Bool(true) => schema = serde_json::json!({"type": "object"}),
        _ => return None,
    }
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    // An enum of structs has its variants there instead.
    let has_variants = ["oneOf", "anyOf", "allOf"]
        .iter()
        .any(|name| schema.get(name).is_some());
    if has_variants && !is_object {
        schema["type"] = "object".into();
    }
    (is_object || has_variants).then_some(schema)
}

/// Decodes arguments. The error names the field that is at fault.
pub(crate) fn decode<T: DeserializeOwned>(arguments: &RawJson) -> Result<T, String> {
    serde_json::from_str(arguments.get()).map_err(|error| {
        let complaint = serde_json::from_str::<Value>(arguments.get())
            .ok()
            .and_then(|mut value| Some((T::deserialize(&value).err()?, path::<T>(&mut value)?)));
        match complaint {
            Some((error, path)) => format!("invalid arguments: {path}: {error}"),
            None => format!("invalid arguments: {error}"),
        }
    })
}

/// Finds the field that makes `value` no `T`: the one without which the complaint is another.
///
/// Serde does not say it, and nothing that asks for it survives `flatten` and tagged enums.
fn path<T: DeserializeOwned>(value: &mut Value) -> Option<String> {
    let complaint = T::deserialize(&*value).err()?.to_string();
    // It names the field, and taking another away would only move it.
    if complaint.starts_with("missing field") {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    loop {
        let fields = at(value, &names)?.as_object()?;
        let suspects: Vec<String> = fields.keys().take(MAX_SUSPECTS).cloned().collect();
        let culprit = suspects.into_iter().find(|name| {
            let taken = at(value, &names)
                .and_then(Value::as_object_mut)
                .and_then(|fields| fields.remove(name));
            let changed = match T::deserialize(&*value) {
                Ok(_) => true,
                Err(error) => error.to_string() != complaint,
            };
            if let (Some(taken), Some(fields)) =
                (taken, at(value, &names).and_then(Value::as_object_mut))
            {
                fields.insert(name.clone(), taken);
            }
            changed
        });
        match culprit {
            Some(name) => names.push(name),
            None => break,
        }
        if !at(value, &names).is_some_and(|inner| inner.is_object()) {
            break;
        }
    }
    (!names.is_empty()).then(|| names.join("."))
}

fn at<'a>(value: &'a mut Value, names: &[String]) -> Option<&'a mut Value> {
    names
        .iter()
        .try_fold(value, |value, name| value.get_mut(name))
}
