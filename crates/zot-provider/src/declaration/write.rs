//! Declarations in JSON Schema, as Anthropic and OpenAI accept it.
//!
//! Both accept nearly all of it below the top level; this writes only the part that no compatible
//! server refuses: no references, no `allOf`, `oneOf`, `not` or conditions, no tuples, and `items`
//! wherever there may be an array (OpenAI: "array schema missing items").

use super::json::{Fields, Json};
use super::keys::Keys;
use super::parse::MAX_SCHEMA_NODES;
use super::schema::{Additional, Kinds, Range, Schema};

/// How an object without properties is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EmptyObjects {
    Unchanged,
    /// OpenAI has refused others: "object schema missing properties".
    WithProperties,
}

pub(super) struct Writer<'a> {
    keys: &'a Keys,
    empty_objects: EmptyObjects,
    max_depth: usize,
    nodes: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(keys: &'a Keys, empty_objects: EmptyObjects, max_depth: usize) -> Self {
        Self {
            keys,
            empty_objects,
            max_depth,
            nodes: 0,
        }
    }

    /// Writes the parameters of a tool: an object, without alternatives at this level.
    pub(super) fn root(mut self, schema: &Schema) -> Json {
        self.write(schema, 0).into()
    }

    fn write(&mut self, schema: &Schema, depth: usize) -> Fields {
        self.nodes += 1;
        let mut fields = Fields::default();
        let implied = schema
            .any_of
            .iter()
            .fold(Kinds::NONE, |kinds, choice| kinds.or(choice.kinds));
        if schema.kinds != Kinds::ANY && implied != schema.kinds {
            fields.insert("type", kinds(schema.kinds));
        }
        annotations(schema, &mut fields);
        if let Some(values) = schema.values.as_ref().filter(|values| !values.is_empty()) {
            fields.insert("enum", values.clone());
        }
        let is_typed = schema.kinds != Kinds::ANY;
        if schema.kinds.meets(Kinds::STRING) {
            strings(schema, &mut fields);
        }
        if schema.kinds.meets(Kinds::NUMBER) {
            numbers(schema, &mut fields);
        }
        let goes_deeper = depth < self.max_depth && self.nodes < MAX_SCHEMA_NODES;
        if schema.kinds.meets(Kinds::ARRAY) {
            let items = schema
                .items
                .as_ref()
                .filter(|items| goes_deeper && !items.is_never());
            match items {
                Some(items) => {
                    let items = self.write(items, depth + 1);
                    fields.insert("items", items);
                }
                None if is_typed && schema.any_of.is_empty() => {
                    fields.insert("items", Fields::default());
                }
                None => {}
            }
            counts(&schema.items_count, "minItems", "maxItems", &mut fields);
            if schema.unique_items {
                fields.insert("uniqueItems", true);
            }
        }
        if schema.kinds.meets(Kinds::OBJECT) {
            self.object(schema, depth, goes_deeper, &mut fields);
        }
        if !schema.any_of.is_empty() && goes_deeper {
            let mut choices = Vec::new();
            for choice in schema.any_of.iter().filter(|choice| !choice.is_never()) {
                choices.push(self.write(choice, depth + 1).into());
            }
            if !choices.is_empty() {
                fields.insert("anyOf", choices);
            }
        }
        fields
    }

    fn object(&mut self, schema: &Schema, depth: usize, goes_deeper: bool, fields: &mut Fields) {
        let mut properties = Fields::default();
        for (name, property) in schema.properties.iter().filter(|_| goes_deeper) {
            if !property.is_never() {
                let property = self.write(property, depth + 1);
                properties.push(self.keys.wire(name).to_owned(), property.into());
            }
        }
        let shows_empty = self.empty_objects == EmptyObjects::WithProperties
            && schema.kinds == Kinds::OBJECT
            && schema.any_of.is_empty();
        let is_closed = goes_deeper && schema.additional == Additional::Forbidden;
        let required: Vec<Json> = schema
            .required
            .iter()
            .map(|name| self.keys.wire(name))
            .filter(|name| !is_closed || properties.contains(name))
            .map(Json::from)
            .collect();
        if !properties.is_empty() || shows_empty {
            fields.insert("properties", properties);
        }
        if !required.is_empty() {
            fields.insert("required", required);
        }
        match &schema.additional {
            Additional::Of(further) if goes_deeper => {
                let further = self.write(further, depth + 1);
                fields.insert("additionalProperties", further);
            }
            Additional::Forbidden if goes_deeper => fields.insert("additionalProperties", false),
            Additional::Allowed => fields.insert("additionalProperties", true),
            _ => {}
        }
        counts(
            &schema.properties_count,
            "minProperties",
            "maxProperties",
            fields,
        );
    }
}

fn kinds(kinds: Kinds) -> Json {
    let mut names: Vec<Json> = kinds.single().map(|(_, name)| name.into()).collect();
    match names.len() {
        1 => names.remove(0),
        _ => names.into(),
    }
}

fn annotations(schema: &Schema, fields: &mut Fields) {
    if let Some(title) = &schema.title {
        fields.insert("title", title.clone());
    }
    if let Some(description) = described(schema.description.as_deref(), &schema.remarks) {
        fields.insert("description", description);
    }
    if let Some(default) = &schema.default {
        fields.insert("default", default.clone());
    }
    if let Some(examples) = &schema.examples {
        fields.insert("examples", examples.clone());
    }
}

fn strings(schema: &Schema, fields: &mut Fields) {
    counts(&schema.length, "minLength", "maxLength", fields);
    for (keyword, text) in [("pattern", &schema.pattern), ("format", &schema.format)] {
        if let Some(text) = text {
            fields.insert(keyword, text.clone());
        }
    }
}

fn numbers(schema: &Schema, fields: &mut Fields) {
    let limits = [
        ("minimum", &schema.range.min),
        ("maximum", &schema.range.max),
        ("exclusiveMinimum", &schema.exclusive_range.min),
        ("exclusiveMaximum", &schema.exclusive_range.max),
        ("multipleOf", &schema.multiple_of),
    ];
    for (keyword, limit) in limits {
        if let Some(limit) = limit {
            fields.insert(keyword, limit.clone());
        }
    }
}

fn counts(range: &Range<u64>, min: &str, max: &str, fields: &mut Fields) {
    for (keyword, limit) in [(min, range.min), (max, range.max)] {
        if let Some(limit) = limit {
            fields.insert(keyword, limit);
        }
    }
}

/// Returns the description followed by the remarks.
pub(crate) fn described(description: Option<&str>, remarks: &[String]) -> Option<String> {
    if remarks.is_empty() {
        return description.map(str::to_owned);
    }
    let remarks = format!("{}.", remarks.join(". "));
    Some(match description.map(str::trim_end) {
        None | Some("") => remarks,
        Some(text) if text.ends_with(['.', '!', '?', ':']) => format!("{text} {remarks}"),
        Some(text) => format!("{text}. {remarks}"),
    })
}
