//! Declares tools in the form a provider accepts, and translates its tool calls back.
//!
//! Tools come from extensions and other programs, with any JSON Schema and any name. Providers
//! refuse a whole request because of one invalid declaration, so each declaration is written in the
//! part of JSON Schema that its wire accepts, names and keys are adapted, and a tool that cannot be
//! declared is left out. Schemas that need no change are sent byte for byte.

mod arguments;
mod gemini;
pub(crate) mod json;
mod keys;
mod kinds;
mod parse;
mod restore;
mod schema;
#[cfg(test)]
mod tests;
mod write;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use zot_conversation::{Arguments, ToolDefinition};

use arguments::Direction;
use json::{Fields, Json};
use keys::{Keys, Names, Rule};
use schema::{Kinds, Schema};
use write::{EmptyObjects, Writer, described};

pub(crate) use restore::Restoring;

/// The largest schema of one tool. OpenAI documents 120,000 characters for all strings of one.
///
/// Limit: the schema is declared less deeply; if that does not help, the tool is left out.
const MAX_DECLARED_SCHEMA_BYTES: usize = 100_000;

/// The depths at which a schema is tried, until it is small enough.
const SHALLOWER: [usize; 4] = [parse::MAX_SCHEMA_NESTING, 5, 3, 1];

/// OpenAI's limit: "Expected an array with maximum length 128".
///
/// Limit: later tools are left out.
const MAX_OPENAI_TOOLS: usize = 128;

/// OpenAI's limit for a function's description: "Expected a string with maximum length 1024".
///
/// Limit: the rest moves into the description of the parameters.
const MAX_OPENAI_DESCRIPTION_CHARACTERS: usize = 1024;

/// The rules of a wire for declarations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// "input_schema does not support oneOf, allOf, or anyOf at the top level"; references are
    /// refused, and "JSON schema is invalid. It must match JSON Schema draft 2020-12".
    Anthropic,
    /// "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the
    /// top level", on both of OpenAI's wires.
    OpenAi,
    /// `Schema` of Google's API, a subset of OpenAPI 3.0 (ai.google.dev/api/caching#Schema).
    Gemini,
}

impl Dialect {
    fn names(self) -> Rule {
        match self {
            Self::Anthropic | Self::OpenAi => Rule::Tool,
            Self::Gemini => Rule::Function,
        }
    }
}

/// One tool as it is declared on a wire.
#[derive(Debug)]
pub(crate) struct Declaration {
    /// Its name on the wire.
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Parameters,
}

#[derive(Debug)]
pub(crate) enum Parameters {
    Original(Arc<ToolDefinition>),
    Written(Json),
    /// The tool takes no arguments; Gemini requires the field to be absent.
    Absent,
}

impl Parameters {
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }
}

impl Serialize for Parameters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Original(tool) => tool.parameters.serialize(serializer),
            Self::Written(schema) => schema.serialize(serializer),
            Self::Absent => serializer.serialize_none(),
        }
    }
}

/// The names of a conversation's tools and arguments on a wire.
#[derive(Debug, PartialEq)]
pub(crate) struct Naming {
    rule: Rule,
    tools: Names,
    /// Only tools with renamed keys, by their original names.
    keys: HashMap<String, RenamedKeys>,
}

#[derive(Debug, PartialEq)]
struct RenamedKeys {
    schema: Schema,
    keys: Keys,
}

impl Naming {
    fn is_plain(&self) -> bool {
        self.tools.is_empty() && self.keys.is_empty()
    }

    /// Returns the wire's name of the tool `name`.
    pub(crate) fn tool<'a>(&'a self, name: &'a str) -> Cow<'a, str> {
        let known = self.tools.wire(name);
        match self.rule.accepts(known) {
            true => Cow::Borrowed(known),
            // A tool that no longer exists.
            false => Cow::Owned(self.rule.stand_in(known)),
        }
    }

    /// Returns the arguments of a call of the tool `name`, a JSON object, with the keys of the
    /// wire.
    pub(crate) fn arguments<'a>(&self, name: &str, arguments: &'a Arguments) -> WireArguments<'a> {
        let renamed = self.keys.get(name).and_then(|renamed| {
            let text = arguments.json_or_empty();
            let text = arguments::renamed(text, &renamed.schema, &renamed.keys, Direction::ToWire)?;
            RawValue::from_string(text).ok()
        });
        renamed.map_or(WireArguments::Same(arguments), WireArguments::Renamed)
    }

    fn original_tool<'a>(&'a self, wire: &'a str) -> &'a str {
        self.tools.original(wire)
    }

    fn renames_keys(&self, tool: &str) -> bool {
        self.keys.contains_key(tool)
    }

    /// Returns the arguments that a model wrote for the tool `name`, with their original keys.
    fn original_arguments(&self, name: &str, text: String) -> String {
        let renamed = self.keys.get(name).and_then(|renamed| {
            arguments::renamed(&text, &renamed.schema, &renamed.keys, Direction::ToOriginal)
        });
        renamed.unwrap_or(text)
    }
}

/// The arguments of a call with the keys of the wire.
pub(crate) enum WireArguments<'a> {
    Same(&'a Arguments),
    Renamed(Box<RawValue>),
}

impl WireArguments<'_> {
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Same(arguments) => arguments.json_or_empty(),
            Self::Renamed(object) => object.get(),
        }
    }
}

/// Serialises as an object; `text` is for wires that expect a string.
impl Serialize for WireArguments<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Same(arguments) => crate::json::object(arguments, serializer),
            Self::Renamed(object) => object.serialize(serializer),
        }
    }
}

/// The declarations of a list of tools.
#[derive(Debug)]
pub(crate) struct Declarations {
    pub(crate) tools: Vec<Declaration>,
    pub(crate) naming: Arc<Naming>,
    /// Notices for people: which tools are left out, and why.
    notices: Vec<String>,
    are_taken: AtomicBool,
}

impl Declarations {
    pub(crate) fn new(dialect: Dialect, provider: &str, tools: &[Arc<ToolDefinition>]) -> Self {
        let is_openai = dialect == Dialect::OpenAi && provider.starts_with("openai");
        let names = Names::new(dialect.names(), tools.iter().map(|tool| tool.name.as_str()));
        let mut declared = Vec::new();
        let mut keys = HashMap::new();
        let mut notices = Vec::new();
        for tool in tools {
            if is_openai && declared.len() == MAX_OPENAI_TOOLS {
                let reason = format!("{provider} takes at most {MAX_OPENAI_TOOLS} tools");
                notices.push(left_out(&tool.name, provider, &reason));
                continue;
            }
            match declare(dialect, tool) {
                Err(reason) => notices.push(left_out(&tool.name, provider, reason)),
                Ok((mut declaration, renamed)) => {
                    declaration.name = names.wire(&tool.name).to_owned();
                    if is_openai {
                        declaration.shorten_description();
                    }
                    declared.push(declaration);
                    if let Some(renamed) = renamed {
                        keys.insert(tool.name.clone(), renamed);
                    }
                }
            }
        }
        Self {
            tools: declared,
            naming: Arc::new(Naming {
                rule: dialect.names(),
                tools: names,
                keys,
            }),
            notices,
            are_taken: AtomicBool::new(false),
        }
    }

    /// Returns the declarations for a request that offers `tools`: all of them, or none.
    pub(crate) fn of(&self, tools: &[Arc<ToolDefinition>]) -> &[Declaration] {
        match tools.is_empty() {
            true => &[],
            false => &self.tools,
        }
    }

    /// Returns the notices on the first call, and nothing afterwards.
    fn take_notices(&self) -> &[String] {
        match self.are_taken.swap(true, Ordering::Relaxed) {
            true => &[],
            false => &self.notices,
        }
    }
}

fn left_out(tool: &str, provider: &str, reason: &str) -> String {
    format!("the tool {tool:?} is not offered to {provider}: {reason}")
}

/// Returns the declaration of one tool under its original name, and its renamed keys; or why it
/// cannot be declared.
fn declare(
    dialect: Dialect,
    tool: &Arc<ToolDefinition>,
) -> Result<(Declaration, Option<RenamedKeys>), &'static str> {
    let source = Json::parse(tool.parameters.get())
        .ok_or("its parameters are not JSON, or nested too deep to be read")?;
    if matches!(source, Json::Number(_) | Json::String(_) | Json::Array(_)) {
        return Err("its parameters are not a JSON Schema");
    }
    let mut schema = parse::parse(&source).flattened();
    if !schema.kinds.meets(Kinds::OBJECT) || schema.is_never() {
        return Err("its parameters are not an object, so no arguments can fit them");
    }
    schema.kinds = Kinds::OBJECT;
    if schema.values.take().is_some() {
        schema.remark("Only certain combinations of arguments are allowed");
    }
    let keys = keys::keys(&schema);
    let remarks = std::mem::take(&mut schema.remarks);
    let parameters = SHALLOWER
        .into_iter()
        .map(|depth| write(dialect, &schema, &keys, depth))
        .find(|written| written.text().len() <= MAX_DECLARED_SCHEMA_BYTES)
        .ok_or("its parameters are too large")?;
    let parameters = match &parameters {
        Json::Object(fields) if dialect == Dialect::Gemini && !fields.contains("properties") => {
            Parameters::Absent
        }
        written if dialect != Dialect::Gemini && written.equals(&source) => {
            Parameters::Original(Arc::clone(tool))
        }
        _ => Parameters::Written(parameters),
    };
    let description = described(Some(&tool.description), &remarks).unwrap_or_default();
    let declaration = Declaration {
        name: tool.name.clone(),
        description,
        parameters,
    };
    let renamed = (!keys.is_empty()).then_some(RenamedKeys { schema, keys });
    Ok((declaration, renamed))
}

fn write(dialect: Dialect, schema: &Schema, keys: &Keys, max_depth: usize) -> Json {
    match dialect {
        Dialect::Anthropic => Writer::new(keys, EmptyObjects::Unchanged, max_depth).root(schema),
        Dialect::OpenAi => Writer::new(keys, EmptyObjects::WithProperties, max_depth).root(schema),
        Dialect::Gemini => gemini::Writer::new(keys, max_depth).root(schema),
    }
}

impl Declaration {
    /// Moves the end of a long description to that of the parameters, which has no limit.
    fn shorten_description(&mut self) {
        let length = self.description.chars().count();
        if length <= MAX_OPENAI_DESCRIPTION_CHARACTERS {
            return;
        }
        let cut = self
            .description
            .char_indices()
            .take(MAX_OPENAI_DESCRIPTION_CHARACTERS)
            .filter(|(_, letter)| letter.is_whitespace())
            .last()
            .map_or_else(
                || byte_of(&self.description, MAX_OPENAI_DESCRIPTION_CHARACTERS),
                |(at, _)| at,
            );
        let rest = self.description.split_off(cut);
        let mut parameters = match &self.parameters {
            Parameters::Written(Json::Object(fields)) => fields.clone(),
            Parameters::Original(tool) => match Json::parse(tool.parameters.get()) {
                Some(Json::Object(fields)) => fields,
                _ => Fields::default(),
            },
            _ => Fields::default(),
        };
        let known = parameters.get("description").and_then(Json::as_str);
        let rest = match known {
            Some(known) => format!("{} {known}", rest.trim_start()),
            None => rest.trim_start().to_owned(),
        };
        parameters.insert("description", rest);
        self.parameters = Parameters::Written(parameters.into());
    }
}

/// Returns the byte offset of the character with index `count`.
fn byte_of(text: &str, count: usize) -> usize {
    text.char_indices()
        .nth(count)
        .map_or(text.len(), |(at, _)| at)
}

/// Caches the declarations of the latest list of tools.
#[derive(Debug, Default)]
pub(crate) struct DeclarationCache {
    tools: Vec<Arc<ToolDefinition>>,
    made: Option<Arc<Declarations>>,
}

impl DeclarationCache {
    /// Returns the declarations of `tools`. Without tools the previous ones remain: a side question has
    /// no tools, but its messages still name them.
    pub(crate) fn get(
        &mut self,
        dialect: Dialect,
        provider: &str,
        tools: &[Arc<ToolDefinition>],
    ) -> Arc<Declarations> {
        let same = self.tools.len() == tools.len()
            && self
                .tools
                .iter()
                .zip(tools)
                .all(|(kept, asked)| Arc::ptr_eq(kept, asked));
        if let Some(made) = &self.made
            && (same || tools.is_empty())
        {
            return Arc::clone(made);
        }
        let mut made = Declarations::new(dialect, provider, tools);
        if let Some(before) = &self.made
            && before.naming == made.naming
        {
            made.naming = Arc::clone(&before.naming);
        }
        let made = Arc::new(made);
        self.made = Some(Arc::clone(&made));
        self.tools = tools.to_vec();
        made
    }
}
