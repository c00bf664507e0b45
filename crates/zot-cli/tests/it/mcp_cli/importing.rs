//! `zot mcp import`.

use serde_json::json;

use super::Bench;

#[test]
fn servers_of_other_clients_are_imported() {
    let bench = Bench::new();
    bench.write_home(
        ".claude.json",
        r#"{"mcpServers": {"notes": {"command": "npx", "args": ["-y", "notes"], "env": {"KEY": "hush"}}, "time": {"command": "theirs"}}}"#,
    );
    bench.write_home(
        ".codex/config.toml",
        "[mcp_servers.docs]\nurl = \"https://d.example/mcp\"\nbearer_token_env_var = \"DOCS\"\n",
    );
    bench.write_home(
        "config/opencode/opencode.json",
        r#"{"mcp": {"o": {"type": "local", "command": ["o", "{env:X}"]}}}"#,
    );
    bench.write_home("config/goose/config.yaml", "extensions:\n  g:\n    type: stdio\n    cmd: g\n    args: []\n  developer:\n    type: builtin\n");
    bench.0.write(
        ".vscode/mcp.json",
        r#"{"servers": {"v": {"command": "v", "args": ["${input:key}"]}}, /* x */}"#,
    );
    bench.succeed(&["add", "time", "mine"]);

    // Without a client, nothing is written.
    let before = bench.user();
    let seen = bench.succeed(&["import"]);
    for name in ["notes", "docs", "o", "g", "v"] {
        assert!(
            seen.contains(&format!(": {name} would go into")),
            "{name}: {seen}"
        );
    }
    assert!(!seen.contains("hush"), "{seen}");
    assert_eq!(bench.user(), before);
    bench.succeed(&["import", "claude", "--dry-run"]);
    assert_eq!(bench.user(), before);

    let printed = bench.succeed(&["import", "claude"]);
    assert!(
        printed.contains("time is in") && printed.contains("already"),
        "{printed}"
    );
    assert!(!printed.contains("hush"), "{printed}");
    bench.succeed(&["import", "codex"]);
    bench.succeed(&["import", "opencode"]);
    assert!(
        bench
            .succeed(&["import", "goose"])
            .contains("developer is left out: it is a part of goose")
    );
    let servers = &bench.user()["mcpServers"];
    assert_eq!(
        servers["notes"],
        json!({"type": "stdio", "command": "npx", "args": ["-y", "notes"], "env": {"KEY": "hush"}})
    );
    assert_eq!(servers["time"]["command"], "mine");
    assert_eq!(
        servers["docs"]["headers"]["Authorization"],
        "Bearer ${DOCS}"
    );
    assert_eq!(servers["o"]["args"], json!(["${X}"]));
    assert_eq!(servers["g"]["command"], "g");
    bench.succeed(&["import", "claude", "--force"]);
    assert_eq!(bench.user()["mcpServers"]["time"]["command"], "theirs");

    // What a project brings along stays with it, and has to be approved.
    let ended = bench.run(&["import", "vscode"]);
    assert!(ended.stdout.contains("set $KEY"), "{}", ended.stdout);
    assert!(ended.stderr.contains("zot mcp approve"), "{}", ended.stderr);
    assert_eq!(
        bench.project()["mcpServers"]["v"]["args"],
        json!(["${KEY}"])
    );
    assert!(
        bench
            .succeed(&["list", "--no-start"])
            .contains("not approved")
    );
}

#[test]
fn a_file_that_cannot_be_read_fails_the_import() {
    let bench = Bench::new();
    bench.write_home(".codex/config.toml", "[mcp_servers");
    let ended = bench.run(&["import", "codex"]);
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stdout.contains("config.toml cannot be used"),
        "{}",
        ended.stdout
    );
    assert!(bench.succeed(&["import", "claude"]).contains("no file"));
}
