//! What clients can do with extensions: commands, panels, reloading.

use serde_json::{Value, json};
use testkit::{ModelServer, PATIENCE, Pace, ScriptedExtension, Wire, Workdir, Zot, ZotCommand};
use testkit::{echo_tool, tool_text};

use super::fixtures;
use crate::support::binary;

/// Offers one command of every kind, a tool, and a panel that counts keys.
fn board() -> ScriptedExtension {
    let command = |name: &str| json!({"type": "register_command", "name": name, "description": format!("try {name}")});
    let names = ["ask", "draft", "note", "board", "quiet", "broken"];
    let registrations = names.into_iter().map(command).chain([echo_tool("count")]);
    let answer = |fields: Value| {
        let mut frame = json!({"type": "command_response"});
        let fields = fields.as_object().unwrap().clone();
        frame.as_object_mut().unwrap().extend(fields);
        frame
    };
    let lines = |text: &str| json!({"title": "Board", "lines": [text], "footer": "q: close"});
    let panel = |kind: &str, text: &str| {
        let mut frame = lines(text);
        frame["type"] = json!(kind);
        frame["panel_id"] = json!("p1");
        frame
    };
    let mut open = lines("no key yet");
    open["id"] = json!("p1");
    ScriptedExtension::new("board", registrations)
        .tool("count", tool_text("three"))
        .script(
            "commands",
            json!({
                "ask": answer(json!({"action": "prompt", "prompt": "say:1"})),
                "draft": answer(json!({"action": "insert", "insert": "dear Ada"})),
                "note": answer(json!({"action": "display", "display": "noted"})),
                "board": answer(json!({"action": "open_panel", "open_panel": open})),
                "quiet": [
                    {"type": "notify", "level": "success", "message": "done behind the scenes"},
                    answer(json!({"action": "noop"})),
                ],
                "broken": answer(json!({"action": "noop", "error": "no board today"})),
            }),
        )
        .script(
            "panel",
            json!({
                "panel_resize": panel("panel_render", "40 by 10"),
                "panel_key": {"in_turn": [
                    panel("panel_render", "one key"),
                    {"type": "panel_close", "panel_id": "p1"},
                ]},
            }),
        )
}

#[test]
fn extensions() {
    let workdir = Workdir::with_files("extensions");
    let server = ModelServer::start();
    let board = board().install(&workdir.extensions());
    let mut zot = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi)
        .extensions([&board])
        .spawn();
    for line in fixtures().sent_lines("extensions") {
        zot.send_line(&line);
        if wait_for_all(&mut zot, &line).is_err() {
            break;
        }
    }
    fixtures().check(&workdir, Pace::Steady, &zot.finish().transcript);
    let key = &board.received("panel_key")[0];
    assert_eq!((&key["key"], &key["text"]), (&json!("rune"), &json!("x")));
    assert_eq!(board.received("panel_close").len(), 1);
    assert_eq!(board.received("command_invoked")[0]["args"], "about lists");
}

/// Waits for the frames that the command in `line` causes, in the order of `caused`.
fn wait_for_all(zot: &mut Zot, line: &str) -> Result<(), &'static str> {
    let command: Value = serde_json::from_str(line).unwrap();
    let mut caused: Vec<&str> = match (command["type"].as_str(), command["name"].as_str()) {
        (Some("prompt"), _) | (_, Some("/ask")) => vec!["response", "done"],
        (_, Some("note")) => vec!["response", "ext_display"],
        (_, Some("quiet")) => vec!["response", "ext_notify"],
        (Some("panel_resize"), _) => vec!["response", "ext_panel"],
        (Some("panel_key"), _) if command["key"] == "x" => vec!["response", "ext_panel"],
        (Some("panel_key"), _) => vec!["response", "ext_panel_close"],
        _ => vec!["response"],
    };
    while !caused.is_empty() {
        let frames =
            zot.try_collect_until(|frame| caused.iter().any(|k| frame["type"] == *k), PATIENCE)?;
        let last = frames.last().unwrap();
        caused.retain(|kind| last["type"] != *kind);
    }
    Ok(())
}
