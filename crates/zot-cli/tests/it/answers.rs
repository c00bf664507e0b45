//! Answers of the model, good, odd and broken, and what becomes of them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{ModelServer, Reply, Wire};

use crate::support::{Session, assert_no_error, kinds, of_kind, streamed_text, timeless};

fn turn_on(wire: Wire, prompt: &str) -> (Session, Vec<Value>) {
    let mut session = Session::start(wire);
    let frames = session.zot.turn("1", prompt);
    (session, frames)
}

fn message_count(session: &mut Session) -> Value {
    let state = session.zot.call(json!({"id": "s", "type": "get_state"}));
    state["data"]["message_count"].clone()
}

#[test]
fn a_stream_without_its_end_is_an_error_and_its_text_is_kept() {
    for wire in Wire::BOTH {
        for directive in ["cut", "cutat:900:say:50"] {
            let (mut session, frames) = turn_on(wire, directive);
            let kinds = kinds(&frames);
            let usage = kinds.iter().position(|&kind| kind == "usage").unwrap();
            let end = ["usage", "assistant_message", "turn_end", "error", "done"];
            assert_eq!(kinds[usage..], end, "{wire:?} {directive}");
            let stop = of_kind(&frames, "turn_end")[0];
            assert_eq!(stop["stop"], "error");
            let text = streamed_text(&frames);
            assert!(text.starts_with("alpha "));
            let message = of_kind(&frames, "assistant_message")[0];
            assert_eq!(message["content"][0]["text"], text);
            assert_eq!(message_count(&mut session), 2);
            assert_no_error(&session.zot.turn("2", "say:1"));
        }
    }
}

#[test]
fn an_error_inside_the_stream_is_told_in_the_providers_words() {
    for wire in Wire::BOTH {
        let (_session, frames) = turn_on(wire, "errmid");
        assert_eq!(streamed_text(&frames), "alpha beta ");
        assert_eq!(of_kind(&frames, "turn_end")[0]["stop"], "error");
        let message = &of_kind(&frames, "error")[0]["message"];
        assert!(
            message
                .as_str()
                .unwrap()
                .contains("scripted mid-stream error")
        );
    }
}

#[test]
fn a_malformed_event_is_skipped() {
    for wire in Wire::BOTH {
        let (_session, frames) = turn_on(wire, "garbage");
        assert_no_error(&frames);
        assert_eq!(streamed_text(&frames), "alpha beta gamm delta ");
    }
}

#[test]
fn an_empty_answer_leaves_no_message() {
    for wire in Wire::BOTH {
        let (mut session, frames) = turn_on(wire, "empty");
        assert_no_error(&frames);
        assert!(of_kind(&frames, "assistant_message").is_empty());
        assert_eq!(of_kind(&frames, "turn_end")[0]["stop"], "end");
        assert_eq!(message_count(&mut session), 1);
        assert_no_error(&session.zot.turn("2", "say:1"));
    }
}

#[test]
fn arguments_that_are_not_json_reach_no_tool() {
    for wire in Wire::BOTH {
        let (session, frames) = turn_on(wire, "badargs:bash:{\"command\": \"touch ran\"");
        assert_eq!(of_kind(&frames, "tool_call")[0]["args"], json!({}));
        let result = of_kind(&frames, "tool_result")[0];
        assert_eq!(result["is_error"], true);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.to_lowercase().contains("json"), "{text}");
        assert_eq!(session.workdir.read("ran"), None);
        assert_eq!(
            streamed_text(&frames),
            "all done",
            "the model may try again"
        );
    }
}

#[test]
fn no_arguments_mean_an_empty_object() {
    for wire in Wire::BOTH {
        let (_session, frames) = turn_on(wire, "noargs:bash");
        assert_eq!(of_kind(&frames, "tool_call")[0]["args"], json!({}));
        assert_eq!(of_kind(&frames, "tool_result")[0]["is_error"], true);
        assert_eq!(streamed_text(&frames), "all done");
    }
}

#[test]
fn how_the_bytes_arrive_does_not_matter() {
    for wire in Wire::BOTH {
        for directive in [
            "utf8",
            "length",
            "texttool:read:{\"path\": \"a.txt\"}",
            r#"multi:[{"name":"read","args":{"path":"a.txt"}},{"name":"nosuchtool"}]"#,
        ] {
            let plain = without_prompt(turn_on(wire, directive).1);
            for wrapper in ["split:1:", "split:13:", "crlf:", "delay:20:"] {
                let odd = turn_on(wire, &format!("{wrapper}{directive}")).1;
                assert_eq!(without_prompt(odd), plain, "{wire:?} {wrapper}{directive}");
            }
        }
    }
}

fn without_prompt(frames: Vec<Value>) -> Vec<Value> {
    let mut frames = timeless(frames);
    frames.retain(|frame| frame["type"] != "user_message");
    frames
}

#[test]
fn thinking_is_not_text_and_goes_back_to_anthropic_verbatim() {
    for wire in Wire::BOTH {
        let (session, frames) = turn_on(wire, "think:hm:tool:bash:{\"command\":\"true\"}");
        assert_no_error(&frames);
        assert_eq!(streamed_text(&frames), "all done");
        if wire == Wire::Anthropic {
            let request = session.server.requests().pop().unwrap();
            let block = json!({
                "type": "thinking", "thinking": "hm", "signature": "signature over hm",
            });
            assert_eq!(request.messages()[1]["content"][0], block);
        }
    }
}

#[test]
fn a_flood_is_an_error_and_costs_little() {
    for wire in Wire::BOTH {
        let (mut session, frames) = turn_on(wire, "flood:200000000");
        assert_eq!(of_kind(&frames, "turn_end")[0]["stop"], "error");
        let peak = testkit::process::peak_resident_bytes(session.zot.pid()).unwrap_or_default();
        assert!(peak < 120 << 20, "{peak} bytes");
        assert_no_error(&session.zot.turn("2", "say:1"));
    }
}

#[test]
fn passing_failures_are_retried_silently() {
    for wire in Wire::BOTH {
        for (directive, requests) in [
            ("errthen:503:2", 3),
            ("errthen:502:1", 2),
            ("errthen:504:2", 3),
            ("reset:2:raw:beta ok", 3),
        ] {
            let (session, frames) = turn_on(wire, directive);
            assert_no_error(&frames);
            assert_eq!(streamed_text(&frames), "beta ok", "{wire:?} {directive}");
            assert_eq!(of_kind(&frames, "turn_start").len(), 1);
            assert_eq!(session.server.requests().len(), requests, "{directive}");
        }
    }
}

#[test]
fn lasting_failures_are_reported() {
    for wire in Wire::BOTH {
        for (status, requests) in [(503, 3), (401, 1), (400, 1)] {
            let (session, frames) = turn_on(wire, &format!("err:{status}:no luck"));
            let end = of_kind(&frames, "turn_end")[0];
            assert_eq!(end["stop"], "error");
            let message = of_kind(&frames, "error")[0]["message"].as_str().unwrap();
            let expected = format!("{}: http {status}: ", wire.provider());
            assert!(message.starts_with(&expected), "{message}");
            assert!(message.contains("no luck"), "{message}");
            assert_eq!(end["error"], message);
            assert_eq!(session.server.requests().len(), requests);
        }
    }
}

#[test]
fn a_server_that_names_a_delay_gets_it() {
    let start = Instant::now();
    let (_session, frames) = turn_on(Wire::OpenAi, "retryafter:1:say:1");
    assert_no_error(&frames);
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[test]
fn an_answer_that_is_no_stream_is_an_error() {
    for wire in Wire::BOTH {
        let server = ModelServer::with_script([
            Reply::status(200, "<html>captive portal</html>"),
            Reply::event_stream("data: hello\n\n"),
            Reply::directive("say:1"),
        ]);
        let mut session = Session::on(server, wire, |zot| zot);
        for id in ["1", "2"] {
            let frames = session.zot.turn(id, "anything");
            assert_eq!(of_kind(&frames, "turn_end")[0]["stop"], "error");
            assert_eq!(of_kind(&frames, "error").len(), 1);
        }
        assert_no_error(&session.zot.turn("3", "anything"));
    }
}
