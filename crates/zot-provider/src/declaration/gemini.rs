//! Declarations in the part of OpenAPI's schemas that Google's API accepts.
//!
//! Google refuses a keyword it does not know ("Cannot find field"), a type it does not know, an
//! array without the type of its items ("items: missing field"), an `enum` of anything but strings
//! ("only allowed for STRING type") or with an empty string ("cannot be empty"), an object whose
//! list of properties is empty ("should be non-empty for OBJECT type"), a required property that is
//! not declared, and, on Vertex, anything next to `anyOf` ("when using any_of, it must be the only
//! field set"). What keywords cannot express goes into descriptions.

use super::json::{Fields, Json};
use super::keys::Keys;
use super::parse::{MAX_QUOTED_SCHEMA_BYTES, MAX_SCHEMA_NODES};
use super::schema::{Additional, Kinds, Schema};
use super::write::described;

pub(super) struct Writer<'a> {
    keys: &'a Keys,
    max_depth: usize,
    nodes: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(keys: &'a Keys, max_depth: usize) -> Self {
        Self {
            keys,
            max_depth,
            nodes: 0,
        }
    }

    /// Writes the parameters of a function: an object, without alternatives at this level.
    pub(super) fn root(mut self, schema: &Schema) -> Json {
        let mut schema = schema.clone();
        schema.default = None;
        self.one_kind(schema, Kinds::OBJECT, "object", 0).into()
    }

    fn write(&mut self, schema: &Schema, depth: usize) -> Fields {
        self.nodes += 1;
        let is_nullable = schema.kinds != Kinds::ANY && schema.kinds.meets(Kinds::NULL);
        let mut choices: Vec<Fields> = Vec::new();
        for alternative in alternatives(schema) {
            let kinds = alternative.kinds.without(Kinds::NULL);
            let kinds: Vec<(Kinds, &str)> = kinds.single().collect();
            for (kind, name) in kinds {
                let choice = self.one_kind(alternative.clone(), kind, name, depth);
                if !choices.contains(&choice) {
                    choices.push(choice);
                }
            }
        }
        if is_nullable {
            for choice in &mut choices {
                choice.insert("nullable", true);
            }
        }
        // Nothing may stand next to `anyOf`: the first choice carries the shared description.
        if let Some((first, others)) = choices.split_first_mut() {
            let shared = first.get("description").cloned();
            for other in others {
                if shared.is_some() && other.get("description") == shared.as_ref() {
                    other.remove("description");
                }
            }
        }
        if choices.len() > 1 {
            let choices: Vec<Json> = choices.into_iter().map(Json::from).collect();
            let mut fields = Fields::default();
            fields.insert("anyOf", choices);
            return fields;
        }
        choices.pop().unwrap_or_else(|| {
            // Only null is allowed.
            let mut fields = Fields::default();
            fields.insert("type", "string");
            fields.insert("nullable", true);
            if let Some(text) =
                described(schema.description.as_deref(), &["Always null".to_owned()])
            {
                fields.insert("description", text);
            }
            fields
        })
    }

    /// Writes `schema` for values of one type, which it allows.
    fn one_kind(&mut self, mut schema: Schema, kind: Kinds, name: &str, depth: usize) -> Fields {
        let mut fields = Fields::default();
        fields.insert("type", name);
        if let Some(title) = &schema.title {
            fields.insert("title", title.clone());
        }
        let values = schema.values.take().map(|values| {
            let mut values = values;
            values.retain(|value| kind.meets(Kinds::of(value)));
            values
        });
        if let Some(default) = schema.default.take() {
            let text = default.text();
            if text.len() <= MAX_QUOTED_SCHEMA_BYTES {
                schema.remark(format!("Default: {text}"));
            }
        }
        let mut rest = Fields::default();
        let goes_deeper = depth < self.max_depth && self.nodes < MAX_SCHEMA_NODES;
        match kind {
            Kinds::STRING => string(&mut schema, values, &mut rest),
            Kinds::NUMBER | Kinds::INTEGER => {
                number(&mut schema, kind, &mut rest);
                list(&mut schema, values);
            }
            Kinds::ARRAY => {
                self.array(&mut schema, goes_deeper, depth, &mut rest);
                list(&mut schema, values);
            }
            Kinds::OBJECT => {
                self.object(&mut schema, goes_deeper, depth, &mut rest);
                list(&mut schema, values);
            }
            _ => list(&mut schema, values),
        }
        if let Some(text) = described(schema.description.as_deref(), &schema.remarks) {
            fields.insert("description", text);
        }
        for (keyword, value) in rest {
            fields.insert(keyword, value);
        }
        fields
    }

    fn array(&mut self, schema: &mut Schema, goes_deeper: bool, depth: usize, fields: &mut Fields) {
        let items = schema.items.take();
        let items = items.filter(|items| goes_deeper && !items.is_never() && !is_untyped(items));
        let items = match items {
            Some(items) => self.write(&items, depth + 1),
            None => {
                // Items must have a type, and a string can hold any value as JSON.
                let mut items = Fields::default();
                items.insert("type", "string");
                items
            }
        };
        fields.insert("items", items);
        let count = &schema.items_count;
        for (keyword, limit) in [("minItems", count.min), ("maxItems", count.max)] {
            if let Some(limit) = limit {
                fields.insert(keyword, limit);
            }
        }
        if schema.unique_items {
            schema.remark("No item appears twice");
        }
    }

    fn object(
        &mut self,
        schema: &mut Schema,
        goes_deeper: bool,
        depth: usize,
        fields: &mut Fields,
    ) {
        let mut properties = Fields::default();
        if goes_deeper {
            for (name, property) in &schema.properties {
                if !property.is_never() {
                    let property = self.write(property, depth + 1);
                    properties.push(self.keys.wire(name).to_owned(), property.into());
                }
            }
            // A required property that is not declared is refused.
            let undeclared: Vec<String> = schema
                .required
                .iter()
                .filter(|name| schema.property(name).is_none())
                .filter(|_| schema.additional != Additional::Forbidden)
                .map(|name| self.keys.wire(name).to_owned())
                .collect();
            for name in undeclared {
                let property = self.write(&Schema::any(), depth + 1);
                properties.push(name, property.into());
            }
        }
        if let Additional::Of(further) = &schema.additional {
            let names: Vec<&str> = further.kinds.single().map(|(_, name)| name).collect();
            let of = match further.kinds {
                Kinds::ANY => "any value".to_owned(),
                _ => format!("a value of type {}", names.join(" or ")),
            };
            let about = further.description.as_ref();
            let about = about.map_or_else(String::new, |about| format!(" ({about})"));
            schema.remark(match schema.properties.is_empty() {
                true => format!("Keys are chosen freely, each with {of}{about}"),
                false => format!("Other keys are allowed, each with {of}{about}"),
            });
        }
        let required: Vec<Json> = schema
            .required
            .iter()
            .map(|name| self.keys.wire(name))
            .filter(|name| properties.contains(name))
            .map(Json::from)
            .collect();
        if !properties.is_empty() {
            fields.insert("properties", properties);
        }
        if !required.is_empty() {
            fields.insert("required", required);
        }
        let count = &schema.properties_count;
        for (keyword, limit) in [("minProperties", count.min), ("maxProperties", count.max)] {
            if let Some(limit) = limit {
                fields.insert(keyword, limit);
            }
        }
    }
}

/// Expands `schema` into schemas without alternatives, each combined with what `schema` requires of
/// all of them.
fn alternatives(schema: &Schema) -> Vec<Schema> {
    if schema.any_of.is_empty() {
        return vec![schema.clone()];
    }
    let mut base = schema.clone();
    let choices = std::mem::take(&mut base.any_of);
    let mut all = Vec::new();
    for choice in &choices {
        for choice in alternatives(choice) {
            let mut both = base.clone();
            both.narrow(choice);
            if !both.is_never() {
                all.push(both);
            }
        }
    }
    match all.is_empty() {
        true => vec![base],
        false => all,
    }
}

/// Returns whether nothing is known about the values.
fn is_untyped(schema: &Schema) -> bool {
    schema.kinds == Kinds::ANY && schema.any_of.is_empty() && schema.values.is_none()
}

fn string(schema: &mut Schema, values: Option<Vec<Json>>, fields: &mut Fields) {
    if let Some(mut values) = values {
        let count = values.len();
        values.retain(|value| value.as_str().is_some_and(|text| !text.is_empty()));
        if values.len() < count {
            schema.remark("May be empty");
        }
        if !values.is_empty() {
            fields.insert("enum", values);
        }
    }
    match schema.format.take() {
        // Some versions refuse all others: "only 'enum' and 'date-time' are supported for STRING
        // type".
        Some(format) if format == "date-time" => fields.insert("format", format),
        Some(format) if format != "enum" => schema.remark(format!("Format: {format}")),
        _ => {}
    }
    for (keyword, limit) in [
        ("minLength", schema.length.min),
        ("maxLength", schema.length.max),
    ] {
        if let Some(limit) = limit {
            fields.insert(keyword, limit);
        }
    }
    if let Some(pattern) = schema.pattern.take() {
        fields.insert("pattern", pattern);
    }
}

fn number(schema: &mut Schema, kind: Kinds, fields: &mut Fields) {
    let formats: &[&str] = match kind {
        Kinds::INTEGER => &["int32", "int64"],
        _ => &["float", "double"],
    };
    match schema.format.take() {
        Some(format) if formats.contains(&format.as_str()) => fields.insert("format", format),
        Some(format) => schema.remark(format!("Format: {format}")),
        None => {}
    }
    for (keyword, limit) in [
        ("minimum", schema.range.min.take()),
        ("maximum", schema.range.max.take()),
    ] {
        if let Some(limit) = limit {
            fields.insert(keyword, limit);
        }
    }
    let exclusive = &mut schema.exclusive_range;
    let (above, below) = (exclusive.min.take(), exclusive.max.take());
    for (words, limit) in [
        ("Greater than", above),
        ("Less than", below),
        ("A multiple of", schema.multiple_of.take()),
    ] {
        if let Some(limit) = limit {
            schema.remark(format!("{words} {limit}"));
        }
    }
}

/// Describes the allowed values in a remark.
fn list(schema: &mut Schema, values: Option<Vec<Json>>) {
    let Some(values) = values.filter(|values| !values.is_empty()) else {
        return;
    };
    let texts: Vec<String> = values.iter().map(Json::text).collect();
    let text = texts.join(", ");
    if text.len() <= MAX_QUOTED_SCHEMA_BYTES {
        schema.remark(match values.len() {
            1 => format!("Must be {text}"),
            _ => format!("One of {text}"),
        });
    }
}
