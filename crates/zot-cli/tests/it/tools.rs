//! Tools as the model and the client see them.

use serde_json::{Value, json};
use testkit::{IMAGE_BASE64, Wire};

use crate::support::{Session, assert_no_error, of_kind, streamed_text};

#[test]
fn reads_of_one_batch_are_reported_in_call_order() {
    for wire in Wire::BOTH {
        let mut session = Session::start(wire);
        let files = ["long.txt", "a.txt", "nonl.txt", "missing.txt", "dup.txt"];
        let calls = files.map(|path| json!({"name": "read", "args": {"path": path}}));
        let prompt = format!("multi:{}", Value::from(calls.to_vec()));
        let frames = session.zot.turn("1", &prompt);
        let results = of_kind(&frames, "tool_result");
        let ids: Vec<_> = results.iter().map(|result| result["id"].clone()).collect();
        assert_eq!(ids, [1, 2, 3, 4, 5].map(|number| wire.call_id(number)));
        let errors: Vec<_> = results.iter().map(|r| r["is_error"].clone()).collect();
        assert_eq!(errors, [false, false, false, true, false]);
        assert_eq!(results[1]["content"][0]["text"], "one\ntwo\nthree\nfour\n");
        assert_eq!(results[4]["content"][0]["text"], "x = 1\nx = 1\nend\n");
    }
}

#[test]
fn changes_of_one_batch_happen_in_call_order() {
    let mut session = Session::start(Wire::OpenAi);
    let calls = json!([
        {"name": "bash", "args": {"command": "sleep 0.2; echo 1 >> order"}},
        {"name": "bash", "args": {"command": "echo 2 >> order"}},
        {"name": "read", "args": {"path": "order"}},
    ]);
    let frames = session.zot.turn("1", &format!("multi:{calls}"));
    let results = of_kind(&frames, "tool_result");
    assert_eq!(results[2]["content"][0]["text"], "1\n2\n");
}

#[test]
fn images_of_a_prompt_reach_the_model() {
    for wire in Wire::BOTH {
        let mut session = Session::start(wire);
        session.zot.send(json!({
            "id": "1", "type": "prompt", "message": "say:1",
            "images": [{"mime_type": "image/png", "data": IMAGE_BASE64}],
        }));
        let frames = session.zot.collect_until(|frame| frame["type"] == "done");
        assert_no_error(&frames);
        let block = json!({"type": "image", "mime_type": "image/png", "bytes": 73});
        assert_eq!(of_kind(&frames, "user_message")[0]["content"][1], block);
        let request = session.server.requests().pop().unwrap();
        assert!(request.body.to_string().contains(IMAGE_BASE64));
    }
}

#[test]
fn images_that_are_not_base64_are_refused() {
    let mut session = Session::start(Wire::OpenAi);
    let refused = session.zot.call(json!({
        "id": "1", "type": "prompt", "message": "say:1",
        "images": [{"mime_type": "image/png", "data": "***"}],
    }));
    assert_eq!(refused["success"], false);
    assert_no_error(&session.zot.turn("2", "say:1"));
}

#[test]
fn images_of_a_tool_reach_the_model() {
    for wire in Wire::BOTH {
        let mut session = Session::start(wire);
        let frames = session.zot.turn("1", "tool:read:{\"path\":\"pic.png\"}");
        assert_no_error(&frames);
        let block = json!([{"type": "image", "mime_type": "image/png", "bytes": 73}]);
        assert_eq!(of_kind(&frames, "tool_result")[0]["content"], block);
        let request = session.server.requests().pop().unwrap();
        assert!(request.body.to_string().contains(IMAGE_BASE64));
    }
}

#[test]
fn nothing_is_mirrored_without_an_image() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.turn("1", "tool:bash:{\"command\":\"echo hi\"}");
    let request = session.server.requests().pop().unwrap();
    let roles: Vec<_> = request
        .messages()
        .iter()
        .map(|m| m["role"].clone())
        .collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool"]);
}

#[test]
fn the_number_of_steps_is_limited() {
    let mut session = Session::start_with(Wire::OpenAi, |zot| zot.arguments(["--max-steps", "3"]));
    let frames = session.zot.turn("1", "loop:9:bash:{\"command\":\"true\"}");
    assert_eq!(of_kind(&frames, "turn_start").len(), 3);
    assert_eq!(of_kind(&frames, "tool_result").len(), 3);
    assert_eq!(of_kind(&frames, "error").len(), 1);
    let frames = session.zot.turn("2", "say:1");
    assert_eq!(streamed_text(&frames), "alpha ");
}

#[test]
fn tool_flags_choose_exactly_what_is_offered() {
    for wire in Wire::BOTH {
        for (flags, expected) in [
            (&["--no-tools"][..], &[][..]),
            (&["--tools", "read"], &["read"]),
            (&["--tools", "bash,read"], &["bash", "read"]),
        ] {
            let mut session = Session::start_with(wire, |zot| zot.arguments(flags));
            session.zot.turn("1", "say:1");
            let request = session.server.requests().pop().unwrap();
            let mut names = request.tool_names();
            names.sort_unstable();
            assert_eq!(names, expected, "{flags:?}");
        }
    }
}

#[test]
fn a_tool_that_is_not_offered_is_not_run() {
    let mut session = Session::start_with(Wire::OpenAi, |zot| zot.arguments(["--tools", "read"]));
    let frames = session
        .zot
        .turn("1", "tool:bash:{\"command\":\"touch ran\"}");
    assert_eq!(of_kind(&frames, "tool_result")[0]["is_error"], true);
    assert_eq!(session.workdir.read("ran"), None);
}

#[test]
fn the_flags_set_the_system_prompt() {
    for wire in Wire::BOTH {
        let mut session = Session::start_with(wire, |zot| {
            zot.arguments(["--system-prompt", "SYS", "--append-system-prompt", "APP1"])
                .arguments(["--append-system-prompt", "APP2"])
        });
        session.zot.turn("1", "say:1");
        let request = session.server.requests().pop().unwrap();
        let system = match wire {
            Wire::OpenAi => request.messages()[0]["content"].to_string(),
            _ => request.body["system"].to_string(),
        };
        let directory = format!(
            "Current working directory: {}",
            session.workdir.path().display()
        );
        let positions =
            ["SYS", "APP1", "APP2", "Current date: 20", &directory].map(|part| system.find(part));
        assert!(positions.iter().all(Option::is_some), "{system}");
        assert!(positions.is_sorted(), "{system}");
    }
}
