//! `ZOTCORE_RPC_TOKEN`: nothing works before a valid `hello`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::json;
use testkit::{PATIENCE, Wire};

use crate::support::Session;

fn start() -> Session {
    Session::start_with(Wire::OpenAi, |zot| zot.env("ZOTCORE_RPC_TOKEN", "s3cret"))
}

#[test]
fn the_right_token_is_needed_only_once() {
    let mut session = start();
    let hello = session
        .zot
        .call(json!({"id": "0", "type": "hello", "token": "s3cret"}));
    assert_eq!(hello["success"], true);
    let pong = session.zot.call(json!({"id": "1", "type": "ping"}));
    assert_eq!(pong["success"], true);
    assert_eq!(session.zot.finish().code, Some(0));
}

#[test]
fn anything_else_ends_the_process() {
    for first in [
        json!({"id": "0", "type": "hello", "token": "wrong"}).to_string(),
        json!({"id": "0", "type": "hello", "token": "s3cre"}).to_string(),
        json!({"id": "0", "type": "hello", "token": 5}).to_string(),
        json!({"id": "0", "type": "hello"}).to_string(),
        json!({"id": "0", "type": "prompt", "message": "say:1"}).to_string(),
        "not json".to_owned(),
    ] {
        let mut session = start();
        session.zot.send_line(&first);
        session
            .zot
            .send(json!({"id": "1", "type": "hello", "token": "s3cret"}));
        let ended = session.zot.wait(PATIENCE);
        assert_eq!(ended.code, Some(1), "{first}");
        let frames: Vec<&str> = ended.stdout.lines().collect();
        assert_eq!(frames.len(), 1, "{frames:?}");
        assert!(frames[0].contains("\"success\":false"), "{frames:?}");
        assert!(!ended.stderr.contains("s3cret"), "the token is not shown");
        assert!(session.server.requests().is_empty());
    }
}

#[test]
fn a_token_may_be_any_text_and_hello_may_be_repeated() {
    let mut session = Session::start_with(Wire::OpenAi, |zot| zot.env("ZOTCORE_RPC_TOKEN", "ü✓"));
    for (id, token) in [("0", "ü✓"), ("1", "ü✓"), ("2", "no longer asked for")] {
        let hello = json!({"id": id, "type": "hello", "token": token});
        assert_eq!(session.zot.call(hello)["success"], true);
    }
}

#[test]
fn an_empty_token_is_none() {
    let mut session = Session::start_with(Wire::OpenAi, |zot| zot.env("ZOTCORE_RPC_TOKEN", ""));
    let pong = session.zot.call(json!({"id": "1", "type": "ping"}));
    assert_eq!(pong["success"], true);
}

#[test]
fn a_token_that_is_not_utf8_is_an_error() {
    let token = OsStr::from_bytes(b"s3cret\xff");
    let mut session = Session::start_with(Wire::OpenAi, |zot| zot.env("ZOTCORE_RPC_TOKEN", token));
    session.zot.send(json!({"id": "1", "type": "ping"}));
    let ended = session.zot.wait(PATIENCE);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.contains("ZOTCORE_RPC_TOKEN is not UTF-8"));
    assert!(!ended.stderr.contains("s3cret"), "the token is not shown");
}

#[cfg(target_os = "linux")]
#[test]
fn the_token_cannot_be_seen_from_outside_the_process() {
    let mut session = start();
    let hello = json!({"id": "0", "type": "hello", "token": "s3cret"});
    assert_eq!(session.zot.call(hello)["success"], true);
    // Root may read it whatever the process does; other users never can.
    let environment = std::fs::read(format!("/proc/{}/environ", session.zot.pid()));
    if let Ok(environment) = environment {
        let shown = String::from_utf8_lossy(&environment);
        assert!(shown.contains("HOME="), "{shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}
