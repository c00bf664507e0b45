//! Servers that are started: `list` and `test`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::Bench;

/// Returns the entry of a scripted server with these options.
fn entry(options: Value) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/server.py");
    json!({"command": "python3", "args": ["-B", script, options.to_string()]})
}

fn bench(servers: Value) -> Bench {
    let bench = Bench::new();
    bench.write_home("zot/mcp.json", &json!({"mcpServers": servers}).to_string());
    bench
}

#[test]
fn the_state_of_every_server_is_listed() {
    let bench = bench(json!({
        "good": entry(json!({"tools": 3})),
        "off": {"command": "false", "enabled": false},
        "missing": {"command": "no-such-program-anywhere"},
        "crashing": {"command": "sh", "args": ["-c", "echo boom >&2; exit 3"]},
    }));
    let listed = bench.succeed(&["list"]);
    let line = |name: &str| {
        let mut lines = listed.lines();
        let line = lines.find(|line| line.starts_with(name));
        line.unwrap_or_else(|| panic!("{name}: {listed}"))
            .to_owned()
    };
    assert!(line("good").contains("ready"), "{listed}");
    assert!(line("good").contains(" 5 "), "{listed}");
    assert!(line("off").contains("disabled"), "{listed}");
    assert!(line("missing").contains("failed"), "{listed}");
    assert!(
        line("missing:").contains("no-such-program-anywhere"),
        "{listed}"
    );
    assert!(line("crashing:").len() > "crashing:".len(), "{listed}");

    let json: Value = serde_json::from_str(&bench.succeed(&["list", "--json"])).unwrap();
    let server = |name: &str| {
        let servers = json["servers"].as_array().unwrap().iter();
        let mut named = servers.filter(|server| server["name"] == name);
        named.next().unwrap().clone()
    };
    assert_eq!(server("good")["state"], "ready");
    assert_eq!(server("good")["tools"][0], "echo");
    assert_eq!(server("good")["protocol"], "2025-11-25");
    assert_eq!(server("off")["state"], "disabled");
    assert!(server("missing")["reason"].is_string(), "{json}");
    let log = bench.succeed(&["logs", "crashing"]);
    assert!(log.contains("boom"), "{log}");
}

#[test]
fn a_server_is_tried_and_a_tool_is_called() {
    let bench = bench(json!({"s": entry(json!({})), "off": entry(json!({}))}));
    bench.succeed(&["disable", "off"]);
    for name in ["s", "off"] {
        let printed = bench.succeed(&["test", name]);
        assert!(printed.contains(": scripted"), "{printed}");
        assert!(printed.contains("MCP 2025-11-25, stdio"), "{printed}");
        assert!(
            printed.contains("2 tools, 0 prompts, 0 resources"),
            "{printed}"
        );
        assert!(
            printed.contains("  echo  Returns its arguments"),
            "{printed}"
        );
    }
    let printed = bench.succeed(&["test", "s", "echo", r#"{"text": "hi"}"#]);
    assert!(printed.contains(r#"echo {"text": "hi"}"#), "{printed}");
    bench.succeed(&["test", "s", "s__echo"]);
    // Nobody is there to answer.
    let printed = bench.succeed(&["test", "s", "ask"]);
    assert!(printed.contains("decline"), "{printed}");
    let json: Value =
        serde_json::from_str(&bench.succeed(&["test", "s", "echo", "--json"])).unwrap();
    assert_eq!(json["passed"], true);
    assert_eq!(
        json["result"],
        json!({"is_error": false, "text": "echo {}"})
    );
    assert_eq!(json["tools"][0]["model_name"], "s__echo");

    let stderr = bench.fail(1, &["test", "s", "nothing"]);
    assert!(stderr.contains("its tools: echo, ask"), "{stderr}");
    bench.fail(2, &["test", "s", "echo", "[1]"]);
    bench.fail(2, &["test", "s", "echo", "{"]);
}

#[test]
fn what_is_wrong_with_a_server_is_said() {
    let bench = bench(json!({
        "crashing": {"command": "sh", "args": ["-c", "echo boom >&2; exit 3"]},
        "silent": entry(json!({"silent": true})),
        "unreachable": {"type": "http", "url": "http://127.0.0.1:9/mcp"},
    }));
    let stderr = bench.fail(1, &["test", "crashing"]);
    assert!(
        stderr.contains("crashing cannot be used") && stderr.contains("boom"),
        "{stderr}"
    );
    let stderr = bench.fail(1, &["test", "silent", "--timeout", "1"]);
    assert!(stderr.contains("has not answered after 1 s"), "{stderr}");
    let stderr = bench.fail(1, &["test", "unreachable"]);
    assert!(stderr.contains("unreachable cannot be used"), "{stderr}");
    let ended = bench.run(&["test", "crashing", "--json"]);
    assert_eq!(ended.code, Some(1));
    let json: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(json["passed"], false);
}

#[test]
fn a_project_is_tried_only_when_it_is_approved() {
    let bench = Bench::new();
    let trace = bench.0.path().join("methods");
    let servers = json!({"mcpServers": {"s": entry(json!({"log": trace}))}});
    bench.0.write(".mcp.json", servers.to_string());
    let stderr = bench.fail(1, &["test", "s"]);
    assert!(stderr.contains("zot mcp approve"), "{stderr}");
    bench.succeed(&["list"]);
    assert!(!trace.exists());
    bench.succeed(&["approve", "--yes"]);
    bench.succeed(&["test", "s"]);
    assert!(trace.exists());
}

#[test]
fn variables_reach_the_server() {
    let mut described = entry(json!({}));
    described["command"] = json!("${PYTHON:-python3}");
    described["env"] = json!({"IGNORED": "${UNSET_VARIABLE}"});
    let bench = bench(json!({"s": described}));
    bench.succeed(&["test", "s"]);
    let ended = bench
        .command(&["test", "s"])
        .env("PYTHON", "/no/such/python")
        .run("");
    assert_eq!(ended.code, Some(1), "{}", ended.stdout);
}

#[test]
fn a_projects_program_is_found_from_below() {
    let bench = Bench::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/server.py");
    bench.0.write(
        "tools/run",
        format!("#!/bin/sh\nexec python3 -B {script} '{{}}'\n"),
    );
    let program = bench.0.path().join("tools/run");
    fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    bench.0.write(".git/HEAD", "");
    bench.0.write("deep/er/file", "");
    let servers = json!({"mcpServers": {
        "relative": {"command": "./tools/run"},
        "variable": {"command": "${CLAUDE_PROJECT_DIR}/tools/run", "cwd": "deep"},
    }});
    bench.0.write(".mcp.json", servers.to_string());
    bench.succeed(&["approve", "--yes"]);
    for name in ["relative", "variable"] {
        let mut command = bench.command(&["test", name]).into_command();
        let output = command
            .current_dir(bench.0.path().join("deep/er"))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
