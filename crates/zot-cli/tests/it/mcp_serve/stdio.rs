//! Requests, progress, cancellation and the end of the server.

use serde_json::{Value, json};
use testkit::{PATIENCE, Signal, Workdir};

use super::client::{Client, ENDLESS, MODERN, assert_ends, endless_pid, modern_meta, serve, text};

fn tool_names(list: &Value) -> Vec<&str> {
    let tools = list["tools"].as_array().unwrap();
    tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

#[test]
fn a_handshake_settles_on_a_version() {
    for (wanted, agreed) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("2099-01-01", "2025-11-25"),
        (MODERN, "2025-11-25"),
    ] {
        let workdir = Workdir::new("work");
        let mut zot = serve(&workdir, &[]).spawn();
        zot.send(json!({"jsonrpc": "2.0", "id": "a", "method": "initialize", "params": {
            "protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
        }}));
        let response = zot.wait_for(|frame| frame["id"] == "a");
        assert_eq!(response["result"]["protocolVersion"], agreed);
        assert_eq!(response["result"]["serverInfo"]["name"], "zot");
        assert_eq!(response["result"]["capabilities"], json!({"tools": {}}));
        // Nothing of the other era is in it.
        assert!(response["result"].get("resultType").is_none());
        assert_eq!(zot.finish().code, Some(0));
    }
}

#[test]
fn legacy_clients_get_tools_progress_and_an_answer() {
    let workdir = Workdir::with_files("work");
    let mut client = Client::legacy(&workdir, &[], json!({}));
    assert_eq!(client.result("ping", json!({})), json!({}));
    let list = client.result("tools/list", json!({}));
    assert_eq!(tool_names(&list), ["zot", "zot_reply"]);
    let id = client.send(
        "tools/call",
        json!({"name": "zot", "arguments": {"prompt": "read a.txt"}, "_meta": {"progressToken": "p"}}),
    );
    let frames = client.zot.collect_until(|frame| frame["id"] == id);
    let (response, progress) = frames.split_last().unwrap();
    let steps: Vec<i64> = progress
        .iter()
        .map(|frame| {
            assert_eq!(frame["method"], "notifications/progress");
            assert_eq!(frame["params"]["progressToken"], "p");
            frame["params"]["progress"].as_i64().unwrap()
        })
        .collect();
    assert!(steps.is_sorted() && steps.len() >= 2, "{steps:?}");
    let said: Vec<&str> = progress
        .iter()
        .map(|frame| frame["params"]["message"].as_str().unwrap())
        .collect();
    assert!(said.contains(&"read: a.txt"), "{said:?}");
    let result = &response["result"];
    assert_eq!(result["isError"], false);
    assert!(text(result).contains("a.txt"), "{result}");
    let structured = &result["structuredContent"];
    assert_eq!(structured["answer"], text(result));
    assert_eq!(structured["stop_reason"], "end");
    assert_eq!(structured["steps"], 2);
    assert!(structured["usage"]["input_tokens"].as_u64().unwrap() > 0);
    let session = structured["session_id"].as_str().unwrap();
    assert!(said[0].contains(session), "{said:?}");
    // A client that does not ask for progress gets none.
    client.begin("zot", json!({"prompt": "read a.txt"}));
    let frames = client
        .zot
        .collect_until(|frame| frame.get("result").is_some());
    assert_eq!(frames.len(), 1, "{frames:?}");
}

#[test]
fn modern_clients_need_no_handshake() {
    let workdir = Workdir::with_files("work");
    let mut client = Client::modern(&workdir, &[], json!({}));
    let discovered = client.result("server/discover", json!({}));
    assert_eq!(discovered["supportedVersions"][0], MODERN);
    assert_eq!(discovered["resultType"], "complete");
    let server = &discovered["_meta"]["io.modelcontextprotocol/serverInfo"];
    assert_eq!(server["name"], "zot");
    let list = client.result("tools/list", json!({}));
    assert_eq!(tool_names(&list), ["zot", "zot_reply"]);
    assert!(
        list["ttlMs"].is_u64() && list["cacheScope"].is_string(),
        "{list}"
    );
    let id = client.send(
        "tools/call",
        json!({"name": "zot", "arguments": {"prompt": "read a.txt"}, "_meta": {"progressToken": 7}}),
    );
    let frames = client.zot.collect_until(|frame| frame["id"] == id);
    assert!(frames.len() > 2);
    assert!(
        frames
            .iter()
            .all(|frame| frame["id"] == id || frame["params"]["progressToken"] == 7)
    );
    let result = &frames.last().unwrap()["result"];
    assert_eq!(result["resultType"], "complete");
    assert!(result["structuredContent"]["session_id"].is_string());
    for removed in [
        "ping",
        "initialize",
        "logging/setLevel",
        "subscriptions/listen",
    ] {
        assert_eq!(client.error(removed, json!({})), -32601, "{removed}");
    }
}

#[test]
fn requests_of_neither_era_are_refused() {
    let workdir = Workdir::new("work");
    let mut zot = serve(&workdir, &[]).spawn();
    let mut ask = |params: Value| {
        zot.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params}));
        zot.wait_for(|frame| frame["id"] == 1)["error"].clone()
    };
    assert_eq!(ask(json!({}))["code"], -32602);
    let mut meta = modern_meta(&json!({}));
    meta.as_object_mut()
        .unwrap()
        .remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(ask(json!({"_meta": meta}))["code"], -32602);
    let mut meta = modern_meta(&json!({}));
    meta["io.modelcontextprotocol/protocolVersion"] = "1900-01-01".into();
    let error = ask(json!({"_meta": meta}));
    assert_eq!(error["code"], -32022);
    assert_eq!(error["data"]["requested"], "1900-01-01");
    assert_eq!(error["data"]["supported"][0], MODERN);
}

#[test]
fn both_eras_can_share_a_process() {
    let workdir = Workdir::new("work");
    let mut client = Client::legacy(&workdir, &[], json!({}));
    let legacy = client.result("tools/list", json!({}));
    assert!(legacy.get("resultType").is_none());
    let modern = client.result("tools/list", json!({"_meta": modern_meta(&json!({}))}));
    assert_eq!(modern["resultType"], "complete");
}

#[test]
fn wrong_input_is_answered_and_survived() {
    let workdir = Workdir::new("work");
    let mut client = Client::legacy(&workdir, &[], json!({}));
    for (line, code) in [
        ("{", -32700),
        ("\u{0}\u{1}", -32700),
        ("[]", -32600),
        ("7", -32600),
        (r#"{"id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
            -32602,
        ),
    ] {
        client.zot.send_line(line);
        let response = client.zot.wait_for(|frame| frame.get("error").is_some());
        assert_eq!(response["error"]["code"], code, "{line}: {response}");
    }
    // Responses and notifications that nobody waits for.
    client
        .zot
        .send(json!({"jsonrpc": "2.0", "id": 99, "result": {}}));
    client
        .zot
        .send(json!({"jsonrpc": "2.0", "method": "notifications/whatever"}));
    client.zot.send(
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}),
    );
    assert_eq!(
        client.error("tools/call", json!({"name": "nonsense"})),
        -32602
    );
    assert_eq!(client.error("tools/call", json!({})), -32602);
    assert_eq!(
        client.error("tools/call", json!({"name": "zot", "arguments": 7})),
        -32602
    );
    assert_eq!(client.error("no/such", json!({})), -32601);
    for arguments in [
        json!({}),
        json!({"prompt": ""}),
        json!({"prompt": 7}),
        json!({"prompt": "x", "unknown": 1}),
        json!({"prompt": "x", "cwd": "no such directory"}),
        json!({"prompt": "x", "max_steps": 0}),
        json!({"prompt": "x", "max_cost_usd": -1}),
        json!({"prompt": "x", "reasoning": "very"}),
        json!({"prompt": "x", "model": "no-such-model"}),
    ] {
        let result = client.call("zot", arguments.clone());
        assert_eq!(result["isError"], true, "{arguments}: {result}");
    }
    let alive = client.prompt("run: echo alive");
    assert!(text(&alive).contains("alive"), "{alive}");
}

#[test]
fn a_cancelled_call_ends_its_work_and_gets_no_response() {
    let workdir = Workdir::new("work");
    for client in [
        Client::legacy(&workdir, &[], json!({})),
        Client::modern(&workdir, &[], json!({})),
    ] {
        let mut client = client;
        let id = client.begin("zot", json!({"prompt": ENDLESS}));
        let pid = endless_pid(&workdir);
        client.zot.send(json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id, "reason": "test"},
        }));
        assert_ends(pid);
        std::fs::remove_file(workdir.path().join("pid")).unwrap();
        client.result("tools/list", json!({}));
        let finished = client.zot.finish();
        assert_eq!(finished.code, Some(0));
        let answered = format!("\"id\":{id},");
        assert!(!finished.stdout.contains(&answered), "{}", finished.stdout);
    }
}

#[test]
fn a_request_cannot_reuse_the_id_of_a_running_one() {
    let workdir = Workdir::new("work");
    let mut client = Client::legacy(&workdir, &[], json!({}));
    let id = client.begin("zot", json!({"prompt": ENDLESS}));
    endless_pid(&workdir);
    client
        .zot
        .send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"}));
    assert!(client.response(id).get("error").is_some());
}

#[test]
fn the_end_of_input_lets_running_work_finish() {
    let workdir = Workdir::with_files("work");
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "zot", "arguments": {"prompt": "read a.txt"}, "_meta": modern_meta(&json!({})),
        }}),
    ];
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let finished = serve(&workdir, &[]).run(input);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(
        finished.stdout.contains("session_id"),
        "{}",
        finished.stdout
    );
}

#[test]
fn a_signal_ends_the_server_and_its_work() {
    let workdir = Workdir::new("work");
    let mut client = Client::legacy(&workdir, &[], json!({}));
    client.begin("zot", json!({"prompt": ENDLESS}));
    let pid = endless_pid(&workdir);
    client.zot.signal(Signal::TERM);
    let finished = client.zot.wait(PATIENCE);
    assert_eq!(finished.code, Some(143));
    assert_ends(pid);
}

#[test]
fn a_client_that_goes_away_ends_the_work() {
    let workdir = Workdir::new("work");
    let (mut zot, stdout) = serve(&workdir, &[]).spawn_unread();
    zot.send(
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "zot", "arguments": {"prompt": ENDLESS}, "_meta": modern_meta(&json!({})),
        }}),
    );
    let pid = endless_pid(&workdir);
    drop(stdout);
    zot.close_stdin();
    assert_ends(pid);
}
