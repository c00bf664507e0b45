//! `ZOTCORE_RPC_TOKEN`: nobody talks to zot before a good `hello`.

use serde_json::json;
use testkit::{PATIENCE, Wire};

use crate::support::Session;

fn start() -> Session {
    Session::start_with(Wire::OpenAi, |zot| zot.env("ZOTCORE_RPC_TOKEN", "s3cret"))
}

#[test]
fn the_right_token_opens_the_door_once() {
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
        assert!(!ended.stderr.contains("s3cret"), "the token is not told");
        assert!(session.server.requests().is_empty());
    }
}
