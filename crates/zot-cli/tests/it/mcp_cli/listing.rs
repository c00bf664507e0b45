//! `list` and `get`.

use serde_json::Value;
use testkit::{assert_harmless, run_at_terminal};

use super::Bench;

const SECRETS: &str = r#"{"mcpServers": {
    "local": {"command": "x", "args": ["--api-key", "hush1", "--token=hush2", "postgres://me:hush3@db/x"], "env": {"KEY": "hush4", "REF": "${REF:-hush5}"}},
    "remote": {"type": "http", "url": "https://me:hush6@r.example/mcp?key=hush7", "headers": {"Authorization": "Bearer hush8"},
        "oauth": {"clientId": "me", "clientSecret": "hush9"}},
    "old": {"type": "sse", "url": "https://o.example/sse", "enabled": false, "timeout": 60000, "exposure": "hidden", "toolExposure": {"a*": "direct"},
        "protocol": "2025-06-18"},
    "broken": {"command": ["hush"]}
}}"#;

#[test]
fn no_secret_is_printed() {
    let bench = Bench::new();
    bench.write_home("zot/mcp.json", SECRETS);
    let mut printed = String::new();
    for arguments in [
        &["list", "--no-start"][..],
        &["list", "--no-start", "--json"],
        &["get", "local"],
        &["get", "local", "--json"],
        &["get", "remote"],
        &["get", "remote", "--json"],
        &["get", "old", "--json"],
    ] {
        let ended = bench.run(arguments);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        printed += &ended.stdout;
        printed += &ended.stderr;
    }
    assert!(!printed.contains("hush"), "{printed}");
    for shown in [
        "KEY=…",
        "REF=${REF:-…}",
        "Authorization=…",
        "https://…@r.example/mcp?…",
        "postgres://…@db/x",
        "--api-key …",
    ] {
        assert!(printed.contains(shown), "{shown}: {printed}");
    }
    assert!(
        printed
            .contains("MCP server \"broken\": \"command\" must be a string, got a list (left out)")
    );
}

#[test]
fn programs_read_json() {
    let bench = Bench::new();
    bench.write_home("zot/mcp.json", SECRETS);
    let list: Value =
        serde_json::from_str(&bench.succeed(&["list", "--no-start", "--json"])).unwrap();
    let names: Vec<&str> = list["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|server| server["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["local", "remote", "old"]);
    assert_eq!(list["servers"][2]["state"], "disabled");
    assert_eq!(list["problems"].as_array().unwrap().len(), 1);
    let old: Value = serde_json::from_str(&bench.succeed(&["get", "old", "--json"])).unwrap();
    assert_eq!(old["timeout"], 60000);
    assert_eq!(old["tool_exposure"][0]["pattern"], "a*");
    assert_eq!(old["protocol"], "2025-06-18");
}

#[test]
fn names_and_targets_do_not_control_the_terminal() {
    let bench = Bench::new();
    bench.0.write(
        ".mcp.json",
        "{\"mcpServers\": {\"a\": {\"command\": \"x\\u001b[2J\", \"args\": [\"\\r\\nfake\"]}}}",
    );
    for arguments in [
        &["list", "--no-start"][..],
        &["get", "a"],
        &["approve", "--yes"],
    ] {
        let ended = run_at_terminal(bench.command(arguments).into_command());
        assert_harmless("zot mcp", &ended.output);
        assert_harmless("zot mcp", &ended.errors);
        let shown = String::from_utf8_lossy(&ended.output);
        assert!(
            shown.contains("fake") && !shown.contains("\nfake"),
            "{shown:?}"
        );
    }
}
