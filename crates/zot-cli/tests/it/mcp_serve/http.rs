//! Streamable HTTP: access, sessions of legacy clients, requests of modern ones.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};
use testkit::{PATIENCE, Signal, Workdir};

use super::client::{ENDLESS, MODERN, assert_ends, endless_pid, modern_meta, text};
use super::http_client::Server;

fn call(id: i64, arguments: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": "zot", "arguments": arguments, "_meta": {"progressToken": "p"},
    }})
}

#[test]
fn only_local_clients_with_the_token_get_in() {
    let workdir = Workdir::new("work");
    let server = Server::start(&workdir, &[]);
    let bearer = format!("Bearer {}", server.token);
    let wrong = format!("Bearer {}x", &server.token[1..]);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {
        "_meta": modern_meta(&json!({})),
    }})
    .to_string();
    let ask = |headers: &[(&str, &str)]| {
        let usual = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", MODERN),
            ("Mcp-Method", "tools/list"),
        ];
        server
            .raw("POST", "/mcp", &[&usual, headers].concat(), &list)
            .status
    };
    let (host, token) = (("Host", "localhost"), ("Authorization", bearer.as_str()));
    assert_eq!(ask(&[host, token]), 200);
    assert_eq!(ask(&[("Host", "127.0.0.1:80"), token]), 200);
    assert_eq!(ask(&[("Host", "[::1]:80"), token]), 200);
    assert_eq!(
        ask(&[host, token, ("Origin", "http://localhost:3000")]),
        200
    );
    assert_eq!(ask(&[host]), 401);
    assert_eq!(ask(&[host, ("Authorization", &wrong)]), 401);
    assert_eq!(ask(&[host, ("Authorization", &server.token)]), 401);
    assert_eq!(ask(&[host, token, token]), 401);
    for name in [
        "evil.example",
        "evil.example:80",
        "localhost.evil.example",
        "10.0.0.1",
        "",
    ] {
        assert_eq!(ask(&[("Host", name), token]), 403, "{name:?}");
    }
    for origin in [
        "http://evil.example",
        "null",
        "https://localhost.evil.example",
        "file://",
    ] {
        assert_eq!(ask(&[host, token, ("Origin", origin)]), 403, "{origin:?}");
    }
    assert_eq!(server.raw("GET", "/mcp", &[host, token], "").status, 405);
    assert_eq!(
        server.raw("OPTIONS", "/mcp", &[host, token], "").status,
        405
    );
    assert_eq!(server.raw("POST", "/other", &[host, token], "").status, 404);
    assert_eq!(server.raw("POST", "/mcp", &[host, token], "{}").status, 415);
    let json = ("Content-Type", "application/json");
    assert_eq!(
        server.raw("POST", "/mcp", &[host, token, json], "{").status,
        400
    );
}

#[test]
fn a_token_file_keeps_the_token() {
    let workdir = Workdir::new("work");
    let path = workdir.path().join("token");
    let arguments = ["--token-file", path.to_str().unwrap()];
    let first = Server::start(&workdir, &arguments).token;
    assert_eq!(Server::start(&workdir, &arguments).token, first);
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn legacy_clients_have_sessions() {
    let workdir = Workdir::with_files("work");
    let server = Server::start(&workdir, &[]);
    let session = server.initialize(&json!({}));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let mut reply = server.legacy(&session, &list);
    assert_eq!(reply.status, 200);
    assert_eq!(reply.message()["result"]["tools"][0]["name"], "zot");
    // Older clients send no version.
    assert_eq!(
        server.post(&[("Mcp-Session-Id", &session)], &list).status,
        200
    );
    assert_eq!(server.post(&[], &list).status, 400);
    assert_eq!(server.legacy("nonsense", &list).status, 404);
    let odd = [
        ("Mcp-Session-Id", session.as_str()),
        ("MCP-Protocol-Version", "1900-01-01"),
    ];
    assert_eq!(server.post(&odd, &list).status, 400);

    let mut reply = server.legacy(&session, &call(2, json!({"prompt": "read a.txt"})));
    let events = reply.events();
    let (last, progress) = events.split_last().unwrap();
    assert!(
        progress
            .iter()
            .any(|event| event["params"]["message"] == "read: a.txt"),
        "{events:?}"
    );
    assert!(
        last["result"]["structuredContent"]["session_id"].is_string(),
        "{last}"
    );

    let bearer = format!("Bearer {}", server.token);
    let delete = || {
        let headers = [
            ("Host", "localhost"),
            ("Authorization", bearer.as_str()),
            ("Mcp-Session-Id", session.as_str()),
        ];
        server.raw("DELETE", "/mcp", &headers, "").status
    };
    assert_eq!(delete(), 204);
    assert_eq!(delete(), 404);
    assert_eq!(server.legacy(&session, &list).status, 404);
}

#[test]
fn legacy_clients_are_asked_on_the_stream_and_cancel_with_a_message() {
    let workdir = Workdir::new("work");
    let server = Server::start(&workdir, &["--confirm=write"]);
    let session = server.initialize(&json!({"elicitation": {}}));
    let mut reply = server.legacy(&session, &call(1, json!({"prompt": "write made: x"})));
    let question = loop {
        let event = reply.event().unwrap();
        if event["method"] == "elicitation/create" {
            break event;
        }
    };
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}});
    assert_eq!(server.legacy(&session, &answer).status, 202);
    assert_eq!(reply.events().last().unwrap()["result"]["isError"], false);
    assert!(workdir.path().join("made").exists());

    let mut reply = server.legacy(&session, &call(2, json!({"prompt": ENDLESS})));
    let pid = endless_pid(&workdir);
    // Another session cannot cancel it.
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2}});
    let other = server.initialize(&json!({}));
    assert_eq!(server.legacy(&other, &cancel).status, 202);
    assert!(std::path::Path::new("/proc").join(pid.to_string()).exists());
    assert_eq!(server.legacy(&session, &cancel).status, 202);
    assert_ends(pid);
    assert!(
        reply
            .events()
            .iter()
            .all(|event| event.get("result").is_none())
    );
}

#[test]
fn modern_requests_stand_for_themselves() {
    let workdir = Workdir::with_files("work");
    let server = Server::start(&workdir, &[]);
    let none = json!({});
    let mut reply = server.modern("server/discover", &none, json!({}));
    assert_eq!(reply.status, 200);
    assert!(!reply.headers.contains_key("mcp-session-id"));
    assert_eq!(reply.message()["result"]["supportedVersions"][0], MODERN);
    let mut reply = server.modern("ping", &none, json!({}));
    assert_eq!(reply.status, 404);
    assert_eq!(reply.message()["error"]["code"], -32601);
    let arguments = json!({"name": "zot", "arguments": {"prompt": "read a.txt"}, "_meta": {"progressToken": 1}});
    let mut reply = server.modern("tools/call", &none, arguments);
    assert_eq!(reply.headers["x-accel-buffering"], "no");
    let events = reply.events();
    assert!(
        events
            .iter()
            .any(|event| event["params"]["message"] == "read: a.txt"),
        "{events:?}"
    );
    let result = &events.last().unwrap()["result"];
    assert_eq!(result["resultType"], "complete");
    assert!(text(result).contains("a.txt"), "{result}");
    // A client that reads no events gets only the response.
    let bearer = format!("Bearer {}", server.token);
    let headers = [
        ("Host", "localhost"),
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Accept", "application/json"),
        ("MCP-Protocol-Version", MODERN),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "=?base64?em90?="),
    ];
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "zot", "arguments": {"prompt": "read a.txt"}, "_meta": modern_meta(&none),
    }});
    let mut reply = server.raw("POST", "/mcp", &headers, &body.to_string());
    assert_eq!(reply.message()["result"]["isError"], false);
}

#[test]
fn headers_must_agree_with_the_body() {
    let workdir = Workdir::new("work");
    let server = Server::start(&workdir, &[]);
    let version = ("MCP-Protocol-Version", MODERN);
    let method = ("Mcp-Method", "tools/call");
    let name = ("Mcp-Name", "zot");
    let message = |meta: Value| {
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "zot", "arguments": {}, "_meta": meta,
        }})
    };
    let refused = |headers: &[(&str, &str)], meta: Value| {
        let mut reply = server.post(headers, &message(meta));
        assert_eq!(reply.status, 400, "{headers:?}");
        let message = reply.message();
        assert_eq!(message["id"], 1);
        message["error"]["code"].as_i64().unwrap()
    };
    let meta = modern_meta(&json!({}));
    for headers in [
        &[method, name][..],
        &[version, name],
        &[version, method],
        &[("MCP-Protocol-Version", "2025-11-25"), method, name],
        &[version, version, method, name],
        &[version, ("Mcp-Method", "tools/list"), name],
        &[version, ("Mcp-Method", "Tools/Call"), name],
        &[version, method, ("Mcp-Name", "zot_reply")],
        &[version, method, ("Mcp-Name", "=?base64?!?=")],
    ] {
        assert_eq!(refused(headers, meta.clone()), -32020, "{headers:?}");
    }
    assert_eq!(refused(&[version, method, name], json!({})), -32602);
    let mut old = meta.clone();
    old["io.modelcontextprotocol/protocolVersion"] = "1900-01-01".into();
    let headers = [("MCP-Protocol-Version", "1900-01-01"), method, name];
    assert_eq!(refused(&headers, old), -32022);
}

#[test]
fn hanging_up_cancels_a_modern_request() {
    let workdir = Workdir::new("work");
    let server = Server::start(&workdir, &[]);
    let arguments =
        json!({"name": "zot", "arguments": {"prompt": ENDLESS}, "_meta": {"progressToken": 1}});
    let mut reply = server.modern("tools/call", &json!({}), arguments);
    reply.event().unwrap();
    let pid = endless_pid(&workdir);
    drop(reply);
    assert_ends(pid);
}

#[test]
fn modern_clients_are_asked_in_rounds() {
    let workdir = Workdir::new("work");
    let server = Server::start(&workdir, &["--confirm"]);
    let elicits = json!({"elicitation": {}});
    let mut params = json!({"name": "zot", "arguments": {"prompt": "write made: x"}});
    let first = server
        .modern("tools/call", &elicits, params.clone())
        .events()
        .pop()
        .unwrap();
    let result = &first["result"];
    assert_eq!(result["resultType"], "input_required", "{first}");
    let key = result["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap();
    params["requestState"] = result["requestState"].clone();
    params["inputResponses"] = json!({key: {"action": "accept", "content": {}}});
    let second = server
        .modern("tools/call", &elicits, params.clone())
        .events()
        .pop()
        .unwrap();
    assert_eq!(second["result"]["resultType"], "complete", "{second}");
    assert!(workdir.path().join("made").exists());
    let mut again = server.modern("tools/call", &elicits, params);
    assert_eq!(again.status, 400);
    assert_eq!(again.message()["error"]["code"], -32602);
}

#[test]
fn a_signal_ends_all_work() {
    let workdir = Workdir::new("work");
    let server = Server::start(&workdir, &[]);
    let session = server.initialize(&json!({}));
    let reply = server.legacy(&session, &call(1, json!({"prompt": ENDLESS})));
    let pid = endless_pid(&workdir);
    server.zot.signal(Signal::TERM);
    assert_ends(pid);
    drop(reply);
    assert_eq!(server.zot.wait(PATIENCE).code, Some(143));
}
