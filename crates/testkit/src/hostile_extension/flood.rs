//! Floods of output, and peers that do not read.

use std::io::{self, Write};

use serde_json::json;

use super::peer::Peer;

const MEBIBYTE: usize = 1024 * 1024;

pub(super) fn run(behaviour: &str, peer: &Peer) -> bool {
    flood(behaviour, peer) || register(behaviour, peer) || stay_deaf(behaviour, peer)
}

fn flood(behaviour: &str, peer: &Peer) -> bool {
    match behaviour {
        "flood-notify" => {
            peer.greet("bad");
            let frame = json!({"type": "notify", "level": "info", "message": "x".repeat(100)});
            repeat(peer, format!("{frame}\n").repeat(1000).as_bytes());
        }
        "flood-garbage" => {
            peer.greet("bad");
            repeat(
                peer,
                b"garbage\n{\"type\":\n\n\0\x1b[31m\n"
                    .repeat(1000)
                    .as_slice(),
            );
        }
        "flood-endless-line" => {
            peer.greet("bad");
            repeat(peer, &vec![b'x'; MEBIBYTE]);
        }
        "flood-before-hello" => repeat(peer, b"{\"type\":\"ready\"}\n".repeat(1000).as_slice()),
        "flood-stderr" => {
            peer.greet("bad");
            let line = "nothing of importance\n".repeat(1000);
            while io::stderr().write_all(line.as_bytes()).is_ok() {}
        }
        "gibibyte-line" => {
            peer.greet("bad");
            let piece = vec![b'x'; MEBIBYTE];
            for _ in 0..1024 {
                peer.write(&piece);
            }
            peer.write(b"\n");
            peer.serve(|_| {});
        }
        "huge-panel" => peer.when_called(|id| {
            peer.write(br#"{"type":"panel_render","panel_id":"p","lines":[""#);
            let piece = vec![b'x'; MEBIBYTE];
            for _ in 0..100 {
                peer.write(&piece);
            }
            peer.write(b"\"]}\n");
            peer.result(id, "drawn");
        }),
        "hello-again" => peer.when_called(|id| {
            for _ in 0..10_000 {
                peer.hello();
            }
            peer.result(id, "hello");
        }),
        _ => return false,
    }
    true
}

fn register(behaviour: &str, peer: &Peer) -> bool {
    match behaviour {
        "many-registrations" => {
            peer.greet("bad");
            for number in 0..100_000 {
                peer.register(&format!("tool_{number}"));
                let name = format!("command-{number}");
                peer.send(&json!({"type": "register_command", "name": name}));
            }
            peer.serve(|_| {});
        }
        "huge-registrations" => peer.when_called(|id| {
            let text = "x".repeat(15 * MEBIBYTE);
            for number in 0..8 {
                let schema = format!(r#"{{"type":"object","description":"{text}"}}"#);
                let frame = format!(
                    r#"{{"type":"register_tool","name":"huge_{number}","schema":{schema}}}"#
                );
                peer.write(format!("{frame}\n").as_bytes());
            }
            peer.result(id, "registered");
        }),
        _ => return false,
    }
    true
}

fn stay_deaf(behaviour: &str, peer: &Peer) -> bool {
    match behaviour {
        "deaf" => {
            peer.hello();
            peer.send(&json!({
                "type": "subscribe",
                "events": ["session_start", "turn_start", "turn_end", "tool_call", "assistant_message"],
            }));
            peer.ready();
            peer.sleep();
        }
        // Sends something now and then, so that it never looks dead.
        "deaf-and-chatty" => {
            peer.hello();
            peer.send(&json!({"type": "subscribe", "events": ["assistant_message"]}));
            peer.ready();
            loop {
                std::thread::sleep(std::time::Duration::from_millis(500));
                peer.send(&json!({"type": "notify", "level": "info", "message": "still here"}));
            }
        }
        _ => return false,
    }
    true
}

/// Writes `bytes` until the reader is gone.
fn repeat(peer: &Peer, bytes: &[u8]) {
    while peer.write(bytes) {}
}
