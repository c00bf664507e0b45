//! Invalid and unexpected frames.

use serde_json::json;

use super::peer::Peer;

const DEEP: usize = 100_000;

pub(super) fn run(behaviour: &str, peer: &Peer) -> bool {
    let line = |text: String| peer.write(format!("{text}\n").as_bytes());
    match behaviour {
        "invalid-utf8" => peer.when_called(|id| {
            peer.write(b"{\"type\":\"notify\",\"message\":\"\xff\xfe\"}\n\xc3\x28\n\x80\n");
            peer.result(id, "done");
        }),
        "before-hello" => {
            for kind in ["shutdown_ack", "ready", "event_intercept_response"] {
                peer.send(&json!({"type": kind, "id": "1"}));
            }
            peer.register("early");
            peer.when_called(|id| {
                peer.result(id, "done");
            });
        }
        "deep-schema" => peer.when_called(|id| {
            let schema = format!(
                "{}{}",
                r#"{"type":"object","properties":{"a":"#.repeat(DEEP),
                "{}".to_owned() + &"}}".repeat(DEEP)
            );
            line(format!(r#"{{"type":"register_tool","name":"deep","schema":{schema}}}"#));
            peer.result(id, "done");
        }),
        "odd-names" => peer.when_called(|id| {
            for name in ["", " ", "a b", "\u{1b}[31mred", "line\nfeed", "nul\0", "../../etc", &"n".repeat(65)] {
                peer.register(name);
                peer.send(&json!({"type": "register_command", "name": name}));
            }
            peer.result(id, "done");
        }),
        "deep-frames" => peer.when_called(|id| {
            line("[".repeat(DEEP));
            line(format!(r#"{{"type":"notify","message":{}"#, "[".repeat(DEEP)));
            let nested = format!("{}{}", "[".repeat(DEEP), "]".repeat(DEEP));
            line(format!(r#"{{"type":"notify","message":{nested}}}"#));
            line(format!(r#"{{"type":"notify","extra":{nested},"message":"flat"}}"#));
            line(format!(r#"{{"type":"tool_result","id":{nested},"content":{nested}}}"#));
            peer.result(id, "done");
        }),
        "duplicate-keys" => peer.when_called(|id| {
            line(r#"{"type":"notify","TYPE":"hello","type":"notify","message":"a","message":"b"}"#.to_owned());
            line(format!(r#"{{"id":"x","type":"ready","id":{id},"type":"tool_result","content":5,"content":[]}}"#));
        }),
        "million-fields" => peer.when_called(|id| {
            let fields: String = (0..1_000_000).map(|n| format!("\"{n:x}\":0,")).collect();
            line(format!(r#"{{{fields}"type":"notify"}}"#));
            line(format!(r#"{{"type":"command_response","id":{id},"action":"open_panel","open_panel":{{{fields}"id":"p"}}}}"#));
            peer.result(id, "done");
        }),
        "million-lines" => peer.when_called(|id| {
            let lines = r#""","#.repeat(5_000_000);
            line(format!(r#"{{"type":"panel_render","panel_id":"p","lines":[{lines}""]}}"#));
            line(format!(r#"{{"type":"subscribe","events":[{lines}""]}}"#));
            peer.result(id, "done");
        }),
        // Ids, events and types appear in log remarks.
        "long-remarks" => peer.when_called(|id| {
            let long = "x".repeat(8 * 1024 * 1024);
            peer.result(&json!(long), "not asked");
            peer.send(&json!({"type": "subscribe", "events": [long]}));
            peer.send(&json!({"type": long}));
            peer.result(id, "done");
        }),
        _ => return false,
    }
    true
}
