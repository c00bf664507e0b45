//! Wrong responses to tool calls and interceptions.

use serde_json::json;

use super::peer::Peer;

pub(super) fn run(behaviour: &str, peer: &Peer) -> bool {
    answer_calls(behaviour, peer) || intercept(behaviour, peer)
}

fn answer_calls(behaviour: &str, peer: &Peer) -> bool {
    match behaviour {
        "good" => {
            peer.greet("good");
            peer.serve(|frame| {
                if frame["type"] == "tool_call" {
                    peer.result(&frame["id"], "well");
                }
            });
        }
        "never-answers" => peer.when_called(|_| {}),
        "half-frame" => peer.when_called(|id| {
            peer.write(format!(r#"{{"type":"tool_result","id":{id},"content":[{{"#).as_bytes());
            peer.sleep();
        }),
        "byte-by-byte" => peer.when_called(|id| {
            let frame = json!({"type": "tool_result", "id": id, "content": [{"type": "text", "text": "ünï\u{1f600}"}]});
            for byte in format!("{frame}\n").bytes() {
                peer.write(&[byte]);
            }
        }),
        "unknown-ids" => peer.when_called(|id| {
            for other in ["", "0", "999999", "call", "\u{0}", &"9".repeat(100_000)] {
                peer.result(&json!(other), "not asked");
            }
            peer.result(id, "asked");
        }),
        "twice" => peer.when_called(|id| {
            peer.result(id, "first");
            peer.result(id, "second");
        }),
        "wrong-shape" => peer.when_called(|id| {
            peer.send(&json!({"type": "tool_result", "id": id, "content": {"text": 1}}));
        }),
        "wrong-shape-without-id" => peer.when_called(|_| {
            peer.send(&json!({"type": "tool_result", "id": {"a": 1}, "content": []}));
        }),
        "too-long" => peer.when_called(|id| {
            peer.result(id, &"x".repeat(17 * 1024 * 1024));
        }),
        // Each of these blocks, three bytes long, takes a hundred bytes of memory.
        "million-blocks" => peer.when_called(|id| {
            let blocks = "{},".repeat(5_000_000);
            let frame = format!(r#"{{"type":"tool_result","id":{id},"content":[{blocks}{{}}]}}"#);
            peer.write(format!("{frame}\n").as_bytes());
        }),
        _ => return false,
    }
    true
}

fn intercept(behaviour: &str, peer: &Peer) -> bool {
    match behaviour {
        "intercepts-with-results" => {
            peer.hello();
            peer.send(&json!({
                "type": "subscribe",
                "intercept": ["tool_call", "turn_start", "assistant_message"],
            }));
            peer.ready();
            peer.serve(|frame| {
                if frame["type"] == "event_intercept" {
                    peer.result(&frame["id"], "no interception");
                }
            });
        }
        "crashes-intercepting" => {
            peer.hello();
            peer.send(&json!({"type": "subscribe", "intercept": ["tool_call"]}));
            peer.ready();
            peer.serve(|frame| {
                if frame["type"] == "event_intercept" {
                    std::process::abort();
                }
            });
        }
        "never-intercepts" => {
            peer.hello();
            peer.send(&json!({"type": "subscribe", "intercept": ["tool_call"]}));
            peer.ready();
            peer.serve(|_| {});
        }
        // Arguments that take eighty times their length when parsed.
        "costly-arguments" => {
            peer.hello();
            peer.send(&json!({"type": "subscribe", "intercept": ["tool_call"]}));
            peer.ready();
            let items = r#"{"a":0},"#.repeat(1_500_000);
            peer.serve(|frame| {
                if frame["type"] == "event_intercept" {
                    let id = &frame["id"];
                    let frame = format!(
                        r#"{{"type":"event_intercept_response","id":{id},"modified_args":{{"x":[{items}0]}}}}"#
                    );
                    peer.write(format!("{frame}\n").as_bytes());
                }
            });
        }
        _ => return false,
    }
    true
}
