//! Servers that are slow, silent, broken, or not wanted.

use serde_json::json;
use testkit::{Wire, ZotCommand};

use super::{Scene, declared, entry, results, system, wait_for_state};
use crate::support::{binary, of_kind};

/// The prompt ends although the server never answers; user and model learn that it is missing.
#[test]
fn a_silent_server_delays_nothing_and_is_named() {
    let scene = Scene::new(json!({"mute": entry(json!({"silent": true}))}), &["say:2"]);
    let ended = scene.command().arguments(["-p", "go"]).run("");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, "alpha beta \n");
    assert!(
        ended.stderr.contains("MCP server mute is still starting"),
        "{}",
        ended.stderr
    );
    let request = &scene.requests()[0];
    let prompt = system(request);
    let named: Vec<&str> = prompt
        .lines()
        .filter(|line| line.contains("mute"))
        .collect();
    assert_eq!(named.len(), 1, "one line: {prompt}");
    assert!(named[0].contains("starting"), "{prompt}");
    assert_eq!(declared(request), ["tool_search"]);
}

/// What is missing at first is there as soon as it is ready, within the same prompt. The search waits
/// for it.
#[test]
fn a_late_server_joins_the_running_prompt() {
    // The server runs in the working directory.
    let scene = Scene::new(
        json!({"late": entry(json!({"gate": "gate"}))}),
        &[
            "tool:bash:{\"command\":\"touch gate\"}",
            "tool:tool_search:{\"query\":\"echo\"}",
            "tool:late__echo:{}",
            "say:1",
        ],
    );
    let mut zot = scene.pipe();
    wait_for_state(&mut zot, "late", "starting");
    let frames = zot.turn("1", "go");
    let notices = of_kind(&frames, "ext_notify");
    assert!(
        notices[0]["message"]
            .as_str()
            .unwrap()
            .contains("late is still starting"),
        "{notices:?}"
    );
    assert_eq!(results(&frames)[2], "echo {}");
    let requests = scene.requests();
    assert_eq!(declared(&requests[0]), ["tool_search"]);
    assert_eq!(
        declared(&requests[2]),
        ["tool_search", "late__echo", "late__ask"]
    );
    assert_eq!(system(&requests[0]), system(&requests[3]));
}

/// A model that knows a tool from before, as in a conversation that is resumed, need not search for it.
#[test]
fn a_call_of_a_starting_servers_tool_waits_for_it() {
    let scene = Scene::new(
        json!({"late": entry(json!({"gate": "gate"}))}),
        &["tool:late__echo:{}", "tool:late__nothing:{}", "say:1"],
    );
    let mut zot = scene.pipe();
    wait_for_state(&mut zot, "late", "starting");
    std::fs::write(scene.workdir.path().join("gate"), "").unwrap();
    let frames = zot.turn("1", "go");
    assert_eq!(results(&frames)[0], "echo {}");
    assert_eq!(results(&frames)[1], "unknown tool \"late__nothing\"");
}

#[test]
fn a_server_that_cannot_start_is_named_with_its_reason() {
    let scene = Scene::new(
        json!({"broken": {"command": "/nonexistent/program"}}),
        &["say:1"],
    );
    let mut zot = scene.pipe();
    let failed = zot.wait_for(|frame| frame["type"] == "mcp_state" && frame["state"] != "starting");
    assert!(failed["error"].is_string(), "{failed}");
    let frames = zot.turn("1", "go");
    let notice = of_kind(&frames, "ext_notify")[0]["message"].to_string();
    assert!(notice.contains("MCP server broken"), "{notice}");
    assert!(system(&scene.requests()[0]).contains("broken ("));
}

/// The project's servers start only when the command line says so.
#[test]
fn a_projects_servers_are_started_on_request_only() {
    let scene = Scene::new(json!({}), &["say:1", "say:1", "say:1"]);
    let log = scene.workdir.parent().join("log");
    let servers = json!({"theirs": entry(json!({"log": log}))});
    scene.configure(&scene.workdir.path().join(".mcp.json"), servers);
    let ended = scene.command().arguments(["-p", "go"]).run("");
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    assert!(ended.stderr.contains("--project-mcp"), "{}", ended.stderr);
    assert!(!log.exists(), "nothing was started");
    let ended = scene.command().arguments(["-p", "--no-mcp", "go"]).run("");
    assert_eq!(ended.stderr, "");
    let mut zot = ZotCommand::rpc(binary(), &scene.workdir, &scene.server, Wire::OpenAi)
        .argument("--project-mcp")
        .spawn();
    wait_for_state(&mut zot, "theirs", "ready");
    assert!(log.exists());
}

#[test]
fn configuration_can_be_given() {
    let scene = Scene::new(json!({"user": entry(json!({}))}), &["say:1"]);
    let path = scene.workdir.parent().join("more.json");
    scene.configure(&path, json!({"file": entry(json!({}))}));
    let text = json!({"mcpServers": {"text": entry(json!({}))}}).to_string();
    let mut zot = ZotCommand::rpc(binary(), &scene.workdir, &scene.server, Wire::OpenAi)
        .arguments(["--no-mcp", "--mcp-config", path.to_str().unwrap()])
        .arguments(["--mcp-config", &text])
        .spawn();
    wait_for_state(&mut zot, "text", "ready");
    let response = zot.call(json!({"type": "get_mcp"}));
    let servers = response["data"]["servers"].as_array().unwrap().iter();
    let names: Vec<&str> = servers
        .filter_map(|server| server["name"].as_str())
        .collect();
    assert_eq!(names, ["file", "text"]);
    let missing = scene
        .command()
        .arguments(["-p", "--mcp-config", "missing.json", "go"])
        .run("");
    assert_ne!(missing.code, Some(0));
    assert!(
        missing.stderr.contains("missing.json"),
        "{}",
        missing.stderr
    );
}

/// When `zot` ends, so do its servers.
#[test]
fn no_server_is_left() {
    let scene = Scene::new(json!({"demo": entry(json!({}))}), &["say:1"]);
    let mut zot = scene.pipe();
    wait_for_state(&mut zot, "demo", "ready");
    let children = testkit::process::descendants(zot.pid());
    assert!(!children.is_empty());
    zot.finish();
    testkit::poll_until("no server is left", || {
        children
            .iter()
            .all(|child| !testkit::process::is_running(*child))
    });
}
