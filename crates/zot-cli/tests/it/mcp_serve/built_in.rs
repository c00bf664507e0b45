//! `--tools`: the built-in tools themselves.

use serde_json::{Value, json};
use testkit::{IMAGE_BASE64, Workdir};

use crate::support::lacks_namespaces;

use super::client::{Client, ENDLESS, assert_ends, endless_pid, serve, text};

fn names(client: &mut Client) -> Vec<String> {
    let list = client.result("tools/list", json!({}));
    let tools = list["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn all_or_some_can_be_offered() {
    let workdir = Workdir::new("work");
    let mut all = Client::legacy(&workdir, &["--tools"], json!({}));
    assert_eq!(
        names(&mut all),
        ["zot", "zot_reply", "read", "write", "edit", "bash"]
    );
    let mut some = Client::modern(&workdir, &["--tools=bash,read"], json!({}));
    assert_eq!(names(&mut some), ["zot", "zot_reply", "read", "bash"]);
    assert_eq!(some.error("tools/call", json!({"name": "write"})), -32602);
    let wrong = serve(&workdir, &["--tools=grep"]).run("");
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("grep") && wrong.stderr.contains("bash"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn they_work_in_the_servers_directory() {
    let workdir = Workdir::with_files("work");
    let mut client = Client::legacy(&workdir, &["--tools"], json!({}));
    let read = client.call("read", json!({"path": "a.txt"}));
    assert!(text(&read).contains("two"), "{read}");
    client.call("write", json!({"path": "new.txt", "content": "made\n"}));
    assert_eq!(workdir.read("new.txt").as_deref(), Some("made\n"));
    let image = client.call("read", json!({"path": "pic.png"}));
    let blocks = image["content"].as_array().unwrap();
    let image = blocks
        .iter()
        .find(|block| block["type"] == "image")
        .unwrap();
    assert_eq!(image["data"], IMAGE_BASE64);
    assert_eq!(image["mimeType"], "image/png");
    for wrong in [json!({}), json!({"path": "none.txt"}), json!({"path": 7})] {
        assert_eq!(client.call("read", wrong)["isError"], true);
    }
}

#[test]
fn output_is_progress_and_cancelling_ends_the_command() {
    let workdir = Workdir::new("work");
    let mut client = Client::modern(&workdir, &["--tools"], json!({}));
    let id = client.send(
        "tools/call",
        json!({"name": "bash", "arguments": {"command": "echo one; sleep 0.1; echo two"}, "_meta": {"progressToken": 1}}),
    );
    let frames = client.zot.collect_until(|frame| frame["id"] == id);
    assert!(
        frames
            .iter()
            .any(|frame| frame["params"]["message"].to_string().contains("one")),
        "{frames:?}"
    );
    let command = ENDLESS.strip_prefix("run: ").unwrap();
    let id = client.begin("bash", json!({"command": command}));
    let pid = endless_pid(&workdir);
    client.zot.send(json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id},
    }));
    assert_ends(pid);
}

#[test]
fn jail_and_sandbox_confine_them() {
    let workdir = Workdir::with_files("work");
    std::fs::write(workdir.parent().join("beside.txt"), "a secret\n").unwrap();
    let beside = json!({"path": "../beside.txt"});
    let mut free = Client::legacy(&workdir, &["--tools"], json!({}));
    assert!(text(&free.call("read", beside.clone())).contains("secret"));
    for flag in ["--jail", "--sandbox=workspace", "--sandbox=read-only"] {
        let mut held = Client::legacy(&workdir, &["--tools", flag], json!({}));
        let refused = held.call("read", beside.clone());
        assert_eq!(refused["isError"], true, "{refused}");
        let shown = held.call("bash", json!({"command": "cat ../beside.txt"}));
        assert!(!text(&shown).contains("secret"), "{shown}");
        assert!(text(&held.call("read", json!({"path": "a.txt"}))).contains("two"));
        let written = held.call("write", json!({"path": "made.txt", "content": "x"}));
        assert_eq!(written["isError"], flag.ends_with("only"), "{written}");
    }
}

#[test]
fn they_wait_for_permission_in_both_eras() {
    let workdir = Workdir::new("work");
    let touch = |name: &str| json!({"command": format!("touch {name}")});
    let elicits = json!({"elicitation": {}});
    let arguments = ["--tools", "--confirm=bash"];
    let mut legacy = Client::legacy(&workdir, &arguments, elicits.clone());
    let id = legacy.begin("bash", touch("legacy"));
    let question = legacy
        .zot
        .wait_for(|frame| frame["method"] == "elicitation/create");
    assert!(!workdir.path().join("legacy").exists());
    let accept = json!({"action": "accept", "content": {}});
    legacy
        .zot
        .send(json!({"jsonrpc": "2.0", "id": question["id"], "result": accept}));
    legacy.response(id);
    assert!(workdir.path().join("legacy").exists());

    let mut modern = Client::modern(&workdir, &arguments, elicits);
    let first = modern.call("bash", touch("modern"));
    assert_eq!(first["resultType"], "input_required");
    let key = first["inputRequests"]
        .as_object()
        .unwrap()
        .keys()
        .next()
        .unwrap();
    let again = |answer: Value| {
        json!({
            "name": "bash", "arguments": touch("modern"), "requestState": first["requestState"],
            "inputResponses": {key: answer},
        })
    };
    let second = modern.result("tools/call", again(accept));
    assert_eq!(second["isError"], false, "{second}");
    assert!(workdir.path().join("modern").exists());

    let mut silent = Client::modern(&workdir, &arguments, json!({}));
    let refused = silent.call("bash", touch("never"));
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(!workdir.path().join("never").exists());
}

/// zot's own directory has keys and sessions.
#[test]
fn zots_own_directory_is_hidden_in_the_sandbox() {
    if lacks_namespaces() {
        return;
    }
    let workdir = Workdir::new("work");
    workdir.write("own/auth.json", "a secret");
    let own = workdir.path().join("own");
    for (flags, is_hidden) in [
        (&["--tools"][..], false),
        (&["--tools", "--sandbox", "workspace"], true),
    ] {
        let server = serve(&workdir, flags).env("ZOT_HOME", own.display().to_string());
        let mut client = Client::introduced(server, json!({}));
        let bash = client.call("bash", json!({"command": "ls own; cat own/auth.json"}));
        assert_ne!(text(&bash).contains("a secret"), is_hidden, "{bash}");
        let read = client.call("read", json!({"path": "own/auth.json"}));
        assert_ne!(text(&read).contains("a secret"), is_hidden, "{read}");
    }
}

#[test]
fn refused_hosts_are_on_record() {
    if lacks_namespaces() {
        return;
    }
    let workdir = Workdir::new("work");
    let flags = ["--tools", "--sandbox", "workspace"];
    let mut client = Client::legacy(&workdir, &flags, json!({}));
    let ask = r#"p=${http_proxy#http://}; p=${p%/}; bash -c 'exec 3<>/dev/tcp/${0%:*}/${0#*:}; printf "GET http://refused.example/ HTTP/1.1\r\nHost: refused.example\r\n\r\n" >&3; head -1 <&3' $p"#;
    client.call("bash", json!({"command": ask}));
    let log = workdir.zot_home().join("logs/network.jsonl");
    let log = std::fs::read_to_string(log).unwrap();
    assert!(log.contains("refused.example"), "{log}");
}
