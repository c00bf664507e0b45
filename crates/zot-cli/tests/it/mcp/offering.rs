//! Which tools the model is told about, and what of that changes.

use serde_json::json;
use testkit::{Wire, ZotCommand};

use super::{Scene, declared, entry, results, system, wait_for_state};
use crate::support::binary;

#[test]
fn few_tools_are_declared_and_run() {
    let scene = Scene::new(
        json!({"demo": entry(json!({"instructions": "Be gentle."}))}),
        &["tool:demo__echo:{\"text\":\"hi\"}", "say:1"],
    );
    let mut zot = scene.pipe();
    wait_for_state(&mut zot, "demo", "ready");
    let frames = zot.turn("1", "go");
    assert_eq!(results(&frames), ["echo {\"text\": \"hi\"}"]);
    let requests = scene.requests();
    assert_eq!(declared(&requests[0]), ["demo__echo", "demo__ask"]);
    let prompt = system(&requests[0]);
    assert!(prompt.contains("# MCP servers"), "{prompt}");
    assert!(prompt.contains("Be gentle."), "{prompt}");
    assert!(!prompt.contains("tool_search"), "{prompt}");
}

/// 500 tools cost little; what is found is declared from the next request on, and nothing before it
/// changes. The figure is that of the issue.
#[test]
fn many_tools_are_found_and_appended() {
    let scene = Scene::new(
        json!({"many": entry(json!({"tools": 500}))}),
        &[
            "tool:tool_search:{\"query\":\"widget of kind 77\",\"limit\":2}",
            "tool:many__widget_77:{\"text\":\"a\"}",
            "tool:many__widget_99:{\"text\":\"not searched for\"}",
            "say:1",
        ],
    );
    let mut zot = scene.pipe();
    wait_for_state(&mut zot, "many", "ready");
    let frames = zot.turn("1", "go");
    let results = results(&frames);
    assert!(
        results[0].contains("tool: many__widget_77\n"),
        "{}",
        results[0]
    );
    assert_eq!(results[1], "widget_77 {\"text\": \"a\"}");
    assert_eq!(results[2], "widget_99 {\"text\": \"not searched for\"}");
    let requests = scene.requests();
    assert_eq!(declared(&requests[0]), ["tool_search"]);
    let found = declared(&requests[1]);
    assert_eq!(found[..2], ["tool_search", "many__widget_77"]);
    assert_eq!(found.len(), 3, "{found:?}");
    assert_eq!(declared(&requests[2]), found);
    let last = declared(&requests[3]);
    assert_eq!(last[..3], found);
    assert_eq!(last[3], "many__widget_99", "what was called is declared");
    let section = |index: usize| system(&requests[index]);
    assert_eq!(section(0), section(3), "the system prompt never changes");
    let without = ZotCommand::new(binary(), &scene.workdir)
        .arguments(["context", "--json", "--no-mcp"])
        .run("");
    let with = ZotCommand::new(binary(), &scene.workdir)
        .arguments(["context", "--json"])
        .run("");
    let tokens = |output: &str| {
        let report: serde_json::Value = serde_json::from_str(output).expect(output);
        report["tokens"].as_u64().expect("tokens")
    };
    let added = tokens(&with.stdout) - tokens(&without.stdout);
    assert!(added <= 1_500, "{added} tokens");
}

/// A resumed session has the tools that were found before, without searching again.
#[test]
fn a_resumed_session_keeps_what_was_found() {
    let scene = Scene::new(
        json!({"many": entry(json!({"tools": 500}))}),
        &[
            "tool:tool_search:{\"query\":\"many__widget_7\",\"limit\":1}",
            "say:1",
            "say:1",
        ],
    );
    let first = scene.command().arguments(["-p", "go"]).run("");
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let second = scene
        .command()
        .arguments(["-c", "-p", "tool_search"])
        .run("");
    assert_eq!(second.code, Some(0), "{}", second.stderr);
    let requests = scene.requests();
    assert_eq!(declared(&requests[1]), ["tool_search", "many__widget_7"]);
    let resumed = declared(&requests[2]);
    // The server may need longer than the first request waits.
    assert!(
        resumed == ["tool_search", "many__widget_7"] || resumed == ["tool_search"],
        "{resumed:?}"
    );
}

#[test]
fn exposure_is_configured_per_server_and_tool() {
    let mut demo = entry(json!({}));
    demo["exposure"] = json!("deferred");
    demo["toolExposure"] = json!({"ask": "hidden"});
    let scene = Scene::new(json!({"demo": demo}), &["tool:demo__ask:{}", "say:1"]);
    let mut zot = scene.pipe();
    wait_for_state(&mut zot, "demo", "ready");
    let frames = zot.turn("1", "go");
    assert!(results(&frames)[0].contains("unknown tool"), "{frames:?}");
    assert_eq!(declared(&scene.requests()[0]), ["tool_search"]);
}

#[test]
fn tools_of_servers_can_be_removed() {
    let scene = Scene::new(json!({"demo": entry(json!({}))}), &["say:1"]);
    let mut zot = ZotCommand::rpc(binary(), &scene.workdir, &scene.server, Wire::OpenAi)
        .arguments(["--tools", "-demo__ask"])
        .spawn();
    wait_for_state(&mut zot, "demo", "ready");
    zot.turn("1", "go");
    assert_eq!(declared(&scene.requests()[0]), ["demo__echo"]);
}
