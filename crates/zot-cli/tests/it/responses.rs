//! Responses of the model: good, odd and broken ones.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{ModelServer, Reply, Wire};

use crate::support::{Session, assert_no_error, binary, kinds, of_kind, streamed_text, timeless};

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
fn an_error_inside_the_stream_is_reported_in_the_providers_words() {
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
fn an_empty_response_leaves_no_message() {
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
fn arguments_that_are_not_json_do_not_reach_the_tool() {
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
fn thinking_is_not_text_and_is_sent_back_to_anthropic_verbatim() {
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
fn temporary_failures_are_retried_silently() {
    for wire in Wire::BOTH {
        for (directive, requests) in [
            ("errthen:503:2", 3),
            ("errthen:502:1", 2),
            ("errthen:504:2", 3),
            ("errthen:408:1", 2),
            ("errthen:409:1", 2),
            ("errthen:429:2", 3),
            ("errthen:500:2", 3),
            ("errthen:529:1", 2),
            ("errheaders:400:1:x-should-retry=true,retry-after-ms=1", 2),
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
fn permanent_failures_are_reported() {
    for wire in Wire::BOTH {
        for (status, requests) in [(503, 3), (429, 3), (500, 3), (529, 3), (401, 1), (400, 1)] {
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
fn the_delay_a_server_asks_for_is_respected() {
    let start = Instant::now();
    let (_session, frames) = turn_on(Wire::OpenAi, "retryafter:1:say:1");
    assert_no_error(&frames);
    assert!(start.elapsed() >= Duration::from_secs(1));
}

#[test]
fn a_response_that_is_not_a_stream_is_an_error() {
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

/// Both the user and the model learn about it, and the model continues.
#[test]
fn a_call_cut_off_at_the_output_limit_is_not_run() {
    for wire in Wire::ALL {
        // Calls arrive complete on this wire.
        if wire == Wire::Gemini {
            continue;
        }
        for cut in ["", r#"{"command":"touch ran"#] {
            let (mut session, frames) = turn_on(wire, &format!("cutcall:bash:{cut}"));
            assert_no_error(&frames);
            let end = of_kind(&frames, "turn_end")[0];
            assert_eq!(end["stop"], "length", "{wire:?} {cut}");
            let reported = end["error"].as_str().unwrap();
            assert!(
                reported.contains("output limit") && reported.contains("bash"),
                "{reported}"
            );
            let [result] = of_kind(&frames, "tool_result")[..] else {
                panic!("{wire:?} {frames:#?}");
            };
            assert_eq!(result["is_error"], true);
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("reached the output limit"), "{text}");
            assert_eq!(session.workdir.read("ran"), None);
            assert_eq!(streamed_text(&frames), "all done");
            assert_eq!(of_kind(&frames, "turn_end")[1]["stop"], "end");

            assert_no_error(&session.zot.turn("2", "say:1"));
            let sent = session.server.requests().pop().unwrap();
            let sent = serde_json::to_string(sent.messages()).unwrap();
            assert!(sent.contains("reached the output limit"), "{sent}");
        }
    }
}

/// A call that has all its arguments when the limit is reached is run.
#[test]
fn a_whole_call_before_the_output_limit_is_run() {
    for wire in Wire::BOTH {
        let directive = r#"cutcall:bash:{"command":"touch ran"}"#;
        let (session, frames) = turn_on(wire, directive);
        assert_no_error(&frames);
        assert_eq!(of_kind(&frames, "turn_end")[0]["stop"], "tool_use");
        assert_eq!(session.workdir.read("ran").as_deref(), Some(""));
    }
}

/// Failed requests cost money, too.
#[test]
fn token_counts_of_failed_requests_are_added_up() {
    let chat = concat!(
        "data: {\"choices\":[{\"delta\":{\"content\":\"well\"}}]}\n\n",
        "data: {\"error\":{\"code\":502,\"message\":\"upstream\"},\"choices\":[],\"usage\":{\"prompt_tokens\":100,",
        "\"completion_tokens\":7,\"prompt_tokens_details\":{\"cached_tokens\":60,\"cache_write_tokens\":30}}}\n\n",
    );
    let anthropic = concat!(
        "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":60,",
        "\"cache_creation_input_tokens\":30,\"output_tokens\":1}}}\n\n",
        "data: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"upstream\"},\"usage\":{\"output_tokens\":7}}\n\n",
    );
    let responses = concat!(
        "data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"server_error\",\"message\":\"upstream\"},",
        "\"usage\":{\"input_tokens\":100,\"output_tokens\":7,\"input_tokens_details\":{\"cached_tokens\":60,\"cache_write_tokens\":30}}}}\n\n",
    );
    for (wire, body) in [
        (Wire::OpenAi, chat),
        (Wire::Anthropic, anthropic),
        (Wire::OpenAiResponses, responses),
    ] {
        let server = ModelServer::with_script([Reply::event_stream(body)]);
        let mut session = Session::on(server, wire, |zot| zot);
        let frames = session.zot.turn("1", "hello");
        assert_eq!(of_kind(&frames, "error")[0]["code"], "unavailable");
        let usage = of_kind(&frames, "usage")[0];
        let counts = ["input", "output", "cache_read", "cache_write"].map(|name| &usage[name]);
        assert_eq!(counts, [10, 7, 60, 30], "{wire:?}");
    }
}

#[test]
fn an_exhausted_account_has_its_own_code_and_is_not_retried() {
    let body = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    for wire in Wire::ALL {
        for status in [429, 402] {
            let server = ModelServer::with_script(vec![Reply::status(status, body); 3]);
            let mut session = Session::on(server, wire, |zot| zot);
            let frames = session.zot.turn("1", "hello");
            assert_eq!(of_kind(&frames, "error")[0]["code"], "insufficient_quota");
            assert_eq!(session.server.requests().len(), 1, "{wire:?} {status}");
        }
    }
}

#[test]
fn an_error_with_a_success_status_is_reported() {
    let body =
        r#"{"error":{"message":"no such deployment","type":"invalid_request_error","code":404}}"#;
    for wire in Wire::ALL {
        let server = ModelServer::with_script([Reply::status(200, body)]);
        let mut session = Session::on(server, wire, |zot| zot);
        let frames = session.zot.turn("1", "hello");
        let error = of_kind(&frames, "error")[0];
        assert_eq!(error["code"], "invalid_request", "{wire:?}");
        let message = error["message"].as_str().unwrap();
        assert!(message.ends_with("no such deployment"), "{message}");
    }
}

/// An abort ignores the delay that the provider asked for.
#[test]
fn an_abort_ends_the_wait_before_a_retry() {
    for wire in Wire::BOTH {
        let mut session = Session::start(wire);
        session.zot.prompt("1", "errwait:429:50");
        testkit::poll_until("the request", || !session.server.requests().is_empty());
        let started = Instant::now();
        session.zot.send(json!({"id": "a", "type": "abort"}));
        let frames = session.zot.collect_until(|frame| frame["type"] == "done");
        assert_eq!(of_kind(&frames, "turn_end")[0]["stop"], "aborted");
        assert!(started.elapsed() < Duration::from_secs(40));
        assert_eq!(session.server.requests().len(), 1);
    }
}

/// The same table applies to `-p`.
#[test]
fn single_runs_retry_like_the_pipe() {
    for mode in ["-p", "--json"] {
        let server = ModelServer::start();
        let workdir = testkit::Workdir::with_files("work");
        let run = testkit::ZotCommand::new(binary(), &workdir)
            .model(&server, Wire::OpenAi)
            .arguments([mode, "--no-session", "errthen:429:2"])
            .run("");
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert!(
            run.stdout.contains("beta ok") || mode == "--json",
            "{}",
            run.stdout
        );
        assert_eq!(server.requests().len(), 3);
    }
}
