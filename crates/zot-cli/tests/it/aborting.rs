//! `abort` at every stage of a turn.

use serde_json::{Value, json};
use testkit::{Wire, Zot, poll_until};

use crate::support::{Session, assert_no_error, kinds, of_kind, streamed_text};

/// Sends `abort` and returns the remaining frames of the turn, without the response.
fn abort(zot: &mut Zot) -> Vec<Value> {
    zot.send(json!({"id": "abort", "type": "abort"}));
    let mut frames = zot.collect_until(|frame| frame["type"] == "done");
    frames.retain(|frame| frame["command"] != "abort");
    frames
}

fn stop_of(frames: &[Value]) -> &Value {
    let end = of_kind(frames, "turn_end").pop().expect("a turn_end");
    &end["stop"]
}

fn messages(zot: &mut Zot) -> Vec<Value> {
    let response = zot.call(json!({"id": "m", "type": "get_messages"}));
    let messages = response["data"]["messages"].as_array();
    messages.expect("a list of messages").clone()
}

fn assert_works(session: &mut Session) {
    let frames = session.zot.turn("after", "say:2");
    assert_no_error(&frames);
    assert_eq!(streamed_text(&frames), "alpha beta ");
}

#[test]
fn while_waiting_for_the_first_byte() {
    for wire in Wire::BOTH {
        let mut session = Session::start(wire);
        session.zot.prompt("1", "hang");
        poll_until("the request arrives", || {
            session.server.responses_in_progress() == 1
        });
        let frames = abort(&mut session.zot);
        assert_eq!(stop_of(&frames), "aborted");
        assert_no_error(&frames);
        assert!(of_kind(&frames, "assistant_message").is_empty());
        poll_until("the connection is closed", || {
            session.server.responses_in_progress() == 0
        });
        assert_works(&mut session);
    }
}

#[test]
fn in_the_middle_of_text() {
    for wire in Wire::BOTH {
        let mut session = Session::start(wire);
        session.zot.prompt("1", "slow:500:20");
        let mut frames = session.zot.collect_until(|f| f["type"] == "text_delta");
        frames.extend(abort(&mut session.zot));
        let text = streamed_text(&frames);
        let end = kinds(&frames).split_off(frames_before_end(&frames));
        assert_eq!(end, ["usage", "assistant_message", "turn_end", "done"]);
        assert_eq!(stop_of(&frames), "aborted");
        let messages = messages(&mut session.zot);
        let partial = json!([{"type": "text", "text": text}]);
        assert_eq!(messages[1]["content"], partial, "what was shown is kept");
        assert_works(&mut session);
    }
}

/// Returns how many kinds come before `usage`.
fn frames_before_end(frames: &[Value]) -> usize {
    let kinds = kinds(frames);
    let usage = kinds.iter().position(|&kind| kind == "usage");
    usage.expect("usage is reported")
}

#[test]
fn in_the_middle_of_arguments() {
    for wire in Wire::BOTH {
        let mut session = Session::start(wire);
        let long = "x".repeat(2000);
        let prompt = format!("slowtool:20:bash:{{\"command\":\"touch ran; echo {long}\"}}");
        session.zot.prompt("1", &prompt);
        session.zot.event("tool_use_args");
        let frames = abort(&mut session.zot);
        assert_eq!(stop_of(&frames), "aborted");
        assert_no_error(&frames);
        for kind in ["tool_call", "tool_result", "assistant_message"] {
            assert!(of_kind(&frames, kind).is_empty(), "{kind}");
        }
        assert_eq!(messages(&mut session.zot).len(), 1, "no trace of the call");
        assert_eq!(session.workdir.read("ran"), None);
        assert_works(&mut session);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn while_a_command_runs() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.prompt(
        "1",
        "tool:bash:{\"command\":\"echo start; sleep 300 & sleep 300; echo end\"}",
    );
    session.zot.event("tool_progress");
    let zot = session.zot.pid();
    poll_until("both sleeps run", || {
        testkit::process::descendants(zot).len() >= 3
    });
    let children = testkit::process::descendants(zot);
    let frames = abort(&mut session.zot);
    let result = of_kind(&frames, "tool_result")[0];
    assert_eq!(result["is_error"], true);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("start") && !text.contains("\nend"), "{text}");
    assert_eq!(kinds(&frames).last(), Some(&"done"));
    poll_until("the children are gone", || {
        !children
            .iter()
            .any(|&child| testkit::process::is_running(child))
    });
    assert_works(&mut session);
}

#[test]
fn between_the_tools_of_a_batch() {
    for wire in Wire::BOTH {
        let mut session = Session::start(wire);
        session.zot.prompt(
            "1",
            r#"multi:[{"name":"bash","args":{"command":"echo start; sleep 300"}},
                {"name":"write","args":{"path":"written.txt","content":"x"}},
                {"name":"bash","args":{"command":"touch touched.txt"}}]"#,
        );
        session.zot.event("tool_progress");
        let frames = abort(&mut session.zot);
        let results = of_kind(&frames, "tool_result");
        let ids: Vec<_> = results.iter().map(|result| result["id"].clone()).collect();
        assert_eq!(ids, [1, 2, 3].map(|number| wire.call_id(number)));
        assert!(results.iter().all(|result| result["is_error"] == true));
        assert_eq!(session.workdir.read("written.txt"), None);
        assert_eq!(session.workdir.read("touched.txt"), None);
        assert_works(&mut session);
        assert_every_call_is_answered(&session);
    }
}

/// Providers refuse a conversation in which a call has no result.
fn assert_every_call_is_answered(session: &Session) {
    let last = session.server.requests().pop().expect("a request").body;
    let text = last["messages"].to_string();
    for number in 1..=3 {
        let call = match text.contains("toolu_") {
            true => format!("\"tool_use_id\":\"toolu_{number}\""),
            false => format!("\"tool_call_id\":\"call_{number}\""),
        };
        assert!(text.contains(&call), "{call} is missing");
    }
}

#[test]
fn a_second_abort_is_harmless() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.prompt("1", "slow:500:20");
    session.zot.event("text_delta");
    for id in ["a", "b", "c"] {
        session.zot.send(json!({"id": id, "type": "abort"}));
    }
    let mut seen = session.zot.collect_until(|frame| frame["type"] == "done");
    let answered = |seen: &[Value]| seen.iter().filter(|f| f["command"] == "abort").count();
    while answered(&seen) < 3 {
        seen.push(session.zot.event("response"));
    }
    assert_eq!(of_kind(&seen, "done").len(), 1);
    assert_works(&mut session);
}

#[test]
fn only_the_running_prompt_is_aborted() {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.prompt("1", "slow:500:20");
    session.zot.prompt("2", "say:3");
    session.zot.event("text_delta");
    let first = abort(&mut session.zot);
    assert_eq!(stop_of(&first), "aborted");
    let second = session.zot.collect_until(|frame| frame["type"] == "done");
    assert_eq!(stop_of(&second), "end");
    assert_eq!(streamed_text(&second), "alpha beta gamm ");
}
