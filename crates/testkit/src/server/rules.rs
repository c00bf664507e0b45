//! Rules by which real providers refuse requests: tools, tool calls, thinking, and parameters that some
//! models do not accept.
//!
//! Written from the providers' documents and from refusals that users report, not from what our clients
//! do. Known error messages are used verbatim.

mod openai_models;

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::reply::Wire;
use super::thinking;

/// OpenAI: "up to 10 levels of nesting" (Structured Outputs, "Supported schemas").
const MAX_NESTING: usize = 10;

/// OpenAI: "total string length of all property names, definition names, enum values, and const
/// values cannot exceed 120,000 characters".
const MAX_SCHEMA_LENGTH: usize = 120_000;

const TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "object", "array", "null",
];

/// Returns why the provider of `wire` would refuse `body`, if it would.
pub fn refusal(wire: Wire, body: &Value) -> Option<String> {
    let checked = match wire {
        Wire::OpenAi => chat(body),
        Wire::Anthropic => anthropic(body),
        Wire::OpenAiResponses => responses(body),
        Wire::Gemini => gemini(body),
    };
    checked.err()
}

type Checked = Result<(), String>;

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[][..], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn plain(name: &str, further: &str) -> bool {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || further.contains(letter);
    !name.is_empty() && name.chars().all(allowed)
}

fn tool_name(place: &str, name: &str) -> Checked {
    match plain(name, "_-") && name.len() <= 64 {
        true => Ok(()),
        false => Err(format!(
            "{place}: {name:?} does not match pattern '^[a-zA-Z0-9_-]{{1,64}}$'"
        )),
    }
}

fn unique<'a>(names: impl Iterator<Item = &'a str>) -> Checked {
    let mut seen = HashSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(format!("tools: Tool names must be unique: {name}"));
        }
    }
    Ok(())
}

// Anthropic

fn anthropic(body: &Value) -> Checked {
    thinking::check(body)?;
    let tools = list(&body["tools"]);
    unique(tools.iter().map(|tool| text(&tool["name"])))?;
    for (index, tool) in tools.iter().enumerate() {
        let place = format!("tools.{index}.custom");
        tool_name(&format!("{place}.name"), text(&tool["name"]))?;
        let place = format!("{place}.input_schema");
        let schema = tool["input_schema"]
            .as_object()
            .ok_or(format!("{place}: Field required"))?;
        if schema.get("type") != Some(&"object".into()) {
            return Err(format!("{place}.type: Input should be 'object'"));
        }
        if ["oneOf", "allOf", "anyOf"]
            .iter()
            .any(|k| schema.contains_key(*k))
        {
            return Err(format!(
                "{place}: input_schema does not support oneOf, allOf, or anyOf at the top level"
            ));
        }
        json_schema(&place, &tool["input_schema"], 0)?;
    }
    let mut ids = HashSet::new();
    for message in list(&body["messages"]) {
        for block in list(&message["content"]) {
            match text(&block["type"]) {
                "tool_use" => {
                    let id = text(&block["id"]);
                    if !plain(id, "_-") || id.len() > 64 {
                        return Err(format!(
                            "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$': {id}"
                        ));
                    }
                    if !ids.insert(id) {
                        return Err("messages: `tool_use` ids must be unique".to_owned());
                    }
                    tool_name("tool_use.name", text(&block["name"]))?;
                    if !block["input"].is_object() {
                        return Err("tool_use.input: Input should be a valid dictionary".to_owned());
                    }
                }
                "tool_result" if !ids.contains(text(&block["tool_use_id"])) => {
                    return Err("unexpected `tool_use_id` found in `tool_result`".to_owned());
                }
                _ => {}
            }
        }
    }
    Ok(())
}

// OpenAI

fn chat(body: &Value) -> Checked {
    openai_models::chat(body)?;
    let tools: Vec<&Value> = list(&body["tools"])
        .iter()
        .map(|t| &t["function"])
        .collect();
    functions(&tools)?;
    let model = text(&body["model"]).to_ascii_lowercase();
    let is_mistral = model.contains("mistral") || model.contains("codestral");
    let fits = |id: &str| match is_mistral {
        true => plain(id, "") && id.len() == 9,
        false => (1..=40).contains(&id.chars().count()),
    };
    let mut calls: Vec<&str> = Vec::new();
    for message in list(&body["messages"]) {
        for call in list(&message["tool_calls"]) {
            let id = text(&call["id"]);
            if !fits(id) {
                return Err(match is_mistral {
                    true => format!(
                        "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."
                    ),
                    false => format!(
                        "Invalid 'tool_calls[0].id': string too long. Expected a string with \
                         maximum length 40: {id}"
                    ),
                });
            }
            calls.push(id);
            tool_name("tool_calls.function.name", text(&call["function"]["name"]))?;
        }
        if message["role"] == "tool" && !calls.contains(&text(&message["tool_call_id"])) {
            return Err("messages with role 'tool' must follow 'tool_calls'".to_owned());
        }
    }
    Ok(())
}

fn responses(body: &Value) -> Checked {
    openai_models::responses(body)?;
    let tools: Vec<&Value> = list(&body["tools"]).iter().collect();
    functions(&tools)?;
    let mut calls = HashSet::new();
    for item in list(&body["input"]) {
        let id = text(&item["call_id"]);
        match text(&item["type"]) {
            "function_call" => {
                if !(1..=64).contains(&id.chars().count()) {
                    return Err(format!(
                        "Invalid 'input[0].call_id': string too long. Expected a string with \
                         maximum length 64: {id}"
                    ));
                }
                calls.insert(id);
                tool_name("input.name", text(&item["name"]))?;
            }
            "function_call_output" if !calls.contains(id) => {
                return Err(format!("No tool call found for function call output {id}"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn functions(tools: &[&Value]) -> Checked {
    if tools.len() > 128 {
        return Err("Invalid 'tools': array too long. Expected maximum length 128".to_owned());
    }
    unique(tools.iter().map(|tool| text(&tool["name"])))?;
    for tool in tools {
        let name = text(&tool["name"]);
        tool_name("tools.function.name", name)?;
        if text(&tool["description"]).chars().count() > 1024 {
            return Err(format!(
                "Invalid description of {name}: string too long. Expected maximum length 1024"
            ));
        }
        let parameters = &tool["parameters"];
        let refused = ["oneOf", "anyOf", "allOf", "enum", "not"];
        let is_object = parameters["type"] == "object";
        if !is_object
            || refused
                .iter()
                .any(|keyword| parameters.get(keyword).is_some())
        {
            return Err(format!(
                "Invalid schema for function '{name}': schema must have type 'object' and not \
                 have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
            ));
        }
        let place = format!("Invalid schema for function '{name}': ");
        json_schema(&place, parameters, 0)?;
        complete(&place, parameters)?;
    }
    Ok(())
}

/// Checks what OpenAI requires beyond a valid schema.
fn complete(place: &str, schema: &Value) -> Checked {
    let has = |kind: &str| {
        schema["type"] == kind || list(&schema["type"]).iter().any(|named| named == kind)
    };
    if has("array") && schema.get("items").is_none() {
        return Err(format!("{place}: array schema missing items"));
    }
    if schema["type"] == "object" && schema.get("properties").is_none() {
        return Err(format!("{place}: object schema missing properties"));
    }
    each(schema, |keyword, within| {
        complete(&format!("{place}.{keyword}"), within)
    })
}

/// Calls `check` for each direct subschema of `schema`.
fn each(schema: &Value, mut check: impl FnMut(&str, &Value) -> Checked) -> Checked {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        check(name, property)?;
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(within) = schema.get(keyword).filter(|within| within.is_object()) {
            check(keyword, within)?;
        }
    }
    for choice in list(&schema["anyOf"]) {
        check("anyOf", choice)?;
    }
    Ok(())
}

/// Checks that `schema` is a JSON Schema of draft 2020-12 without references, with keys that Anthropic
/// accepts, and not nested deeper than OpenAI accepts.
fn json_schema(place: &str, schema: &Value, depth: usize) -> Checked {
    let invalid = |what: &str| {
        Err(format!(
            "{place}: JSON schema is invalid. It must match JSON Schema draft 2020-12: {what}"
        ))
    };
    if depth == 0 && schema.to_string().len() > MAX_SCHEMA_LENGTH {
        return Err(format!("{place}: schema too long"));
    }
    if depth > MAX_NESTING {
        return Err(format!("{place}: nested deeper than {MAX_NESTING} levels"));
    }
    let fields = match schema {
        Value::Bool(_) if depth > 0 => return Ok(()),
        Value::Object(fields) => fields,
        _ => return invalid("not a schema"),
    };
    if fields
        .keys()
        .any(|keyword| keyword.contains("$ref") || keyword.contains("Ref"))
    {
        return Err(format!("{place}: references are not supported"));
    }
    if let Some(kind) = fields.get("type") {
        let names: Vec<&Value> = match kind {
            Value::Array(names) if !names.is_empty() => names.iter().collect(),
            Value::Array(_) => return invalid("type"),
            name => vec![name],
        };
        let distinct: HashSet<String> = names.iter().map(|name| name.to_string()).collect();
        let known = |name: &&Value| TYPES.contains(&text(name));
        if distinct.len() != names.len() || !names.iter().all(known) {
            return invalid("type");
        }
    }
    keywords(fields).or_else(|keyword| invalid(&keyword))?;
    for name in fields
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Map::keys)
    {
        if !plain(name, "_.-") || name.len() > 64 {
            return Err(format!(
                "{place}.properties: Property keys should match pattern \
                 '^[a-zA-Z0-9_.-]{{1,64}}$': {name:?}"
            ));
        }
    }
    each(schema, |keyword, within| {
        json_schema(&format!("{place}.{keyword}"), within, depth + 1)
    })
}

/// Checks the values of keywords; the error is the name of an invalid one.
fn keywords(fields: &Map<String, Value>) -> Result<(), String> {
    for (keyword, value) in fields {
        let is_count = value.as_u64().is_some();
        let good = match keyword.as_str() {
            "type" => true,
            "title" | "description" | "format" | "pattern" | "$schema" | "$id" | "$comment" => {
                value.is_string()
            }
            "properties" => value.is_object(),
            "items" | "additionalProperties" => value.is_object() || value.is_boolean(),
            "required" => strings(value),
            "enum" | "examples" => value.is_array(),
            "anyOf" => !list(value).is_empty(),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" => is_count,
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "multipleOf" => value.as_f64().is_some_and(|number| number > 0.0),
            "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
            "default" | "const" => true,
            // Other keywords are refused by some compatible servers.
            _ => false,
        };
        if !good {
            return Err(keyword.clone());
        }
    }
    Ok(())
}

/// Returns whether `value` is a list of distinct strings.
fn strings(value: &Value) -> bool {
    let distinct: HashSet<&str> = list(value).iter().filter_map(Value::as_str).collect();
    value
        .as_array()
        .is_some_and(|list| list.len() == distinct.len())
}

// Gemini

fn gemini(body: &Value) -> Checked {
    let tools: Vec<&Value> = list(&body["tools"])
        .iter()
        .flat_map(|tool| list(&tool["functionDeclarations"]))
        .collect();
    unique(tools.iter().map(|tool| text(&tool["name"])))?;
    for (index, tool) in tools.iter().enumerate() {
        let place = format!("GenerateContentRequest.tools[0].function_declarations[{index}]");
        function_name(&format!("{place}.name"), text(&tool["name"]))?;
        let Some(parameters) = tool.get("parameters") else {
            continue;
        };
        let place = format!("{place}.parameters");
        if parameters["type"] != "object" {
            return Err(format!("{place}.type: must be OBJECT"));
        }
        if parameters.get("properties").is_none() {
            return Err(format!(
                "{place}.properties: should be non-empty for OBJECT type"
            ));
        }
        gemini_schema(&place, parameters, 0)?;
    }
    for content in list(&body["contents"]) {
        for part in list(&content["parts"]) {
            for call in ["functionCall", "functionResponse"] {
                if let Some(call) = part.get(call) {
                    function_name("contents.parts.name", text(&call["name"]))?;
                }
            }
        }
    }
    Ok(())
}

fn function_name(place: &str, name: &str) -> Checked {
    let begins = |first: char| first.is_ascii_alphabetic() || first == '_';
    match plain(name, "_.-") && name.len() <= 64 && name.starts_with(begins) {
        true => Ok(()),
        false => Err(format!(
            "{place}: Invalid function name. Must start with a letter or an underscore. Must be \
             alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum \
             length of 64: {name:?}"
        )),
    }
}

fn gemini_schema(place: &str, schema: &Value, depth: usize) -> Checked {
    let fields = schema
        .as_object()
        .ok_or(format!("{place}: Invalid value"))?;
    if depth > MAX_NESTING {
        return Err(format!(
            "{place}: exceeds the maximum allowed nesting depth"
        ));
    }
    if let Some(choices) = fields.get("anyOf") {
        if fields.len() > 1 {
            return Err(format!(
                "{place}: when using any_of, it must be the only field set"
            ));
        }
        if list(choices).is_empty() {
            return Err(format!("{place}.any_of: should be non-empty"));
        }
        for choice in list(choices) {
            gemini_schema(&format!("{place}.any_of"), choice, depth)?;
        }
        return Ok(());
    }
    let kind = text(&schema["type"]);
    if !TYPES.contains(&kind) || kind == "null" {
        return Err(format!("{place}.type: Invalid value {kind:?}"));
    }
    for (field, value) in fields {
        let is_count = value.as_i64().is_some_and(|count| count >= 0);
        let good = match field.as_str() {
            "type" => true,
            "title" | "description" => value.is_string(),
            "pattern" => kind == "string" && value.is_string(),
            "format" => match kind {
                "string" => ["enum", "date-time"].contains(&text(value)),
                "integer" => ["int32", "int64"].contains(&text(value)),
                "number" => ["float", "double"].contains(&text(value)),
                _ => false,
            },
            "nullable" => value.is_boolean(),
            "enum" => kind == "string" && strings(value) && !list(value).contains(&"".into()),
            "minLength" | "maxLength" => kind == "string" && is_count,
            "minItems" | "maxItems" => kind == "array" && is_count,
            "items" => kind == "array",
            "minProperties" | "maxProperties" => kind == "object" && is_count,
            "properties" => kind == "object" && value.as_object().is_some_and(|p| !p.is_empty()),
            "required" => {
                let declared = |name: &Value| schema["properties"].get(text(name)).is_some();
                kind == "object" && strings(value) && list(value).iter().all(declared)
            }
            "minimum" | "maximum" => ["integer", "number"].contains(&kind) && value.is_number(),
            _ => {
                return Err(format!(
                    "Unknown name \"{field}\" at '{place}': Cannot find field."
                ));
            }
        };
        if !good {
            return Err(format!("{place}.{field}: Invalid value {value}"));
        }
    }
    if kind == "array" && schema.get("items").is_none() {
        return Err(format!("{place}.items: missing field."));
    }
    each(schema, |field, within| {
        gemini_schema(&format!("{place}.{field}"), within, depth + 1)
    })
}
