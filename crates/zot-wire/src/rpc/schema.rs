//! The protocol as a JSON Schema, for people who generate types from it.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::{
    Command, Event, HelloData, MessagesData, ModelData, ModelsData, PongData, RequestId, Response,
    StartedData, StateData,
};

/// One schema document: `Command`, `Response…` and `Event` under `$defs`.
pub fn json_schema() -> Value {
    let mut generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    generator.subschema_for::<Command>();
    generator.subschema_for::<Event>();
    generator.subschema_for::<RequestId>();
    generator.subschema_for::<Response<HelloData>>();
    generator.subschema_for::<Response<StartedData>>();
    generator.subschema_for::<Response<StateData>>();
    generator.subschema_for::<Response<MessagesData>>();
    generator.subschema_for::<Response<ModelData>>();
    generator.subschema_for::<Response<ModelsData>>();
    generator.subschema_for::<Response<PongData>>();
    generator.subschema_for::<Response<()>>();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "zot rpc",
        "description": "One JSON object per line. Client to server: Command, with an optional id. \
                        Server to client: a Response per command, and Events.",
        "$defs": generator.take_definitions(true),
    })
}
