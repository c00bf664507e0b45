//! The JSON Schema of the settings, for editors.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::settings::Settings;

/// Returns the schema of `config.json`.
pub fn json_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Settings>().to_value();
    // Unset settings are left out, never null; and editors add `$schema`.
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        for property in properties.values_mut() {
            without_null(property);
        }
        properties.insert(
            "$schema".to_owned(),
            serde_json::json!({"type": "string", "description": "Where this schema is, for editors"}),
        );
    }
    schema
}

fn without_null(property: &mut Value) {
    let Some(fields) = property.as_object_mut() else {
        return;
    };
    fields.remove("default");
    if let Some(Value::Array(types)) = fields.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            fields.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(variants)) = fields.remove("anyOf") {
        let kept = variants
            .into_iter()
            .find(|variant| variant.get("$ref").is_some());
        if let Some(reference) = kept.as_ref().and_then(|kept| kept.get("$ref")) {
            fields.insert("$ref".to_owned(), reference.clone());
        }
    }
}

#[cfg(test)]
mod tests;
