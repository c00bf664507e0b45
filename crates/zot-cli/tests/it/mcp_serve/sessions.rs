//! Sessions: continued, several at once, limited.

use serde_json::{Value, json};
use testkit::{ModelServer, Wire, Workdir, ZotCommand, poll_until};

use super::client::{Client, serve, text};
use crate::support::binary;

fn session(result: &Value) -> String {
    let id = result["structuredContent"]["session_id"].as_str();
    id.unwrap_or_else(|| panic!("no session: {result}"))
        .to_owned()
}

fn user_messages(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap();
    messages
        .iter()
        .filter(|message| message["role"] == "user")
        .map(|message| message["content"].to_string())
        .collect()
}

/// A conversation goes on in the same server, in another one, and with `zot --resume`.
#[test]
fn a_reply_remembers_the_conversation() {
    let (server, workdir) = (ModelServer::start(), Workdir::with_files("work"));
    let start = || {
        ZotCommand::new(binary(), &workdir)
            .arguments(["mcp", "serve"])
            .model(&server, Wire::OpenAi)
            .spawn()
    };
    let call = |zot: &mut testkit::Zot, tool: &str, arguments: Value| {
        zot.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": tool, "arguments": arguments, "_meta": super::client::modern_meta(&json!({})),
        }}));
        zot.wait_for(|frame| frame["id"] == 1)["result"].clone()
    };
    let mut first = start();
    let id = session(&call(&mut first, "zot", json!({"prompt": "say:1 first"})));
    let reply = json!({"session_id": id, "prompt": "say:1 second"});
    assert_eq!(session(&call(&mut first, "zot_reply", reply)), id);
    drop(first);
    let reply = json!({"session_id": id, "prompt": "say:1 third"});
    assert_eq!(session(&call(&mut start(), "zot_reply", reply)), id);
    let resumed = ZotCommand::new(binary(), &workdir)
        .model(&server, Wire::OpenAi)
        .arguments(["-p", "--resume", &id, "say:1 fourth"])
        .run("");
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let said = user_messages(&server.requests().last().unwrap().body);
    for (message, word) in said.iter().zip(["first", "second", "third", "fourth"]) {
        assert!(message.contains(word), "{said:?}");
    }
    assert_eq!(said.len(), 4, "{said:?}");
}

#[test]
fn only_whole_ids_of_sessions_are_accepted() {
    let workdir = Workdir::new("work");
    let mut client = Client::modern(&workdir, &[], json!({}));
    let first = client.prompt("run: echo one");
    let id = session(&first);
    let path = workdir.zot_home().join("sessions").display().to_string();
    for wrong in ["", "nonsense", &id[..8], &path, "../a"] {
        let result = client.call(
            "zot_reply",
            json!({"session_id": wrong, "prompt": "run: echo x"}),
        );
        assert_eq!(result["isError"], true, "{wrong}");
        assert!(text(&result).contains("unknown session"), "{result}");
    }
}

#[test]
fn a_session_works_in_its_own_directory() {
    let workdir = Workdir::with_files("work");
    workdir.write("sub/inside.txt", "x");
    let mut client = Client::modern(&workdir, &[], json!({}));
    let first = client.call(
        "zot",
        json!({"prompt": "list the files here", "cwd": "sub"}),
    );
    assert!(text(&first).contains("inside.txt"), "{first}");
    let reply = json!({"session_id": session(&first), "prompt": "run: pwd"});
    let second = client.call("zot_reply", reply);
    assert!(text(&second).contains("work/sub"), "{second}");
}

#[test]
fn a_confined_server_stays_in_its_directory() {
    let workdir = Workdir::with_files("work");
    let outside = workdir.parent();
    std::fs::write(outside.join("beside.txt"), "a secret\n").unwrap();
    workdir.write("sub/inside.txt", "readable\n");
    let beside = json!({"prompt": "read ../../beside.txt", "cwd": "sub"});
    let mut free = Client::modern(&workdir, &[], json!({}));
    let there = free.call("zot", json!({"prompt": "run: echo x", "cwd": outside}));
    assert_eq!(there["isError"], false, "{there}");
    let read = free.call("zot", beside.clone());
    assert!(text(&read).contains("a secret"), "{read}");
    for flag in ["--jail", "--sandbox=workspace"] {
        let mut held = Client::modern(&workdir, &[flag], json!({}));
        for cwd in [outside.to_str().unwrap(), "..", "sub/../..", "/"] {
            let result = held.call("zot", json!({"prompt": "run: echo x", "cwd": cwd}));
            assert_eq!(result["isError"], true, "{cwd}");
            assert!(text(&result).contains("--jail"), "{result}");
        }
        let reply = json!({"session_id": session(&there), "prompt": "run: echo x"});
        let result = held.call("zot_reply", reply);
        assert!(text(&result).contains("--jail"), "{result}");
        let refused = held.call("zot", beside.clone());
        assert!(!text(&refused).contains("a secret"), "{refused}");
        let inside = json!({"prompt": "read inside.txt", "cwd": "sub"});
        let inside = held.call("zot", inside);
        assert!(text(&inside).contains("readable"), "{inside}");
    }
}

#[test]
fn calls_run_side_by_side_up_to_a_limit() {
    let workdir = Workdir::new("work");
    let mut client = Client::legacy(&workdir, &[], json!({}));
    for number in 0..16 {
        let prompt = format!(
            "run: touch started{number}; until test -e go; do sleep 0.05; done; echo {number}"
        );
        client.begin("zot", json!({"prompt": prompt}));
    }
    for number in 0..16 {
        let path = workdir.path().join(format!("started{number}"));
        poll_until("all calls run", || path.exists());
    }
    let refused = client.prompt("run: echo x");
    assert_eq!(refused["isError"], true);
    assert!(text(&refused).contains("16 calls are running"), "{refused}");
    workdir.write("go", "");
    let mut sessions = Vec::new();
    while sessions.len() < 16 {
        let frame = client.zot.wait_for(|frame| frame.get("result").is_some());
        sessions.push(session(&frame["result"]));
    }
    sessions.sort();
    sessions.dedup();
    assert_eq!(sessions.len(), 16);
    assert!(text(&client.prompt("run: echo again")).contains("again"));
}

#[test]
fn a_session_has_one_writer() {
    let workdir = Workdir::new("work");
    let mut client = Client::legacy(&workdir, &[], json!({}));
    client.send(
        "tools/call",
        json!({"name": "zot", "arguments": {"prompt": super::client::ENDLESS}, "_meta": {"progressToken": 1}}),
    );
    let opening = client
        .zot
        .wait_for(|frame| frame["method"] == "notifications/progress");
    let message = opening["params"]["message"].as_str().unwrap();
    let id = message.split([' ', ':']).nth(1).unwrap().to_owned();
    super::client::endless_pid(&workdir);
    let refused = client.call(
        "zot_reply",
        json!({"session_id": id, "prompt": "run: echo x"}),
    );
    assert_eq!(refused["isError"], true);
    assert!(text(&refused).contains("in use"), "{refused}");
}

#[test]
fn the_budget_counts_for_all_calls_together() {
    let workdir = Workdir::with_files("work");
    let mut client = Client::legacy(&workdir, &["--max-process-steps", "3"], json!({}));
    let first = client.prompt("read a.txt");
    assert_eq!(first["isError"], false, "{first}");
    let second = client.prompt("read a.txt");
    assert_eq!(second["structuredContent"]["stop_reason"], "error");
    assert!(text(&second).contains("budget"), "{second}");
    let third = client.prompt("read a.txt");
    assert_eq!(third["structuredContent"]["steps"], 0, "{third}");
}

#[test]
fn a_failing_model_is_an_error_of_the_tool() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let mut zot = ZotCommand::new(binary(), &workdir)
        .arguments(["mcp", "serve"])
        .model(&server, Wire::OpenAi)
        .spawn();
    zot.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "zot", "arguments": {"prompt": "err:400:broken"}, "_meta": super::client::modern_meta(&json!({})),
    }}));
    let result = zot.wait_for(|frame| frame["id"] == 1)["result"].clone();
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("broken"), "{result}");
    assert_eq!(result["structuredContent"]["stop_reason"], "error");
}

#[test]
fn a_server_without_a_key_starts_and_says_what_is_missing() {
    let workdir = Workdir::new("work");
    let mut zot = ZotCommand::new(binary(), &workdir)
        .arguments(["mcp", "serve"])
        .spawn();
    zot.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "zot", "arguments": {"prompt": "x"}, "_meta": super::client::modern_meta(&json!({})),
    }}));
    let result = zot.wait_for(|frame| frame["id"] == 1)["result"].clone();
    assert_eq!(result["isError"], true);
    assert!(text(&result).contains("zot login"), "{result}");
    let wrong = serve(&workdir, &["--http", "0.0.0.0:0"]).run("");
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("other machines"), "{}", wrong.stderr);
}

#[test]
fn mcp_servers_of_the_user_are_started_only_if_asked_for() {
    let workdir = Workdir::new("work");
    let mark = workdir.path().join("started");
    let server = json!({"mcpServers": {"mark": {
        "command": "sh", "args": ["-c", format!("touch {}; cat > /dev/null", mark.display())],
    }}});
    std::fs::create_dir_all(workdir.zot_home()).unwrap();
    std::fs::write(workdir.zot_home().join("mcp.json"), server.to_string()).unwrap();
    workdir.write(".mcp.json", server.to_string());
    let mut client = Client::modern(&workdir, &[], json!({}));
    client.prompt("run: echo x");
    assert_eq!(client.zot.finish().code, Some(0));
    assert!(!mark.exists());
    let mut client = Client::modern(&workdir, &["--user-mcp"], json!({}));
    client.prompt("run: echo x");
    poll_until("the server is started", || mark.exists());
    assert_eq!(client.zot.finish().code, Some(0));
}
