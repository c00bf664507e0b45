//! One command at a time, in the order received.

use serde_json::{Value, json};
use testkit::Wire;

use crate::support::{Session, assert_no_error, of_kind, streamed_text};

#[test]
fn back_to_back_prompts_run_in_the_order_received() {
    let mut session = Session::start(Wire::OpenAi);
    for pair in 0..50 {
        let ids = [format!("{pair}a"), format!("{pair}b")];
        let lines: String = ids
            .iter()
            .map(|id| {
                format!(
                    "{}\n",
                    json!({"id": id, "type": "prompt", "message": "say:1"})
                )
            })
            .collect();
        session.zot.send_bytes(lines.as_bytes());
        for id in ids {
            let frames = session.zot.collect_until(|frame| frame["type"] == "done");
            assert_eq!(frames[0]["type"], "response", "sent when it starts");
            assert_eq!(frames[0]["id"], json!(id));
            assert_no_error(&frames);
        }
        session.zot.call(json!({"id": "c", "type": "clear"}));
    }
}

#[test]
fn a_compaction_waits_for_its_turn() {
    let mut session = Session::start(Wire::OpenAi);
    for id in ["1", "2", "3"] {
        session.zot.turn(id, "say:1");
    }
    session.zot.prompt("4", "slow:5:20");
    session.zot.send(json!({"id": "c", "type": "compact"}));
    session.zot.prompt("5", "say:2");
    let ids: Vec<Value> = (0..3)
        .map(|_| session.zot.event("response")["id"].clone())
        .collect();
    assert_eq!(ids, ["4", "c", "5"]);
    session.zot.event("done");
}

#[test]
fn not_busy_straight_after_done() {
    let mut session = Session::start(Wire::OpenAi);
    for id in 0..30 {
        session.zot.turn(&id.to_string(), "say:1");
        let state = session.zot.call(json!({"id": "s", "type": "get_state"}));
        assert_eq!(state["data"]["busy"], false);
    }
}

#[test]
fn reading_commands_work_during_a_turn() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.prompt("1", "hangmid");
    session.zot.event("text_delta");
    for command in ["ping", "get_messages", "get_models", "hello"] {
        let response = session.zot.call(json!({"id": command, "type": command}));
        assert_eq!(response["success"], true, "{command}");
    }
    let state = session.zot.call(json!({"id": "s", "type": "get_state"}));
    assert_eq!(state["data"]["busy"], true);
    assert_eq!(state["data"]["message_count"], 1);
}

#[test]
fn changes_to_a_running_turn_are_refused() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.prompt("1", "hangmid");
    session.zot.event("text_delta");
    for command in [
        json!({"id": "c", "type": "clear"}),
        json!({"id": "m", "type": "set_model", "model": "gpt-5"}),
    ] {
        let refused = session.zot.call(command);
        assert_eq!(refused["success"], false);
        assert!(refused["error"].as_str().unwrap().contains("busy"));
    }
    session.zot.send(json!({"id": "a", "type": "abort"}));
    session.zot.event("done");
    let cleared = session.zot.call(json!({"id": "c2", "type": "clear"}));
    assert_eq!(cleared["success"], true);
}

#[test]
fn the_end_of_input_lets_queued_work_finish() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.prompt("1", "slow:5:20");
    session
        .zot
        .prompt("2", "tool:bash:{\"command\":\"echo hi\"}");
    session.zot.prompt("3", "say:2");
    session.zot.close_stdin();
    let mut texts = Vec::new();
    for _ in 0..3 {
        let frames = session.zot.collect_until(|frame| frame["type"] == "done");
        assert_no_error(&frames);
        assert_eq!(of_kind(&frames, "response").len(), 1);
        texts.push(streamed_text(&frames));
    }
    assert_eq!(texts[1..], ["all done", "alpha beta "]);
    assert_eq!(session.zot.finish().code, Some(0));
}
