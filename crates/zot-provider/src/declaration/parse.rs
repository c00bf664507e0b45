//! From JSON Schema of any draft to [`Schema`].

mod keywords;
mod references;

use super::json::{Fields, Json};
use super::schema::{Additional, Kinds, Schema};
use keywords::{annotations, kinds, limits, remarks, short_description, values};
use references::{anchored, percent_decoded};

/// How deep schemas are read. OpenAI documents ten levels of nesting for structured outputs
/// (platform.openai.com/docs/guides/structured-outputs, "Supported schemas"); no other vendor
/// documents a limit, and tools that are nested deeper are recursive ones.
///
/// Limit: deeper parts of a tool's schema allow any value.
pub(super) const MAX_SCHEMA_NESTING: usize = 10;

/// How often a definition may appear within itself.
///
/// Limit: a definition within itself allows any value from here on.
const MAX_SCHEMA_RECURSION: usize = 2;

/// How many nested references are followed; a longer chain is not a real schema.
///
/// Limit: a longer chain of references allows any value.
const MAX_OPEN_REFERENCES: usize = 32;

/// Schemas in one tool once its references are written out. OpenAI documents 5,000 properties.
///
/// Limit: the rest of a tool's schema allows any value.
pub(super) const MAX_SCHEMA_NODES: usize = 3000;

/// The longest list of values that is declared. OpenAI documents a limit from 250 values on.
///
/// Limit: a longer list of values is described instead of declared.
const MAX_DECLARED_VALUES: usize = 250;

/// The most bytes of a schema that a remark quotes.
///
/// Limit: a longer quotation is left out of the description.
pub(super) const MAX_QUOTED_SCHEMA_BYTES: usize = 300;

/// Reads `root`, the whole schema of a tool.
pub(super) fn parse(root: &Json) -> Schema {
    let mut parser = Parser {
        root,
        open: Vec::new(),
        nodes: 0,
    };
    parser.schema(root, 0)
}

struct Parser<'a> {
    root: &'a Json,
    /// The references that are being followed.
    open: Vec<&'a str>,
    nodes: usize,
}

impl<'a> Parser<'a> {
    fn schema(&mut self, json: &'a Json, depth: usize) -> Schema {
        self.nodes += 1;
        let fields = match json {
            Json::Object(fields) => fields,
            Json::Bool(false) => return Schema::never(),
            // `true`, or not a schema at all: nothing is known about the value.
            _ => return Schema::any(),
        };
        let mut schema = Schema::any();
        annotations(fields, &mut schema);
        schema.kinds = kinds(fields);
        if depth >= MAX_SCHEMA_NESTING || self.nodes >= MAX_SCHEMA_NODES {
            if let Some(described) = self.shallow(fields) {
                schema.kinds = schema.kinds.and(described);
            }
            schema.is_cut = true;
            return schema;
        }
        limits(fields, &mut schema);
        values(fields, &mut schema);
        self.object(fields, depth, &mut schema);
        self.array(fields, depth, &mut schema);
        self.reference(fields, depth, &mut schema);
        self.combinations(fields, depth, &mut schema);
        remarks(fields, &mut schema);
        if fields.get("nullable") == Some(&Json::Bool(true)) {
            // OpenAPI's word for it.
            schema.kinds = schema.kinds.or(Kinds::NULL);
            if let Some(values) = &mut schema.values
                && !values.contains(&Json::Null)
            {
                values.push(Json::Null);
            }
        }
        schema
    }

    /// Returns the types of a definition that is not read any further.
    fn shallow(&self, fields: &Fields) -> Option<Kinds> {
        let reference = fields.get("$ref").and_then(Json::as_str)?;
        let target = self.target(reference)?.as_object()?;
        Some(kinds(target))
    }

    fn object(&mut self, fields: &'a Fields, depth: usize, schema: &mut Schema) {
        let properties = fields.get("properties").and_then(Json::as_object);
        for (name, property) in properties.into_iter().flat_map(Fields::iter) {
            if *property == Json::Bool(false) {
                continue;
            }
            if self.nodes >= MAX_SCHEMA_NODES {
                schema.remark("Further properties exist");
                break;
            }
            // Draft 3 marks the property itself as required.
            let required = property
                .as_object()
                .is_some_and(|property| property.get("required") == Some(&Json::Bool(true)));
            if required {
                schema.required.push(name.to_owned());
            }
            let property = self.schema(property, depth + 1);
            schema.properties.push((name.to_owned(), property));
        }
        let required = fields.get("required").and_then(Json::as_array);
        let required = required.into_iter().flatten().filter_map(Json::as_str);
        for name in required.take(MAX_SCHEMA_NODES) {
            if !schema.required.iter().any(|known| known == name) {
                schema.required.push(name.to_owned());
            }
        }
        let further = fields
            .get("additionalProperties")
            .or_else(|| fields.get("unevaluatedProperties"));
        schema.additional = match further {
            Some(Json::Bool(false)) => Additional::Forbidden,
            Some(Json::Bool(true)) => Additional::Allowed,
            Some(further @ Json::Object(_)) => {
                Additional::Of(Box::new(self.schema(further, depth + 1)))
            }
            _ => Additional::Unspecified,
        };
        let patterns = fields.get("patternProperties").and_then(Json::as_object);
        if let Some(patterns) = patterns.filter(|patterns| !patterns.is_empty()) {
            let schemas = patterns
                .iter()
                .map(|(_, pattern)| self.schema(pattern, depth + 1))
                .collect();
            let names: Vec<&str> = patterns.iter().map(|(pattern, _)| pattern).collect();
            schema.remark(format!("Further keys match {}", names.join(" or ")));
            schema.additional = match &schema.additional {
                Additional::Forbidden => Additional::Of(Box::new(Schema::union(schemas))),
                _ => Additional::Allowed,
            };
        }
    }

    fn array(&mut self, fields: &'a Fields, depth: usize, schema: &mut Schema) {
        let (tuple, rest) = match (fields.get("prefixItems"), fields.get("items")) {
            (Some(Json::Array(tuple)), rest) => (Some(tuple), rest),
            // Before draft 2020-12.
            (_, Some(Json::Array(tuple))) => (Some(tuple), fields.get("additionalItems")),
            (_, rest) => (None, rest),
        };
        let Some(tuple) = tuple else {
            schema.items = rest.map(|items| Box::new(self.schema(items, depth + 1)));
            return;
        };
        let mut items: Vec<Schema> = Vec::new();
        for item in tuple.iter().take(MAX_DECLARED_VALUES) {
            items.push(self.schema(item, depth + 1));
        }
        let order: Vec<String> = items.iter().map(short_description).collect();
        if !order.is_empty() {
            schema.remark(format!("Items in this order: {}", order.join(", ")));
        }
        match rest {
            Some(Json::Bool(false)) => {
                schema.items_count.max.get_or_insert(tuple.len() as u64);
            }
            Some(rest @ Json::Object(_)) => items.push(self.schema(rest, depth + 1)),
            _ => {}
        }
        schema.items = Some(Box::new(match items.is_empty() {
            true => Schema::any(),
            false => Schema::union(items),
        }));
    }

    fn reference(&mut self, fields: &'a Fields, depth: usize, schema: &mut Schema) {
        let keyword = ["$ref", "$dynamicRef", "$recursiveRef"]
            .into_iter()
            .find_map(|keyword| fields.get(keyword).and_then(Json::as_str));
        let Some(reference) = keyword else {
            return;
        };
        let Some(target) = self.target(reference) else {
            schema.remark(format!("Defined by {reference}"));
            return;
        };
        let times = self.open.iter().filter(|open| **open == reference).count();
        if times >= MAX_SCHEMA_RECURSION || self.open.len() >= MAX_OPEN_REFERENCES {
            if let Some(target) = target.as_object() {
                schema.kinds = schema.kinds.and(kinds(target));
            }
            schema.is_cut = true;
            let name = reference.rsplit('/').next().unwrap_or_default();
            schema.remark(match name.trim_matches('#').is_empty() {
                true => "Has the form of the whole".to_owned(),
                false => format!("Another {name}"),
            });
            return;
        }
        self.open.push(reference);
        let found = self.schema(target, depth);
        self.open.pop();
        schema.narrow(found);
    }

    /// Resolves a reference within the schema.
    fn target(&self, reference: &str) -> Option<&'a Json> {
        let fragment = reference.strip_prefix('#')?;
        if fragment.is_empty() {
            return Some(self.root);
        }
        let Some(pointer) = fragment.strip_prefix('/') else {
            return anchored(self.root, fragment, 0);
        };
        let mut at = self.root;
        for step in pointer.split('/') {
            let step = percent_decoded(step).replace("~1", "/").replace("~0", "~");
            at = match at {
                Json::Object(fields) => fields.get(&step)?,
                Json::Array(values) => values.get(step.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(at)
    }

    fn combinations(&mut self, fields: &'a Fields, depth: usize, schema: &mut Schema) {
        let parts = fields.get("allOf").and_then(Json::as_array);
        for part in parts.into_iter().flatten() {
            if self.nodes >= MAX_SCHEMA_NODES {
                break;
            }
            let part = self.nested(part, depth);
            schema.narrow(part);
        }
        for keyword in ["anyOf", "oneOf"] {
            let choices = fields.get(keyword).and_then(Json::as_array);
            let choices = choices.filter(|choices| !choices.is_empty());
            let Some(choices) = choices else {
                continue;
            };
            let mut alternatives = Vec::new();
            for choice in choices {
                if self.nodes >= MAX_SCHEMA_NODES {
                    schema.remark("Further alternatives exist");
                    break;
                }
                alternatives.push(self.nested(choice, depth));
            }
            let mut union = Schema::union(alternatives);
            if schema.kinds != Kinds::ANY {
                // Alternatives such as `{"required": ["a"]}` inherit the outer type.
                for alternative in &mut union.any_of {
                    alternative.kinds = alternative.kinds.and(schema.kinds);
                }
                union.any_of.retain(|alternative| !alternative.is_never());
            }
            schema.narrow(union);
        }
        self.conditions(fields, depth, schema);
    }

    /// Reads a schema within a combination at the combination's own depth, since it describes the
    /// same value. Chains of combinations are bounded by the open references or the node count.
    fn nested(&mut self, json: &'a Json, depth: usize) -> Schema {
        self.schema(json, depth + usize::from(!is_merged(json)))
    }

    /// Adds properties that only a condition mentions; remarks describe when they apply.
    fn conditions(&mut self, fields: &'a Fields, depth: usize, schema: &mut Schema) {
        let dependent = fields
            .get("dependentSchemas")
            .and_then(Json::as_object)
            .into_iter()
            .flat_map(|schemas| schemas.iter().map(|(_, schema)| schema));
        let branches: Vec<&'a Json> = ["then", "else"]
            .into_iter()
            .filter_map(|keyword| fields.get(keyword))
            .chain(dependent)
            .collect();
        for branch in branches {
            let branch = self.schema(branch, depth + 1);
            for (name, property) in branch.properties {
                if schema.property(&name).is_none() {
                    schema.properties.push((name, property));
                }
            }
        }
    }
}

/// Returns whether `json` has no combinations, so that it adds no depth.
fn is_merged(json: &Json) -> bool {
    json.as_object().is_some_and(|fields| {
        !fields.contains("allOf") && !fields.contains("anyOf") && !fields.contains("oneOf")
    })
}
