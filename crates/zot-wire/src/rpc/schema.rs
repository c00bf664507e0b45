//! The protocol as a JSON Schema, from which types can be generated.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::{
    Command, CommandsData, Event, ExtensionsData, FullMessagesData, HelloData, InvokedData,
    McpData, MessagesData, ModelData, ModelsData, PongData, ReasoningData, RequestId, Response,
    SandboxData, SetMessagesData, StartedData, StateData, SteeredData, SubscribedData, ToolsData,
    UsageData,
};

/// One schema document. A line is a `Command`, a `Response` or an `Event`; `Response` has one
/// variant per command, distinguished by `command`, and one for every failure.
pub fn json_schema() -> Value {
    // `skip_serializing_if` marks the fields that may be missing.
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut generator = SchemaGenerator::new(settings.with_transform(leave_out_null));
    generator.subschema_for::<Event>();
    generator.subschema_for::<RequestId>();
    let responses = responses(&mut generator);
    let command = command(&mut generator);
    let mut definitions = generator.take_definitions(true);
    allow_images_alone(&mut definitions);
    let variants: Vec<Value> = responses.iter().map(|(name, _)| reference(name)).collect();
    definitions.extend(responses);
    definitions.insert("Command".to_owned(), command);
    definitions.insert(
        "Response".to_owned(),
        json!({ "description": "The response to one command.", "anyOf": variants }),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "zot rpc",
        "description": "One JSON object per line. Client to server: Command. Server to client: a \
                        Response per command, and Events. Fields, commands and events may be \
                        added; ignore those you do not know.",
        "oneOf": [reference("Command"), reference("Response"), reference("Event")],
        "$defs": definitions,
    })
}

fn responses(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let mut variants = Map::new();
    let mut add = |command: &str, schema: Value| {
        variants.insert(format!("{}Response", in_camel_case(command)), schema);
    };
    add("hello", success::<HelloData>(generator, "hello"));
    add("prompt", success::<StartedData>(generator, "prompt"));
    add("abort", success::<()>(generator, "abort"));
    add("compact", success::<StartedData>(generator, "compact"));
    add("get_state", success::<StateData>(generator, "get_state"));
    add(
        "get_messages",
        success::<MessagesData>(generator, "get_messages"),
    );
    add(
        "get_messages_full",
        success::<FullMessagesData>(generator, "get_messages"),
    );
    add(
        "set_messages",
        success::<SetMessagesData>(generator, "set_messages"),
    );
    add(
        "set_reasoning",
        success::<ReasoningData>(generator, "set_reasoning"),
    );
    add("set_tools", success::<ToolsData>(generator, "set_tools"));
    add("get_tools", success::<ToolsData>(generator, "get_tools"));
    add(
        "set_sandbox",
        success::<SandboxData>(generator, "set_sandbox"),
    );
    add(
        "set_system_prompt",
        success::<()>(generator, "set_system_prompt"),
    );
    add("get_usage", success::<UsageData>(generator, "get_usage"));
    add("get_mcp", success::<McpData>(generator, "get_mcp"));
    add("steer", success::<SteeredData>(generator, "steer"));
    add(
        "prompt_steered",
        success::<SteeredData>(generator, "prompt"),
    );
    add("confirm", success::<()>(generator, "confirm"));
    add("answer", success::<()>(generator, "answer"));
    add(
        "subscribe",
        success::<SubscribedData>(generator, "subscribe"),
    );
    add(
        "get_commands",
        success::<CommandsData>(generator, "get_commands"),
    );
    add(
        "invoke_command",
        success::<InvokedData>(generator, "invoke_command"),
    );
    add(
        "reload_ext",
        success::<ExtensionsData>(generator, "reload_ext"),
    );
    add("panel_key", success::<()>(generator, "panel_key"));
    add("panel_resize", success::<()>(generator, "panel_resize"));
    add("panel_close", success::<()>(generator, "panel_close"));
    add("clear", success::<()>(generator, "clear"));
    add("set_model", success::<ModelData>(generator, "set_model"));
    add("get_models", success::<ModelsData>(generator, "get_models"));
    add("ping", success::<PongData>(generator, "ping"));
    add("failure", failure(generator));
    variants
}

/// The schema of the response to a successful `command`.
fn success<T: JsonSchema>(generator: &mut SchemaGenerator, command: &str) -> Value {
    let mut schema = envelope::<T>(generator);
    schema["description"] = json!(format!("`{command}` succeeded."));
    schema["properties"]["command"]["const"] = json!(command);
    schema["properties"]["success"]["const"] = json!(true);
    remove_property(&mut schema, "error");
    remove_property(&mut schema, "code");
    if schema["properties"]["data"]["type"] == "null" {
        remove_property(&mut schema, "data");
    } else {
        require(&mut schema, "data");
    }
    schema
}

/// The schema of the response to a command that failed, or to a line that is not a command.
fn failure(generator: &mut SchemaGenerator) -> Value {
    let mut schema = envelope::<()>(generator);
    schema["description"] = json!("A command failed, or a line is not a command.");
    schema["properties"]["command"]["description"] =
        json!("Unchanged; empty if the line names none.");
    schema["properties"]["success"]["const"] = json!(false);
    remove_property(&mut schema, "data");
    require(&mut schema, "error");
    schema
}

/// The common fields of all responses, with the data of one.
fn envelope<T: JsonSchema>(generator: &mut SchemaGenerator) -> Value {
    let mut schema = Response::<T>::json_schema(generator);
    leave_out_null(&mut schema);
    let mut schema = schema.to_value();
    // schemars ignores serde's tag on a struct.
    schema["properties"]["type"] = json!({ "type": "string", "const": "response" });
    require(&mut schema, "type");
    schema
}

/// The schema of commands, each with an `id`.
fn command(generator: &mut SchemaGenerator) -> Value {
    let mut schema = Command::json_schema(generator);
    leave_out_null(&mut schema);
    let mut schema = schema.to_value();
    let variants = schema["oneOf"].as_array_mut();
    for variant in variants.into_iter().flatten() {
        let mut id = reference("RequestId");
        id["description"] = json!("Echoed by the response.");
        variant["properties"]["id"] = id;
    }
    schema
}

/// A prompt may consist of images only, which the Rust type cannot express.
fn allow_images_alone(definitions: &mut Map<String, Value>) {
    if let Some(Value::Object(prompt)) = definitions.get_mut("PromptCommand") {
        prompt.remove("required");
        let either = json!([{ "required": ["message"] }, { "required": ["images"] }]);
        prompt.insert("anyOf".to_owned(), either);
    }
}

/// A field that is left out when it is empty is never null.
fn leave_out_null(schema: &mut Schema) {
    schemars::transform::transform_subschemas(&mut leave_out_null, schema);
    let Some(object) = schema.as_object_mut() else {
        return;
    };
    let required = object.get("required").cloned().unwrap_or_default();
    let is_required = |name: &str| {
        let mut names = required.as_array().into_iter().flatten();
        names.any(|required| required == name)
    };
    let properties = object.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        if let (false, Value::Object(property)) = (is_required(name), property) {
            drop_null(property);
        }
    }
}

fn drop_null(property: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = property.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            property.remove("anyOf");
            property.extend(only);
        }
    }
}

fn require(schema: &mut Value, field: &str) {
    if let Some(required) = schema["required"].as_array_mut() {
        required.push(json!(field));
    }
}

fn remove_property(schema: &mut Value, field: &str) {
    if let Some(properties) = schema["properties"].as_object_mut() {
        properties.remove(field);
    }
}

fn reference(definition: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{definition}") })
}

fn in_camel_case(command: &str) -> String {
    command
        .split('_')
        .map(|word| {
            let (first, rest) = word.split_at(word.len().min(1));
            first.to_uppercase() + rest
        })
        .collect()
}
