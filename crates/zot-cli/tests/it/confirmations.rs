//! `--no-yolo` and `--confirm` where nobody confirms: single runs, and clients that do not support
//! confirmations.

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, Wire, Workdir, ZotCommand};

use crate::support::{Session, binary, of_kind};

const TOUCH: &str = "tool:bash:{\"command\": \"touch never\"}";

/// Runs a prompt that calls a tool, and returns the requests that the model got.
fn single_run(arguments: &[&str]) -> (Finished, Vec<Value>, Workdir) {
    let (server, workdir) = (ModelServer::start(), Workdir::with_files("work"));
    let ended = ZotCommand::new(binary(), &workdir)
        .model(&server, Wire::OpenAi)
        .argument("--no-session")
        .arguments(arguments)
        .run("");
    let requests = server.requests().into_iter().map(|request| request.body);
    let requests = requests.collect();
    (ended, requests, workdir)
}

#[test]
fn single_runs_refuse_calls_that_need_confirmation() {
    for arguments in [
        &["-p", "--no-yolo", TOUCH][..],
        &["--json", "--no-yolo", TOUCH],
        &["-p", "--confirm", TOUCH],
        &["--json", "--confirm=bash,write", TOUCH],
        &["-p", "--confirm=read", "--no-yolo", TOUCH],
    ] {
        let (ended, requests, workdir) = single_run(arguments);
        assert_eq!(ended.code, Some(0), "{arguments:?}: {}", ended.stderr);
        assert!(!workdir.path().join("never").exists());
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        assert!(
            ended.stderr.starts_with("zot: warning: "),
            "{}",
            ended.stderr
        );
        assert!(ended.stderr.contains("refused"), "{}", ended.stderr);
        // The model learns about it and continues.
        let result = requests[1]["messages"].as_array().unwrap().last().unwrap();
        assert_eq!(result["role"], "tool");
        let text = result["content"].to_string();
        assert!(text.contains("cannot be asked"), "{text}");
        let end = match arguments[0] {
            "-p" => "all done",
            _ => "{\"type\":\"done\"}",
        };
        assert_eq!(ended.stdout.lines().last(), Some(end));
        assert!(
            !ended.stdout.contains("tool_confirm"),
            "no confirmation is requested"
        );
    }
}

#[test]
fn tools_that_need_no_confirmation_run() {
    let touch = "tool:bash:{\"command\": \"touch made\"}";
    let (ended, _, workdir) = single_run(&["-p", "--confirm=write", touch]);
    assert_eq!(ended.code, Some(0));
    assert!(workdir.path().join("made").exists());
    assert!(
        ended.stderr.contains("calls of write are refused"),
        "{}",
        ended.stderr
    );
}

fn confirming(arguments: &[&str]) -> Session {
    Session::start_with(Wire::OpenAi, |command| command.arguments(arguments))
}

/// The call is refused after the timeout, and the first event explains how to confirm it.
#[test]
fn a_client_that_never_confirms_does_not_hang() {
    let mut session = confirming(&["--no-yolo", "--confirm-timeout", "1"]);
    for first in [true, false] {
        let frames = session.zot.turn("1", TOUCH);
        let asked = of_kind(&frames, "tool_confirm")[0];
        assert_eq!(asked["hint"].is_string(), first, "{asked}");
        let result = of_kind(&frames, "tool_result")[0];
        assert_eq!(result["is_error"], true);
        assert!(
            result["content"].to_string().contains("in time"),
            "{result}"
        );
    }
    let stderr = session.zot.stderr();
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("refused after 1 s"), "{stderr}");
    assert!(!session.workdir.path().join("never").exists());
}

/// A client that follows the hint gets no further hints.
#[test]
fn the_hint_is_a_command_that_works() {
    let mut session = confirming(&["--confirm"]);
    // Old clients send a hello without the capability.
    session.zot.call(json!({"id": "h", "type": "hello"}));
    session
        .zot
        .prompt("1", "tool:bash:{\"command\": \"touch made\"}");
    let asked = session.zot.event("tool_confirm");
    let hint = asked["hint"].as_str().expect("a hint");
    assert!(hint.contains("refused after 60 s"), "{hint}");
    let start = hint.find('{').expect("a command");
    let end = hint.find('}').expect("its end") + 1;
    session.zot.send_line(&hint[start..end]);
    session.zot.event("done");
    assert!(session.workdir.path().join("made").exists());
    session.zot.prompt("2", TOUCH);
    assert!(session.zot.event("tool_confirm").get("hint").is_none());
}

#[test]
fn a_client_that_announced_confirmations_gets_no_hint() {
    for announcement in [
        json!({"id": "h", "type": "hello", "capabilities": ["confirm"]}),
        json!({"id": "h", "type": "hello", "capabilities": ["other", "confirm"]}),
        json!({"id": "h", "type": "subscribe", "events": ["tool_confirm", "done"]}),
        json!({"id": "h", "type": "confirm", "call_id": "none", "allow": false}),
    ] {
        let mut session = confirming(&["--confirm"]);
        session.zot.call(announcement);
        session.zot.prompt("1", TOUCH);
        let asked = session.zot.event("tool_confirm");
        assert!(asked.get("hint").is_none(), "{asked}");
        assert_eq!(session.zot.stderr(), "");
    }
}

#[test]
fn a_hello_with_other_capabilities_announces_nothing() {
    for capabilities in [
        json!([]),
        json!(["other"]),
        json!("confirm"),
        json!({"confirm": true}),
    ] {
        let mut session = confirming(&["--confirm"]);
        let hello = json!({"id": "h", "type": "hello", "capabilities": capabilities});
        assert_eq!(session.zot.call(hello)["success"], true);
        session.zot.prompt("1", TOUCH);
        assert!(session.zot.event("tool_confirm")["hint"].is_string());
    }
}
