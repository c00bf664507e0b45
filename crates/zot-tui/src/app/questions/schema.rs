//! Reads the fields of a form from its JSON Schema: an object of texts, numbers, booleans and
//! choices, in the order in which the server wrote them.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value;

use super::field::{Entry, Field, FieldOption, MAX_ANSWER_FIELD_BYTES, TextRule};
use super::format::Format;
use crate::editor::Editor;

/// The most fields of a form.
///
/// Limit: a form with more fields can only be declined or cancelled.
const MAX_FIELDS: usize = 64;

/// The most options of a field.
///
/// Limit: further options are not offered.
const MAX_FIELD_OPTIONS: usize = 256;

/// The longest title or description, in characters.
///
/// Limit: the rest is cut off.
const MAX_LABEL_CHARACTERS: usize = 400;

/// Why a form cannot be filled in here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum SchemaError {
    #[error("the form has {0} fields; {MAX_FIELDS} are the most")]
    TooManyFields(usize),
    #[error("the form is not an object with fields")]
    NoObject,
    #[error("the field {0:?} is required, but of a kind that zot does not know")]
    UnknownKind(String),
}

/// Returns the fields of a form. Optional fields of unknown kinds are left out.
pub(super) fn fields(schema: &str) -> Result<Vec<Field>, SchemaError> {
    let schema: Schema = serde_json::from_str(schema).map_err(|_| SchemaError::NoObject)?;
    if schema.properties.len() > MAX_FIELDS {
        return Err(SchemaError::TooManyFields(schema.properties.len()));
    }
    let mut fields = Vec::new();
    for (name, property) in schema.properties {
        let is_required = schema.required.contains(&name);
        match entry(&property) {
            Some(entry) => fields.push(Field {
                title: label(&property, "title").unwrap_or_else(|| name.clone()),
                description: label(&property, "description").unwrap_or_default(),
                name,
                is_required,
                entry,
                problem: None,
            }),
            None if is_required => return Err(SchemaError::UnknownKind(name)),
            None => {}
        }
    }
    Ok(fields)
}

fn entry(property: &Value) -> Option<Entry> {
    let default = property.get("default");
    if let Some(options) = options(property) {
        let chosen = options
            .iter()
            .position(|option| Some(&option.value) == default);
        return Some(Entry::One { options, chosen });
    }
    let number = |key: &str| property.get(key).and_then(Value::as_f64);
    let count = |key: &str| {
        let count = property.get(key).and_then(Value::as_u64);
        count.and_then(|count| usize::try_from(count).ok())
    };
    match kind(property)? {
        "string" => {
            let format = property.get("format").and_then(Value::as_str);
            let default = default.and_then(Value::as_str);
            Some(text(
                default.unwrap_or_default(),
                TextRule::Text {
                    least: count("minLength").unwrap_or(0),
                    most: count("maxLength"),
                    format: format.and_then(Format::named),
                },
            ))
        }
        kind @ ("number" | "integer") => {
            let default = default.filter(|default| default.is_number());
            Some(text(
                &default.map(ToString::to_string).unwrap_or_default(),
                TextRule::Number {
                    is_integer: kind == "integer",
                    least: number("minimum"),
                    most: number("maximum"),
                },
            ))
        }
        "boolean" => {
            let option = |value: bool, title: &str| FieldOption {
                value: Value::Bool(value),
                title: title.to_owned(),
            };
            Some(Entry::One {
                options: vec![option(true, "yes"), option(false, "no")],
                chosen: default
                    .and_then(Value::as_bool)
                    .map(|is_on| usize::from(!is_on)),
            })
        }
        "array" => {
            let options = options(property.get("items")?)?;
            let default = default.and_then(Value::as_array);
            let is_default =
                |option: &FieldOption| default.is_some_and(|all| all.contains(&option.value));
            let indices = options.iter().enumerate();
            let chosen: BTreeSet<usize> = indices
                .filter(|(_, option)| is_default(option))
                .map(|(index, _)| index)
                .collect();
            Some(Entry::Several {
                options,
                chosen,
                at: 0,
                least: count("minItems").unwrap_or(0),
                most: count("maxItems"),
            })
        }
        _ => None,
    }
}

fn text(default: &str, rule: TextRule) -> Entry {
    let mut editor = Box::<Editor>::default();
    let end = default.floor_char_boundary(MAX_ANSWER_FIELD_BYTES.min(default.len()));
    if end > 0 {
        editor.set(default[..end].to_owned());
    }
    Entry::Text { editor, rule }
}

/// Returns the type; of several, the first that is not `null`.
fn kind(property: &Value) -> Option<&str> {
    match property.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => {
            let mut kinds = kinds.iter().filter_map(Value::as_str);
            kinds.find(|kind| *kind != "null")
        }
        _ => None,
    }
}

/// Returns the options of a choice: `enum` with or without `enumNames`, or `const`s with titles.
fn options(property: &Value) -> Option<Vec<FieldOption>> {
    let titled = property.get("oneOf").or_else(|| property.get("anyOf"));
    let options: Vec<FieldOption> = match (property.get("enum"), titled) {
        (Some(Value::Array(values)), _) => {
            let names = property.get("enumNames").and_then(Value::as_array);
            let name = |index: usize| names.and_then(|names| names.get(index)?.as_str());
            let values = values.iter().enumerate();
            values
                .map(|(index, value)| option(value, name(index)))
                .take(MAX_FIELD_OPTIONS)
                .collect()
        }
        (_, Some(Value::Array(titled))) => {
            let titled = titled.iter().filter_map(|one| {
                Some(option(
                    one.get("const")?,
                    one.get("title").and_then(Value::as_str),
                ))
            });
            titled.take(MAX_FIELD_OPTIONS).collect()
        }
        _ => return None,
    };
    (!options.is_empty()).then_some(options)
}

fn option(value: &Value, title: Option<&str>) -> FieldOption {
    let title = match (title, value) {
        (Some(title), _) => title.to_owned(),
        (None, Value::String(text)) => text.clone(),
        (None, value) => value.to_string(),
    };
    FieldOption {
        value: value.clone(),
        title: shortened(&title),
    }
}

fn label(property: &Value, key: &str) -> Option<String> {
    let text = property.get(key)?.as_str()?.trim();
    (!text.is_empty()).then(|| shortened(text))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_LABEL_CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The parts of the schema that count, with the properties in their order.
#[derive(Default)]
struct Schema {
    properties: Vec<(String, Value)>,
    required: Vec<String>,
}

impl<'de> serde::Deserialize<'de> for Schema {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(SchemaVisitor)
    }
}

struct SchemaVisitor;

impl<'de> serde::de::Visitor<'de> for SchemaVisitor {
    type Value = Schema;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<M: serde::de::MapAccess<'de>>(self, mut map: M) -> Result<Schema, M::Error> {
        let mut schema = Schema::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "properties" => schema.properties = map.next_value::<Properties>()?.0,
                "required" => {
                    let names: Value = map.next_value()?;
                    let names = names.as_array().into_iter().flatten();
                    let names = names.filter_map(Value::as_str);
                    schema.required = names.map(str::to_owned).collect();
                }
                _ => {
                    map.next_value::<serde::de::IgnoredAny>()?;
                }
            }
        }
        Ok(schema)
    }
}

struct Properties(Vec<(String, Value)>);

impl<'de> serde::Deserialize<'de> for Properties {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct PropertiesVisitor;

        impl<'de> serde::de::Visitor<'de> for PropertiesVisitor {
            type Value = Properties;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the fields of a form")
            }

            fn visit_map<M: serde::de::MapAccess<'de>>(
                self,
                mut map: M,
            ) -> Result<Properties, M::Error> {
                let mut properties = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    properties.push(entry);
                }
                Ok(Properties(properties))
            }
        }

        deserializer.deserialize_map(PropertiesVisitor)
    }
}
