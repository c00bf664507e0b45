//! The documents of the protocol against its types: every frame they show is one, and every
//! command and event is shown. `scripts/doc-frames --check` tells whether zot really says so.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Deserializer, Value};
use zot_wire::rpc::{
    CommandFrame, ContentBlock, Event, HelloData, Message, MessagesData, ModelData, ModelsData,
    PongData, Response, StartedData, StateData, json_schema,
};

const DOCUMENTS: [&str; 3] = ["README.md", "docs/rpc.md", "docs/events.md"];

fn read(document: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(document)).unwrap_or_else(|error| panic!("{document}: {error}"))
}

/// The values in the `json` fences of a document. A fence holds one or more, on any lines.
fn json_values(document: &str) -> Vec<Value> {
    let text = read(document);
    let fences = text.split("\n```").skip(1).step_by(2);
    let bodies = fences.filter_map(|fence| fence.strip_prefix("json\n"));
    bodies
        .flat_map(|body| Deserializer::from_str(body).into_iter())
        .map(|value| value.unwrap_or_else(|error| panic!("{document}: {error}")))
        .collect()
}

/// The `type`s that the schema knows in one of its definitions.
fn types(definition: &str) -> BTreeSet<String> {
    let schema = json_schema();
    let variants = schema["$defs"][definition]["oneOf"].as_array().unwrap();
    let names = variants
        .iter()
        .filter_map(|variant| variant["properties"]["type"]["const"].as_str());
    names.map(str::to_owned).collect()
}

fn is<T: serde::de::DeserializeOwned>(frame: &Value) -> bool {
    serde_json::from_value::<T>(frame.clone()).is_ok()
}

fn is_response(frame: &Value) -> bool {
    if frame["success"] == false {
        return is::<Response<()>>(frame) && frame["error"].is_string();
    }
    match frame["command"].as_str() {
        Some("hello") => is::<Response<HelloData>>(frame),
        Some("prompt" | "compact") => is::<Response<StartedData>>(frame),
        Some("get_state") => is::<Response<StateData>>(frame),
        Some("get_messages") => is::<Response<MessagesData>>(frame),
        Some("set_model") => is::<Response<ModelData>>(frame),
        Some("get_models") => is::<Response<ModelsData>>(frame),
        Some("ping") => is::<Response<PongData>>(frame),
        Some("abort" | "clear") => is::<Response<()>>(frame) && frame.get("data").is_none(),
        _ => false,
    }
}

fn is_command(frame: &Value) -> bool {
    CommandFrame::parse(frame.to_string().as_bytes()).is_ok()
}

#[test]
fn every_frame_shown_is_one() {
    let (commands, events) = (types("Command"), types("Event"));
    for document in DOCUMENTS {
        for value in json_values(document) {
            let fits = match value["type"].as_str() {
                Some("response") => is_response(&value),
                Some(name) if commands.contains(name) => is_command(&value),
                Some(name) if events.contains(name) => {
                    is::<Event>(&value) || is::<ContentBlock>(&value)
                }
                Some(_) => is::<ContentBlock>(&value),
                None => value.get("role").is_none() || is::<Message>(&value),
            };
            assert!(
                fits,
                "{document} shows what zot never sends or takes: {value}"
            );
        }
    }
}

#[test]
fn every_command_and_event_is_shown() {
    for (document, definition) in [("docs/rpc.md", "Command"), ("docs/events.md", "Event")] {
        let values = json_values(document);
        let shown = values.iter().filter_map(|value| value["type"].as_str());
        let shown: BTreeSet<String> = shown.map(str::to_owned).collect();
        let missing: Vec<String> = types(definition).difference(&shown).cloned().collect();
        assert!(missing.is_empty(), "{document} does not show {missing:?}");
    }
    let responses: BTreeSet<String> = json_values("docs/rpc.md")
        .iter()
        .filter(|value| value["success"] == true)
        .filter_map(|value| value["command"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(
        responses,
        types("Command"),
        "docs/rpc.md shows other responses"
    );
}
