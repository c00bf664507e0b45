//! Arguments whose keys have other names on the wire.

use super::json::{Fields, Json};
use super::keys::Keys;
use super::schema::{Additional, Schema};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    ToWire,
    ToOriginal,
}

/// Returns `text` with the keys renamed, or `None` if it is not a JSON object.
pub(super) fn renamed(
    text: &str,
    schema: &Schema,
    keys: &Keys,
    direction: Direction,
) -> Option<String> {
    let arguments = Json::parse(text).filter(|arguments| arguments.as_object().is_some())?;
    Some(rename(arguments, &[schema], keys, direction).text())
}

/// Renames keys that the schemas of a value know; others are data.
fn rename(value: Json, schemas: &[&Schema], keys: &Keys, direction: Direction) -> Json {
    match value {
        Json::Object(fields) => {
            let known = with_alternatives(schemas);
            let mut renamed = Fields::default();
            for (key, value) in fields {
                let original = match direction {
                    Direction::ToWire => key.as_str(),
                    Direction::ToOriginal => keys.original(&key),
                };
                let found: Vec<&Schema> = known
                    .iter()
                    .filter_map(|schema| schema.property(original))
                    .collect();
                let cut = known.iter().filter(|schema| schema.is_cut).copied();
                let is_key = !found.is_empty()
                    || known.iter().any(|schema| {
                        schema.is_cut || schema.required.iter().any(|name| name == original)
                    });
                let within: Vec<&Schema> = match is_key {
                    true => found.into_iter().chain(cut).collect(),
                    false => known.iter().filter_map(|schema| further(schema)).collect(),
                };
                let name = match (is_key, direction) {
                    (false, _) => key.as_str(),
                    (true, Direction::ToWire) => keys.wire(&key),
                    (true, Direction::ToOriginal) => original,
                }
                .to_owned();
                renamed.push(name, rename(value, &within, keys, direction));
            }
            renamed.into()
        }
        Json::Array(values) => {
            let known = with_alternatives(schemas);
            let items: Vec<&Schema> = known
                .iter()
                .filter_map(|schema| schema.items.as_deref())
                .chain(known.iter().filter(|schema| schema.is_cut).copied())
                .collect();
            let renamed = values
                .into_iter()
                .map(|value| rename(value, &items, keys, direction));
            renamed.collect::<Vec<Json>>().into()
        }
        other => other,
    }
}

fn further(schema: &Schema) -> Option<&Schema> {
    match &schema.additional {
        Additional::Of(further) => Some(further),
        _ => None,
    }
}

fn with_alternatives<'a>(schemas: &[&'a Schema]) -> Vec<&'a Schema> {
    let mut all = Vec::new();
    let mut open: Vec<&'a Schema> = schemas.to_vec();
    while let Some(schema) = open.pop() {
        all.push(schema);
        open.extend(&schema.any_of);
    }
    all
}
