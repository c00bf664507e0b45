//! Converts JSON to our types and back.

use anyhow::bail;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use zot_wire::rpc::{
    CommandFrame, CommandsData, Event, ExtensionsData, FullMessagesData, HelloData, InvokedData,
    McpData, MessagesData, ModelData, ModelsData, PongData, ReasoningData, Response, SandboxData,
    SetMessagesData, StartedData, StateData, SteeredData, SubscribedData, ToolsData, UsageData,
};

/// Reads a frame of the server into its type and writes it again.
pub(super) fn round_trip(frame: &Value) -> anyhow::Result<Value> {
    if frame["type"] != "response" {
        return through::<Event>(frame);
    }
    if frame["success"] == false {
        return through::<Response<()>>(frame);
    }
    match frame["command"].as_str().unwrap_or_default() {
        "hello" => through::<Response<HelloData>>(frame),
        "prompt" | "compact" => through::<Response<StartedData>>(frame),
        "get_state" => through::<Response<StateData>>(frame),
        // With `full`, messages contain blocks that the short form does not have.
        "get_messages" => through::<Response<MessagesData>>(frame)
            .or_else(|_| through::<Response<FullMessagesData>>(frame)),
        "set_messages" => through::<Response<SetMessagesData>>(frame),
        "set_reasoning" => through::<Response<ReasoningData>>(frame),
        "set_tools" | "get_tools" => through::<Response<ToolsData>>(frame),
        "set_sandbox" => through::<Response<SandboxData>>(frame),
        "get_usage" => through::<Response<UsageData>>(frame),
        "steer" => through::<Response<SteeredData>>(frame),
        "subscribe" => through::<Response<SubscribedData>>(frame),
        "set_model" => through::<Response<ModelData>>(frame),
        "get_models" => through::<Response<ModelsData>>(frame),
        "ping" => through::<Response<PongData>>(frame),
        "get_commands" => through::<Response<CommandsData>>(frame),
        "invoke_command" => through::<Response<InvokedData>>(frame),
        "reload_ext" => through::<Response<ExtensionsData>>(frame),
        "get_mcp" => through::<Response<McpData>>(frame),
        "abort" | "answer" | "clear" | "confirm" | "set_system_prompt" | "panel_key"
        | "panel_resize" | "panel_close" => through::<Response<()>>(frame),
        other => bail!("xtask does not know the type of the response to {other:?}"),
    }
}

fn through<T: Serialize + DeserializeOwned>(frame: &Value) -> anyhow::Result<Value> {
    // From text, as on the wire: not every type can be read from a `Value`.
    let typed: T = serde_json::from_str(&frame.to_string())?;
    Ok(serde_json::from_str(&serde_json::to_string(&typed)?)?)
}

/// Returns whether a frame of a client is a command exactly as we would write it. We accept more: other
/// letter cases, missing fields, an empty id.
pub(super) fn is_proper_command(frame: &Value) -> bool {
    let Ok(CommandFrame { id, command }) = CommandFrame::parse(frame.to_string().as_bytes()) else {
        return false;
    };
    let Ok(mut written) = serde_json::to_value(&command) else {
        return false;
    };
    if let Some(id) = id {
        written["id"] = serde_json::to_value(&id).unwrap_or_default();
    }
    written == *frame
}
