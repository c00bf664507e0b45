//! `add`, `add-json`, `remove`, `enable` and `disable`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use serde_json::{Value, json};
use testkit::PATIENCE;

use super::Bench;

/// Command lines of claude-code's documentation, and the entries they make.
fn command_lines() -> Vec<(&'static [&'static str], Value)> {
    vec![
        (
            &["add", "x", "--", "npx", "-y", "server"][..],
            json!({"type": "stdio", "command": "npx", "args": ["-y", "server"]}),
        ),
        (
            &["add", "x", "/path/to/server", "arg1", "arg2"],
            json!({"type": "stdio", "command": "/path/to/server", "args": ["arg1", "arg2"]}),
        ),
        (
            &[
                "add",
                "--transport",
                "stdio",
                "x",
                "--env",
                "KEY=a=b",
                "-e",
                "B=2",
                "--",
                "npx",
                "-e",
                "server",
            ],
            json!({"type": "stdio", "command": "npx", "args": ["-e", "server"], "env": {"KEY": "a=b", "B": "2"}}),
        ),
        (
            &["add", "--transport", "http", "x", "https://mcp.example/mcp"],
            json!({"type": "http", "url": "https://mcp.example/mcp"}),
        ),
        (
            &[
                "add",
                "--transport",
                "sse",
                "x",
                "https://mcp.example/sse",
                "--header",
                "X-API-Key: k:1",
                "-H",
                "B: 2",
            ],
            json!({"type": "sse", "url": "https://mcp.example/sse", "headers": {"X-API-Key": "k:1", "B": "2"}}),
        ),
        (
            &["add", "x", "https://mcp.example/mcp"],
            json!({"type": "http", "url": "https://mcp.example/mcp"}),
        ),
        (
            &[
                "add",
                "-t",
                "http",
                "--client-id",
                "me",
                "--client-secret",
                "--callback-port",
                "8080",
                "x",
                "https://mcp.example",
            ],
            json!({"type": "http", "url": "https://mcp.example", "oauth": {"clientId": "me", "clientSecret": "hush", "callbackPort": 8080}}),
        ),
        (
            &[
                "add-json",
                "x",
                r#"{"command": "y", "future": {"kept": true}}"#,
            ],
            json!({"command": "y", "future": {"kept": true}}),
        ),
    ]
}

#[test]
fn command_lines_of_claude_code_work() {
    for (arguments, expected) in command_lines() {
        let bench = Bench::new();
        let command = bench.command(arguments).env("MCP_CLIENT_SECRET", "hush");
        let ended = command.run("");
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stdout.contains("mcp.json") && !ended.stdout.contains("hush"));
        assert_eq!(
            bench.user(),
            json!({"mcpServers": {"x": expected}}),
            "{arguments:?}"
        );
        let path = bench.0.zot_home().join("mcp.json");
        assert_eq!(
            fs::metadata(path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
}

#[test]
fn a_name_is_taken_once_unless_forced() {
    let bench = Bench::new();
    bench.succeed(&["add", "x", "one"]);
    assert!(
        bench
            .fail(1, &["add", "x", "two"])
            .contains("exists already")
    );
    bench.fail(1, &["add-json", "x", "{\"command\": \"two\"}"]);
    assert_eq!(bench.user()["mcpServers"]["x"]["command"], "one");
    bench.succeed(&["add", "--force", "x", "two"]);
    assert_eq!(bench.user()["mcpServers"]["x"]["command"], "two");
    // The other file has names of its own.
    bench.succeed(&["add", "-s", "project", "x", "three"]);
    assert_eq!(bench.project()["mcpServers"]["x"]["command"], "three");
    let stderr = bench.fail(2, &["remove", "x"]);
    assert!(stderr.contains("-s user or -s project"), "{stderr}");
    bench.succeed(&["remove", "x", "-s", "project"]);
    bench.succeed(&["remove", "x"]);
    assert_eq!(bench.user(), json!({"mcpServers": {}}));
}

#[test]
fn what_is_not_understood_is_kept() {
    let bench = Bench::new();
    let text = "{\n    \"other\": [1, 2],\n    \"mcpServers\": {\n        \"a\": {\"command\": \"x\",  \"odd\": 1}\n    }\n}\n";
    bench.0.write(".mcp.json", text);
    bench.succeed(&["add", "-s", "project", "b", "y"]);
    bench.succeed(&["remove", "b"]);
    assert_eq!(bench.0.read(".mcp.json").unwrap(), text);
    // A file that cannot be understood is not touched.
    for broken in ["{\"mcpServers\": [", "{\"mcpServers\": 5}"] {
        bench.0.write(".mcp.json", broken);
        let stderr = bench.fail(2, &["add", "-s", "project", "b", "y"]);
        assert!(stderr.contains(".mcp.json, line 1"), "{stderr}");
        assert_eq!(bench.0.read(".mcp.json").unwrap(), broken);
    }
}

#[test]
fn servers_are_switched_where_they_are_or_for_this_user() {
    let bench = Bench::new();
    bench.succeed(&["add", "mine", "true"]);
    bench.succeed(&["add", "-s", "project", "ours", "true"]);
    let before = bench.0.read(".mcp.json");
    assert!(
        bench
            .succeed(&["disable", "mine"])
            .contains("mine is disabled")
    );
    assert!(
        bench
            .succeed(&["disable", "ours"])
            .contains("ours is disabled")
    );
    assert_eq!(
        bench.succeed(&["disable", "ours"]),
        "ours is already disabled\n"
    );
    assert_eq!(bench.user()["mcpServers"]["mine"]["enabled"], false);
    assert_eq!(
        bench.user()["mcpServers"]["ours"],
        json!({"enabled": false})
    );
    // Others are not concerned, and the approval holds.
    assert_eq!(bench.0.read(".mcp.json"), before);
    let list = bench.succeed(&["list", "--no-start"]);
    assert_eq!(list.matches("disabled").count(), 2, "{list}");
    bench.succeed(&["enable", "mine"]);
    bench.succeed(&["enable", "ours"]);
    assert_eq!(bench.user()["mcpServers"].as_object().unwrap().len(), 1);
    let list = bench.succeed(&["list", "--no-start"]);
    assert_eq!(list.matches("enabled").count(), 2, "{list}");
    // For everybody.
    bench.succeed(&["disable", "-s", "project", "ours"]);
    assert_eq!(bench.project()["mcpServers"]["ours"]["enabled"], false);
    // And the user can still want it.
    bench.succeed(&["enable", "ours"]);
    assert_eq!(bench.user()["mcpServers"]["ours"], json!({"enabled": true}));
    let list = bench.succeed(&["list", "--no-start"]);
    assert_eq!(list.matches("enabled").count(), 2, "{list}");
}

#[test]
fn a_secret_in_a_projects_file_is_noticed() {
    let bench = Bench::new();
    let add = [
        "add",
        "-s",
        "project",
        "x",
        "-e",
        "API_KEY=hush",
        "-e",
        "B=${B}",
        "true",
    ];
    let ended = bench.run(&add);
    assert!(
        ended.stderr.contains("API_KEY") && ended.stderr.contains("${API_KEY}"),
        "{}",
        ended.stderr
    );
    assert!(!ended.stderr.contains("hush") && !ended.stderr.contains("variable B"));
    let refused = bench.command(&[
        "add",
        "-s",
        "project",
        "y",
        "https://y",
        "--client-id",
        "me",
        "--client-secret",
    ]);
    let refused = refused.env("MCP_CLIENT_SECRET", "hush").run("");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
}

#[test]
fn no_change_is_lost_between_processes() {
    for scope in ["user", "project"] {
        let bench = Bench::new();
        let names: Vec<String> = (0..8).map(|number| format!("s{number}")).collect();
        let adding: Vec<_> = names
            .iter()
            .map(|name| bench.command(&["add", "-s", scope, name, "true"]).spawn())
            .collect();
        for process in adding {
            let ended = process.wait(PATIENCE);
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        }
        let file = match scope {
            "user" => bench.user(),
            _ => bench.project(),
        };
        assert_eq!(file["mcpServers"].as_object().unwrap().len(), 8);
    }
}

#[test]
fn a_pipe_in_place_of_a_file_holds_nothing_up() {
    let bench = Bench::new();
    let path = bench.0.path().join(".mcp.json");
    let made = Command::new("mkfifo").arg(&path).status().unwrap();
    assert!(made.success());
    let ended = bench.run(&["list"]);
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.stderr.contains(".mcp.json: cannot be read"),
        "{}",
        ended.stderr
    );
    bench.fail(1, &["add", "-s", "project", "x", "true"]);
}
