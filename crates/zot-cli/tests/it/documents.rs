//! The documents of the protocol against its types: every frame they show is valid, and every
//! command and event is shown. `scripts/doc-frames --check` compares them with real output.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::{Deserializer, Value};
use zot_wire::extension::{ExtensionFrame, HostFrame};
use zot_wire::rpc::{
    CommandFrame, CommandsData, ContentBlock, Event, ExtensionsData, FullBlock, FullMessage,
    FullMessagesData, HelloData, InvokedData, McpData, Message, MessagesData, ModelData,
    ModelsData, PongData, ReasoningData, Response, SandboxData, SetMessagesData, StartedData,
    StateData, SteeredData, SubscribedData, ToolsData, UsageData, json_schema,
};

const DOCUMENTS: [&str; 4] = [
    "docs/scripts.md",
    "docs/rpc.md",
    "docs/rpc-clients.md",
    "docs/events.md",
];

const EXTENSIONS: &str = "docs/extensions.md";

fn read(document: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(document)).unwrap_or_else(|error| panic!("{document}: {error}"))
}

fn json_values(document: &str) -> Vec<Value> {
    values_in(document, &read(document))
}

/// Returns the values in the `json` fences of a text; a fence may hold several.
fn values_in(document: &str, text: &str) -> Vec<Value> {
    let fences = text.split("\n```").skip(1).step_by(2);
    let bodies = fences.filter_map(|fence| fence.strip_prefix("json\n"));
    bodies
        .flat_map(|body| Deserializer::from_str(body).into_iter())
        .map(|value| value.unwrap_or_else(|error| panic!("{document}: {error}")))
        .collect()
}

/// Returns the `type`s in one definition of the schema.
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
        return is::<Response<()>>(frame)
            && frame["error"].is_string()
            && frame["code"].is_string();
    }
    match frame["command"].as_str() {
        Some("hello") => is::<Response<HelloData>>(frame),
        Some("prompt") => is::<Response<StartedData>>(frame) || is::<Response<SteeredData>>(frame),
        Some("compact") => is::<Response<StartedData>>(frame),
        Some("steer") => is::<Response<SteeredData>>(frame),
        Some("get_state") => is::<Response<StateData>>(frame),
        Some("get_messages") => {
            is::<Response<MessagesData>>(frame) || is::<Response<FullMessagesData>>(frame)
        }
        Some("set_messages") => is::<Response<SetMessagesData>>(frame),
        Some("set_reasoning") => is::<Response<ReasoningData>>(frame),
        Some("set_tools" | "get_tools") => is::<Response<ToolsData>>(frame),
        Some("set_sandbox") => is::<Response<SandboxData>>(frame),
        Some("get_usage") => is::<Response<UsageData>>(frame),
        Some("subscribe") => is::<Response<SubscribedData>>(frame),
        Some("set_model") => is::<Response<ModelData>>(frame),
        Some("get_models") => is::<Response<ModelsData>>(frame),
        Some("get_mcp") => is::<Response<McpData>>(frame),
        Some("ping") => is::<Response<PongData>>(frame),
        Some("get_commands") => is::<Response<CommandsData>>(frame),
        Some("invoke_command") => is::<Response<InvokedData>>(frame),
        Some("reload_ext") => is::<Response<ExtensionsData>>(frame),
        Some(
            "abort" | "answer" | "clear" | "confirm" | "set_system_prompt" | "panel_key"
            | "panel_resize" | "panel_close",
        ) => is::<Response<()>>(frame) && frame.get("data").is_none(),
        _ => false,
    }
}

fn is_command(frame: &Value) -> bool {
    CommandFrame::parse(frame.to_string().as_bytes()).is_ok()
}

#[test]
fn every_frame_in_the_documents_is_valid() {
    let (commands, events) = (types("Command"), types("Event"));
    for document in DOCUMENTS {
        for value in json_values(document) {
            let fits = match value["type"].as_str() {
                Some("response") => is_response(&value),
                Some(name) if commands.contains(name) => is_command(&value),
                Some(name) if events.contains(name) => {
                    is::<Event>(&value) || is::<ContentBlock>(&value)
                }
                Some(_) => is::<ContentBlock>(&value) || is::<FullBlock>(&value),
                None => {
                    value.get("role").is_none()
                        || is::<Message>(&value)
                        || is::<FullMessage>(&value)
                }
            };
            assert!(
                fits,
                "{document} shows what zot never sends or takes: {value}"
            );
        }
    }
}

/// Returns the error codes in the tables of the documents, and those that zot knows.
#[test]
fn every_error_code_is_listed() {
    let text = read("docs/rpc.md");
    let section = text
        .split("\n## ")
        .find(|section| section.starts_with("Error codes"));
    let listed: BTreeSet<&str> = section
        .unwrap()
        .lines()
        .filter(|line| line.starts_with("| `") && !line.contains("`code`"))
        .flat_map(|line| {
            line.split('|')
                .nth(1)
                .unwrap()
                .split('`')
                .skip(1)
                .step_by(2)
        })
        .collect();
    let sources = [
        "crates/zot-conversation/src/error.rs",
        "crates/zot-rpc/src/server.rs",
        "crates/zot-rpc/src/server/prompting.rs",
        "crates/zot-rpc/src/server/refusal.rs",
        "crates/zot-rpc/src/server/replies.rs",
        "crates/zot-rpc/src/token.rs",
        "crates/zot-wire/src/rpc/command/frame.rs",
    ];
    let sources: String = sources.into_iter().map(read).collect();
    for code in &listed {
        assert!(
            sources.contains(&format!("\"{code}\"")),
            "zot knows no code {code}"
        );
    }
    let event = read("crates/zot-conversation/src/error.rs");
    let codes = event
        .split("impl ErrorCode")
        .nth(1)
        .unwrap()
        .split("\n}\n")
        .next()
        .unwrap();
    let shown = json_values("docs/rpc.md")
        .into_iter()
        .chain(json_values("docs/events.md"));
    let shown: Vec<String> = shown
        .filter_map(|frame| Some(frame["code"].as_str()?.to_owned()))
        .collect();
    let known = codes
        .split('"')
        .skip(1)
        .step_by(2)
        .chain(shown.iter().map(String::as_str));
    let missing: BTreeSet<&str> = known.filter(|code| !listed.contains(code)).collect();
    assert!(missing.is_empty(), "docs/rpc.md does not list {missing:?}");
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

#[test]
fn the_readme_is_short() {
    let words = read("README.md").split_whitespace().count();
    assert!(
        words <= 900,
        "README.md has {words} words, the limit is 900"
    );
}

#[test]
fn every_page_is_in_the_index_and_says_what_it_is_for() {
    let index = read("docs/README.md");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages = |below: &str| {
        let entries = fs::read_dir(directory.join(below)).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let pages = names.filter(|name| name.ends_with(".md") && name != "README.md");
        pages
            .map(|name| format!("{below}{name}"))
            .collect::<Vec<_>>()
    };
    for page in pages("").into_iter().chain(pages("embedding/")) {
        assert!(
            index.contains(&format!("]({page})")),
            "docs/README.md does not list {page}"
        );
        let text = read(&format!("docs/{page}"));
        let opening = text.lines().nth(2).unwrap_or_default();
        assert!(
            text.starts_with("# ") && opening.starts_with(|first: char| first.is_alphabetic()),
            "docs/{page} does not open with what it is for: {opening:?}"
        );
    }
}

/// The frames under a heading of the document about extensions.
fn extension_frames(heading: &str) -> Vec<Value> {
    let text = read(EXTENSIONS);
    let section = text
        .split("\n##")
        .find(|section| section.starts_with(&format!("# {heading}\n")));
    values_in(EXTENSIONS, section.unwrap())
}

fn check_extension_frames(heading: &str, expected: &[&str], is_frame: impl Fn(&[u8]) -> bool) {
    let frames = extension_frames(heading);
    for frame in &frames {
        assert!(
            is_frame(frame.to_string().as_bytes()),
            "{EXTENSIONS}, {heading}: no frame: {frame}"
        );
    }
    let shown: BTreeSet<&str> = frames.iter().filter_map(|f| f["type"].as_str()).collect();
    assert_eq!(shown, expected.iter().copied().collect(), "{heading}");
}

#[test]
fn every_frame_of_extensions_is_shown() {
    check_extension_frames(
        "From the extension",
        &[
            "hello",
            "register_command",
            "register_tool",
            "ready",
            "subscribe",
            "tool_result",
            "event_intercept_response",
            "command_response",
            "panel_render",
            "panel_close",
            "notify",
            "shutdown_ack",
        ],
        |line| ExtensionFrame::parse(line).is_ok(),
    );
    check_extension_frames(
        "From zot",
        &[
            "hello_ack",
            "command_invoked",
            "tool_call",
            "event",
            "event_intercept",
            "panel_key",
            "panel_resize",
            "panel_close",
            "shutdown",
        ],
        |line| HostFrame::parse(line).is_ok(),
    );
}
