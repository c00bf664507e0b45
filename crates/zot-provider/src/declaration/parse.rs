//! From JSON Schema of any draft to [`Schema`].

use std::collections::HashSet;

use super::json::{Fields, Json};
use super::schema::{Additional, Kinds, Range, Schema};

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

/// Finds the schema with the anchor or id `name`.
fn anchored<'a>(json: &'a Json, name: &str, depth: usize) -> Option<&'a Json> {
    if depth > 4 * MAX_SCHEMA_NESTING {
        return None;
    }
    match json {
        Json::Object(fields) => {
            let is_named = ["$anchor", "$dynamicAnchor", "$id", "id"]
                .iter()
                .any(|keyword| {
                    let text = fields.get(keyword).and_then(Json::as_str);
                    text.is_some_and(|text| text.trim_start_matches('#') == name)
                });
            match is_named {
                true => Some(json),
                false => fields
                    .iter()
                    .find_map(|(_, value)| anchored(value, name, depth + 1)),
            }
        }
        Json::Array(values) => values
            .iter()
            .find_map(|value| anchored(value, name, depth + 1)),
        _ => None,
    }
}

fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let decoded = (byte == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(decoded.unwrap_or(byte));
        rest = match decoded {
            Some(_) => after.get(2..).unwrap_or_default(),
            None => after,
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the types a schema names, or those its other keywords imply.
fn kinds(fields: &Fields) -> Kinds {
    let named = match fields.get("type") {
        Some(Json::String(name)) => Kinds::named(name),
        Some(Json::Array(names)) => {
            let kinds = names.iter().map(|name| match name {
                Json::String(name) => Kinds::named(name),
                // Draft 3 has schemas in the list.
                Json::Object(fields) => Some(kinds(fields)),
                _ => None,
            });
            let all: Option<Vec<Kinds>> = kinds.collect();
            all.filter(|all| !all.is_empty())
                .map(|all| all.into_iter().fold(Kinds::NONE, Kinds::or))
        }
        _ => None,
    };
    if let Some(named) = named {
        return named;
    }
    let values = match (fields.get("enum"), fields.get("const")) {
        (Some(Json::Array(values)), _) if !values.is_empty() => Some(values.as_slice()),
        (_, Some(value)) => Some(std::slice::from_ref(value)),
        _ => None,
    };
    if let Some(values) = values {
        return values.iter().map(Kinds::of).fold(Kinds::NONE, Kinds::or);
    }
    let has = |keywords: &[&str]| keywords.iter().any(|keyword| fields.contains(keyword));
    if has(&["properties", "additionalProperties", "patternProperties"]) {
        return Kinds::OBJECT;
    }
    if has(&["items", "prefixItems"]) {
        return Kinds::ARRAY;
    }
    Kinds::ANY
}

fn annotations(fields: &Fields, schema: &mut Schema) {
    let text = |keyword: &str| {
        let text = fields.get(keyword).and_then(Json::as_str)?;
        (!text.trim().is_empty()).then(|| text.to_owned())
    };
    schema.title = text("title");
    schema.description = text("description");
    schema.default = fields.get("default").cloned();
    schema.examples = match (fields.get("examples"), fields.get("example")) {
        (Some(Json::Array(examples)), _) => Some(examples.clone()),
        (_, Some(example)) => Some(vec![example.clone()]),
        _ => None,
    };
}

fn limits(fields: &Fields, schema: &mut Schema) {
    let count = |keyword: &str| fields.get(keyword).and_then(Json::as_count);
    let number = |keyword: &str| fields.get(keyword).and_then(Json::as_number).cloned();
    let counts = |min: &str, max: &str| Range {
        min: count(min),
        max: count(max),
    };
    schema.length = counts("minLength", "maxLength");
    schema.items_count = counts("minItems", "maxItems");
    schema.properties_count = counts("minProperties", "maxProperties");
    schema.unique_items = fields.get("uniqueItems") == Some(&Json::Bool(true));
    schema.range = Range {
        min: number("minimum"),
        max: number("maximum"),
    };
    schema.exclusive_range = Range {
        min: number("exclusiveMinimum"),
        max: number("exclusiveMaximum"),
    };
    // Draft 4 has a flag next to the limit.
    if fields.get("exclusiveMinimum") == Some(&Json::Bool(true)) {
        schema.exclusive_range.min = schema.range.min.take();
    }
    if fields.get("exclusiveMaximum") == Some(&Json::Bool(true)) {
        schema.exclusive_range.max = schema.range.max.take();
    }
    let positive = |number: &serde_json::Number| number.as_f64().is_some_and(|number| number > 0.0);
    schema.multiple_of = number("multipleOf").filter(positive);
    let text = |keyword: &str| {
        fields
            .get(keyword)
            .and_then(Json::as_str)
            .map(str::to_owned)
    };
    schema.pattern = text("pattern");
    schema.format = text("format");
}

fn values(fields: &Fields, schema: &mut Schema) {
    let mut values = match (fields.get("enum"), fields.get("const")) {
        (_, Some(value)) => vec![value.clone()],
        (Some(Json::Array(values)), _) if !values.is_empty() => values.clone(),
        _ => return,
    };
    let mut seen = HashSet::new();
    values.retain(|value| seen.insert(value.text()));
    // Where type and values contradict each other, the author probably meant the values.
    let possible = |value: &Json, kinds: Kinds| kinds.meets(Kinds::of(value));
    if values.iter().any(|value| possible(value, schema.kinds)) {
        values.retain(|value| possible(value, schema.kinds));
    }
    schema.kinds = values.iter().map(Kinds::of).fold(Kinds::NONE, Kinds::or);
    if values.len() > MAX_DECLARED_VALUES {
        let first: Vec<String> = values.iter().take(20).map(Json::text).collect();
        schema.remark(format!(
            "One of {} values, such as {}",
            values.len(),
            first.join(", ")
        ));
        return;
    }
    schema.values = Some(values);
}

/// Adds remarks for keywords that no wire accepts.
fn remarks(fields: &Fields, schema: &mut Schema) {
    let mut quote = |lead: &str, value: &Json| {
        let text = value.text();
        if text.len() <= MAX_QUOTED_SCHEMA_BYTES {
            schema.remark(format!("{lead} {text}"));
        }
    };
    if let Some(not) = fields.get("not") {
        quote("Must not match the JSON Schema", not);
    }
    if let Some(condition) = fields.get("if") {
        quote("When it matches", condition);
        for (keyword, lead) in [("then", "then it must match"), ("else", "otherwise")] {
            if let Some(branch) = fields.get(keyword) {
                quote(lead, branch);
            }
        }
    }
    for keyword in ["dependentRequired", "dependencies"] {
        if let Some(value) = fields.get(keyword) {
            quote("Keys that need others:", value);
        }
    }
    if let Some(names) = fields.get("propertyNames") {
        quote("Keys match the JSON Schema", names);
    }
    if let Some(contained) = fields.get("contains") {
        quote("At least one item matches the JSON Schema", contained);
    }
}

/// Describes an item of a tuple for a remark.
fn short_description(schema: &Schema) -> String {
    let names: Vec<&str> = schema.kinds.single().map(|(_, name)| name).collect();
    let kind = match schema.kinds {
        Kinds::ANY => "any value".to_owned(),
        _ => names.join(" or "),
    };
    match schema.title.as_ref().or(schema.description.as_ref()) {
        Some(text) => format!("{kind} ({text})"),
        None => kind,
    }
}
