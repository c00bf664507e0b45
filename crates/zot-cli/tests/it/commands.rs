//! Every command of the protocol and its documented response.

use serde_json::{Value, json};
use testkit::Wire;

use crate::support::{Session, assert_no_error, kinds, of_kind, streamed_text};

#[test]
fn hello_names_protocol_provider_and_model() {
    let mut session = Session::start(Wire::Anthropic);
    let response = session.zot.call(json!({"id": "0", "type": "hello"}));
    assert_eq!(response["command"], "hello");
    assert_eq!(response["success"], true);
    let data = &response["data"];
    assert_eq!(data["protocol_version"], 1);
    assert_eq!(data["provider"], "anthropic");
    assert_eq!(data["model"], "claude-sonnet-4-5");
    assert!(data["version"].as_str().is_some_and(|v| !v.is_empty()));
}

#[test]
fn a_prompt_is_one_ordered_stream() {
    for wire in Wire::BOTH {
        let mut session = Session::start(wire);
        let frames = session
            .zot
            .turn("1", "texttool:bash:{\"command\":\"echo hi\"}");
        let expected = [
            "response",
            "user_message",
            "turn_start",
            "assistant_start",
            "text_delta",
            "tool_use_start",
            "tool_use_args",
            "tool_use_end",
            "usage",
            "assistant_message",
            "tool_call",
            "turn_end",
            "tool_progress",
            "tool_result",
            "turn_start",
            "assistant_start",
            "text_delta",
            "usage",
            "assistant_message",
            "turn_end",
            "done",
        ];
        assert_eq!(kinds(&frames), expected, "{wire:?}");
        assert_eq!(frames[0]["data"], json!({"started": true}));
        assert_eq!(streamed_text(&frames), "let me look. all done");
        let steps: Vec<_> = of_kind(&frames, "turn_start")
            .iter()
            .map(|frame| frame["step"].clone())
            .collect();
        assert_eq!(steps, [1, 2]);
    }
}

#[test]
fn state_and_messages_follow_the_conversation() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.turn("1", "say:2");
    let state = session.zot.call(json!({"id": "s", "type": "get_state"}));
    let data = &state["data"];
    assert_eq!(data["provider"], "openai");
    assert_eq!(data["model"], "gpt-4o");
    assert_eq!(data["cwd"], session.workdir.path().display().to_string());
    assert_eq!(data["message_count"], 2);
    assert_eq!(data["busy"], false);
    assert_eq!(data["usage"]["input"], 180);
    assert_eq!(data["usage"]["output"], 2);
    assert_eq!(data["usage"]["cache_read"], 20);
    assert!(data["usage"]["cost_usd"].as_f64().unwrap() > 0.0);

    let messages = session.zot.call(json!({"id": "m", "type": "get_messages"}));
    let messages = messages["data"]["messages"].as_array().unwrap();
    assert_eq!(messages[0]["role"], "user");
    let text = json!([{"type": "text", "text": "alpha beta "}]);
    assert_eq!(messages[1]["content"], text);
    assert!(messages[1]["time"].is_string());
}

#[test]
fn clear_forgets_the_transcript_and_keeps_the_usage() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.turn("1", "say:2");
    let cleared = session.zot.call(json!({"id": "c", "type": "clear"}));
    assert_eq!(cleared["success"], true);
    let state = session.zot.call(json!({"id": "s", "type": "get_state"}));
    assert_eq!(state["data"]["message_count"], 0);
    assert_eq!(state["data"]["usage"]["output"], 2);
    session.zot.turn("2", "say:1");
    let last = session.server.requests().pop().unwrap();
    assert_eq!(last.messages().len(), 2, "the system prompt and the prompt");
}

#[test]
fn set_model_takes_effect_with_the_next_prompt() {
    let mut session = Session::start(Wire::OpenAi);
    let set = session
        .zot
        .call(json!({"id": "a", "type": "set_model", "model": "gpt-5"}));
    assert_eq!(set["data"]["model"], "gpt-5");
    session.zot.turn("1", "say:1");
    assert_eq!(session.server.requests()[0].body["model"], "gpt-5");
    let unknown = session
        .zot
        .call(json!({"id": "b", "type": "set_model", "model": "claude-sonnet-4-5"}));
    assert_eq!(unknown["success"], false);
    assert_has_text(&unknown["error"]);
}

#[test]
fn get_models_describes_each_model() {
    let mut session = Session::start(Wire::Anthropic);
    let response = session.zot.call(json!({"id": "a", "type": "get_models"}));
    let models = response["data"]["models"].as_array().unwrap();
    assert!(models.iter().any(|m| m["id"] == "claude-sonnet-4-5"));
    for model in models {
        assert_eq!(model["provider"], "anthropic");
        assert!(model["context_window"].is_u64());
        assert!(model["max_output"].is_u64());
        assert!(model["reasoning"].is_boolean());
    }
}

#[test]
fn abort_when_idle_is_harmless() {
    let mut session = Session::start(Wire::OpenAi);
    for id in ["1", "2"] {
        let response = session.zot.call(json!({"id": id, "type": "abort"}));
        assert_eq!(response["success"], true);
    }
    let frames = session.zot.turn("3", "say:1");
    assert_no_error(&frames);
    assert_eq!(streamed_text(&frames), "alpha ");
}

#[test]
fn ids_are_echoed_as_they_came() {
    let mut session = Session::start(Wire::OpenAi);
    for id in [json!("a"), json!(7), json!(-1.5), json!("ü\n")] {
        let pong = session.zot.call(json!({"id": id, "type": "ping"}));
        assert_eq!(pong["data"], json!({"pong": true}));
    }
    session.zot.send(json!({"type": "ping"}));
    let pong = session.zot.event("response");
    assert_eq!(pong.get("id"), None);
}

#[test]
fn unknown_commands_are_refused_by_name() {
    let mut session = Session::start(Wire::OpenAi);
    let refused = session.zot.call(json!({"id": "1", "type": "frobnicate"}));
    assert_eq!(refused["command"], "frobnicate");
    assert_eq!(refused["success"], false);
    assert_has_text(&refused["error"]);
}

#[test]
fn the_type_is_the_first_key_of_every_frame() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.turn("1", "tool:bash:{\"command\":\"echo hi\"}");
    for command in [
        "ping",
        "get_state",
        "get_messages",
        "get_models",
        "hello",
        "x",
    ] {
        session.zot.call(json!({"id": command, "type": command}));
    }
    for line in session.zot.lines() {
        assert!(line.starts_with("{\"type\":\""), "{line}");
    }
}

#[test]
fn rpc_leaves_no_session_behind() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.turn("1", "say:1");
    session.zot.finish();
    let sessions = session.workdir.zot_home().join("sessions");
    let count = std::fs::read_dir(sessions).map_or(0, Iterator::count);
    assert_eq!(count, 0);
}

fn assert_has_text(value: &Value) {
    assert!(
        value.as_str().is_some_and(|text| !text.is_empty()),
        "{value}"
    );
}
