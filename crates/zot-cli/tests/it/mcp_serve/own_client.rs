//! zot as a client of zot: both sides of the protocol are ours, so only both can be wrong.

use serde_json::{Value, json};
use testkit::{Workdir, ZotCommand, poll_until};

use super::http_client::Server;
use crate::support::binary;

/// Waits until a prompt that calls a tool of the server `inner` has the expected answer.
fn assert_answers(workdir: &Workdir, inner: &Value, prompt: &str, expected: &str) {
    let servers = json!({"mcpServers": {"inner": inner}}).to_string();
    // The first request does not wait for a server that is slow to start.
    poll_until("the tool of the server answers", || {
        let run = ZotCommand::new(binary(), workdir)
            .arguments([
                "-p",
                "--provider",
                "offline",
                "--no-mcp",
                "--mcp-config",
                &servers,
                prompt,
            ])
            .run("");
        run.stdout.contains(expected)
    });
}

#[test]
fn a_zot_can_use_another_over_pipes_in_both_eras() {
    for protocol in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let workdir = Workdir::with_files("work");
        let inner = json!({
            "command": binary(),
            "args": ["mcp", "serve", "--provider", "offline", "--tools=read"],
            "protocol": protocol,
        });
        let read = r#"call inner__read {"path": "nonl.txt"}"#;
        assert_answers(&workdir, &inner, read, "no newline at end");
    }
}

#[test]
fn a_zot_can_use_another_over_http_in_both_eras() {
    let workdir = Workdir::with_files("work");
    let server = Server::start(&workdir, &[]);
    for protocol in [None, Some("2025-11-25"), Some("2026-07-28")] {
        let mut inner = json!({
            "type": "http",
            "url": format!("http://{}/mcp", server.address),
            "headers": {"Authorization": format!("Bearer {}", server.token)},
        });
        if let Some(protocol) = protocol {
            inner["protocol"] = protocol.into();
        }
        let ask = r#"call inner__zot {"prompt": "run: echo $((6 * 7))"}"#;
        assert_answers(&workdir, &inner, ask, "42");
    }
}
