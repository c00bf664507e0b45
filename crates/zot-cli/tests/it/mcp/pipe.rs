//! What clients of `zot rpc` see of servers: states, questions, confirmations; and what extensions see.

use serde_json::json;
use testkit::{ScriptedExtension, Wire, ZotCommand};

use super::{Scene, declared, entry, results, wait_for_state};
use crate::support::{binary, of_kind};

#[test]
fn states_are_reported_and_can_be_asked_for() {
    let disabled = json!({"command": "python3", "enabled": false});
    let scene = Scene::new(json!({"demo": entry(json!({})), "off": disabled}), &[]);
    let mut zot = scene.pipe();
    wait_for_state(&mut zot, "demo", "starting");
    let ready = wait_for_state(&mut zot, "demo", "ready");
    assert_eq!(ready["tools"], 2);
    assert_eq!(ready["protocol_version"], "2025-11-25");
    assert_eq!(ready["origin"], "user");
    let response = zot.call(json!({"id": 1, "type": "get_mcp"}));
    assert_eq!(response["data"]["servers"][0], without_type(&ready));
    assert_eq!(response["data"]["servers"][1]["state"], "disabled");
    assert!(response["data"].get("project").is_none());
    let hello = zot.call(json!({"type": "hello"}));
    let capabilities = hello["data"]["capabilities"].as_array().unwrap();
    assert!(capabilities.contains(&json!("mcp")) && capabilities.contains(&json!("questions")));
}

fn without_type(event: &serde_json::Value) -> serde_json::Value {
    let mut entry = event.clone();
    entry.as_object_mut().unwrap().remove("type");
    entry
}

#[test]
fn tools_of_a_server_are_selected_together() {
    let scene = Scene::new(
        json!({"demo": entry(json!({})), "other": entry(json!({}))}),
        &["say:1", "say:1"],
    );
    let mut zot = scene.pipe();
    let mut ready = 0;
    while ready < 2 {
        ready += usize::from(zot.event("mcp_state")["state"] == "ready");
    }
    let response =
        zot.call(json!({"type": "set_tools", "tools": ["read", "demo__*", "other__ask"]}));
    assert_eq!(response["success"], true, "{response}");
    let tools = response["data"]["tools"].as_array().unwrap().iter();
    let enabled: Vec<(&str, Option<&str>)> = tools
        .filter(|tool| tool["enabled"] == true)
        .map(|tool| (tool["name"].as_str().unwrap(), tool["server"].as_str()))
        .collect();
    assert_eq!(
        enabled,
        [
            ("read", None),
            ("demo__echo", Some("demo")),
            ("demo__ask", Some("demo")),
            ("other__ask", Some("other"))
        ]
    );
    zot.turn("1", "go");
    assert_eq!(
        declared(&scene.requests()[0]),
        ["demo__echo", "demo__ask", "other__ask"]
    );
    let unknown = zot.call(json!({"type": "set_tools", "tools": ["demo__missing"]}));
    assert_eq!(unknown["code"], "unknown_tool", "{unknown}");
}

/// A client that answers gets the question; the server gets the answer.
#[test]
fn questions_reach_clients_that_answer() {
    let scene = Scene::new(
        json!({"demo": entry(json!({}))}),
        &["tool:demo__ask:{}", "say:1", "tool:demo__ask:{}", "say:1"],
    );
    let mut zot = scene.pipe();
    wait_for_state(&mut zot, "demo", "ready");
    let frames = zot.turn("1", "go");
    assert_eq!(
        of_kind(&frames, "tool_question").len(),
        0,
        "declined at once"
    );
    assert_eq!(results(&frames), ["{\"action\": \"decline\"}"]);
    zot.call(json!({"type": "hello", "capabilities": ["questions"]}));
    zot.prompt("2", "go");
    let question = zot.event("tool_question");
    assert_eq!(question["origin"], "demo");
    assert_eq!(question["message"], "Which colour?");
    assert_eq!(question["schema"]["required"], json!(["colour"]));
    let id = &question["id"];
    let wrong = zot.call(json!({"type": "answer", "question_id": "other", "action": "decline"}));
    assert_eq!(wrong["code"], "not_waiting");
    zot.send(json!({
        "type": "answer", "question_id": id, "action": "accept", "content": {"colour": "red"},
    }));
    let frames = zot.collect_until(|frame| frame["type"] == "done");
    assert_eq!(
        results(&frames),
        ["{\"action\": \"accept\", \"content\": {\"colour\": \"red\"}}"]
    );
}

#[test]
fn calls_can_be_confirmed_by_server() {
    let scene = Scene::new(
        json!({"demo": entry(json!({}))}),
        &["tool:demo__echo:{}", "say:1"],
    );
    let mut zot = ZotCommand::rpc(binary(), &scene.workdir, &scene.server, Wire::OpenAi)
        .argument("--confirm=demo__*")
        .spawn();
    wait_for_state(&mut zot, "demo", "ready");
    zot.prompt("1", "go");
    let asked = zot.event("tool_confirm");
    assert_eq!(asked["name"], "demo__echo");
    zot.send(json!({"type": "confirm", "call_id": asked["id"], "allow": false, "reason": "no"}));
    let frames = zot.collect_until(|frame| frame["type"] == "done");
    assert_eq!(results(&frames), ["refused: no"]);
}

/// An extension that intercepts tool calls sees those of servers, and can change them.
#[test]
fn extensions_intercept_calls_of_servers() {
    let scene = Scene::new(
        json!({"demo": entry(json!({}))}),
        &["tool:demo__echo:{\"text\":\"a\"}", "say:1"],
    );
    let subscribe = json!({"type": "subscribe", "events": [], "intercept": ["tool_call"]});
    let verdict = json!({"type": "event_intercept_response", "modified_args": {"text": "b"}});
    let guard = ScriptedExtension::new("guard", [subscribe])
        .script("intercept", json!({"tool_call": verdict}));
    let installed = [guard.install(&scene.workdir.extensions())];
    let mut zot = ZotCommand::rpc(binary(), &scene.workdir, &scene.server, Wire::OpenAi)
        .extensions(&installed)
        .spawn();
    wait_for_state(&mut zot, "demo", "ready");
    let subscribed = zot.call(json!({"type": "subscribe", "details": true}));
    assert_eq!(subscribed["success"], true);
    let frames = zot.turn("1", "go");
    assert_eq!(results(&frames), ["echo {\"text\": \"b\"}"]);
    let details = &of_kind(&frames, "tool_result")[0]["details"];
    assert_eq!(*details, json!({"server": "demo", "tool": "echo"}));
}

#[test]
fn json_output_has_states_of_missing_servers_as_notices() {
    let scene = Scene::new(json!({"mute": entry(json!({"silent": true}))}), &["say:1"]);
    let ended = scene.command().arguments(["--json", "go"]).run("");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let notice = ended
        .stdout
        .lines()
        .find(|line| line.contains("ext_notify"))
        .expect("a notice");
    assert!(
        notice.contains("MCP server mute is still starting"),
        "{notice}"
    );
}

/// A selection without tools of servers has no `tool_search` either.
#[test]
fn an_exact_selection_is_exact() {
    let scene = Scene::new(
        json!({"mute": entry(json!({"silent": true}))}),
        &["say:1", "say:1"],
    );
    let mut zot = scene.pipe();
    wait_for_state(&mut zot, "mute", "starting");
    let response = zot.call(json!({"type": "set_tools", "tools": ["read"]}));
    assert_eq!(response["success"], true, "{response}");
    zot.turn("1", "go");
    assert_eq!(scene.requests()[0].tool_names(), ["read"]);
    let response = zot.call(json!({"type": "set_tools", "tools": ["read", "mute__*"]}));
    assert_eq!(response["success"], true, "{response}");
    zot.turn("2", "go");
    assert_eq!(scene.requests()[1].tool_names(), ["read", "tool_search"]);
}
