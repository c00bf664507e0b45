//! `zino agent` and `zino attach` as processes, with a real NATS server and a real database.

mod clients;
mod fleet;

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::Zot;
use testkit::nats::NatsEnd;

use crate::installation::eventually;
use fleet::Fleet;

fn types(frames: &[Value]) -> Vec<&str> {
    let names = frames.iter().filter_map(|frame| frame["type"].as_str());
    names.collect()
}

fn assert_answered(frames: &[Value]) {
    let names = types(frames);
    assert_eq!(names.last(), Some(&"done"), "{frames:?}");
    assert!(!names.contains(&"error"), "{frames:?}");
    assert!(names.contains(&"assistant_message"), "{frames:?}");
}

fn message_texts(client: &mut Zot) -> String {
    client
        .call(json!({"id": "messages", "type": "get_messages"}))
        .to_string()
}

/// Asks for a command that shows in `ran` that it was run, and then takes long.
fn slow(seconds: u32) -> String {
    format!("run: echo ran >> ran; sleep {seconds}")
}

#[test]
fn a_session_is_prompted_steered_aborted_closed_and_resumed() {
    let fleet = Fleet::start("");
    let worker = fleet.worker("one");
    let mut client = fleet.attach(&[]);
    let hello = client.call(json!({"id": 1, "type": "hello"}));
    assert_eq!(hello["data"]["provider"], "offline", "{hello}");
    let frames = client.turn("2", "write \"buy milk\" to notes.txt");
    assert_answered(&frames);
    assert_eq!(fleet.read("notes.txt").as_deref(), Some("buy milk"));

    client.prompt("3", &slow(2));
    fleet.wait_for_file("ran");
    let steered = client.call(json!({"id": 4, "type": "steer", "message": "hello"}));
    assert_eq!(steered["data"]["steered"], true, "{steered}");
    let frames = client.collect_until(|frame| frame["type"] == "done");
    assert!(types(&frames).contains(&"user_message"), "{frames:?}");

    client.prompt("5", &slow(30));
    eventually("it runs", || {
        fleet.read("ran").as_deref() == Some("ran\nran\n")
    });
    let aborted = client.call(json!({"id": 6, "type": "abort"}));
    assert_eq!(aborted["success"], true);
    client.event("done");
    let id = fleet.session_of(&client);
    let ended = client.finish();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);

    // Asks services to reload their files; a worker has none.
    worker.signal(Signal::HUP);
    let mut client = fleet.attach(&["--session", &id]);
    let texts = message_texts(&mut client);
    for text in ["buy milk", "hello", "sleep 30"] {
        assert!(texts.contains(text), "{text} in {texts}");
    }
    assert_answered(&client.turn("7", "read notes.txt"));
    assert_eq!(client.finish().code, Some(0));
}

#[test]
fn calls_are_confirmed_by_the_client() {
    let fleet = Fleet::start("approve = \"always\"\n");
    let _worker = fleet.worker("one");
    let mut client = fleet.attach(&["rpc", "--confirm"]);
    client.call(json!({"id": 1, "type": "hello", "capabilities": ["confirm"]}));
    client.prompt("2", "write \"a\" to made");
    let confirm = client.event("tool_confirm");
    client.send(json!({"id": confirm["id"], "type": "confirm", "allow": false, "reason": "no"}));
    let result = client.event("tool_result");
    assert!(result.to_string().contains("refused: no"), "{result}");
    client.event("done");
    assert_eq!(fleet.read("made"), None);
    assert_eq!(client.finish().code, Some(0));
}

#[test]
fn what_cannot_be_opened_is_said_at_once() {
    let fleet = Fleet::start("");
    let finished = fleet.attach(&["--wait", "0"]).finish();
    assert_eq!(finished.code, Some(2));
    assert!(
        finished.stderr.contains("no instance"),
        "{}",
        finished.stderr
    );
    let _worker = fleet.worker("one");
    let finished = fleet.attach(&["--session", "nothing"]).finish();
    assert_eq!(finished.code, Some(2));
    let expected = "zino: there is no session nothing in profile coder\n";
    assert_eq!(finished.stderr, expected);
    let finished = fleet.attach(&["rpc", "--confirm"]).finish();
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("approve"), "{}", finished.stderr);

    let client = fleet.attach(&[]);
    let id = fleet.session_of(&client);
    let finished = fleet.attach(&["--session", &id, "--wait", "0"]).finish();
    assert_eq!(finished.code, Some(2));
    assert!(
        finished.stderr.contains("is in use by"),
        "{}",
        finished.stderr
    );
    assert_eq!(client.finish().code, Some(0));
}

#[test]
fn a_worker_that_is_killed_in_a_tool_loop_is_replaced() {
    let fleet = Fleet::start("");
    let mut first = fleet.worker("one");
    let mut client = fleet.attach(&[]);
    client.turn("1", "write \"the secret is 42\" to secret.txt");
    client.call(json!({"id": 2, "type": "set_system_prompt", "prompt": "Be brief."}));
    client.prompt("3", &slow(60));
    client.event("turn_end");
    fleet.wait_for_file("ran");
    let _second = fleet.worker("two");
    first.signal(Signal::KILL);
    first.wait();
    // Sent before anybody can know that the worker is gone.
    client.prompt("4", "read secret.txt");
    let frames = client.collect_until(|frame| frame["type"] == "done");
    let error = &frames[frames.len() - 2];
    assert_eq!(error["code"], "worker_lost", "{frames:?}");
    let frames = client.collect_until(|frame| frame["type"] == "done");
    assert_eq!(frames[0]["id"], "4", "{frames:?}");
    assert_answered(&frames);
    let texts = message_texts(&mut client);
    for text in ["the secret is 42", "sleep 60", "interrupted"] {
        assert!(texts.contains(text), "{text} in {texts}");
    }
    assert_eq!(fleet.read("ran").as_deref(), Some("ran\n"));
    assert_eq!(client.finish().code, Some(0));
}

#[test]
fn a_drained_worker_is_not_noticed() {
    let fleet = Fleet::start("");
    let mut first = fleet.worker("one");
    let mut idle = fleet.attach(&[]);
    idle.turn("1", "hello");
    let mut working = fleet.attach(&[]);
    working.prompt("1", &slow(2));
    fleet.wait_for_file("ran");
    let _second = fleet.worker("two");
    first.signal(Signal::TERM);
    let frames = working.collect_until(|frame| frame["type"] == "done");
    let result = frames.iter().find(|frame| frame["type"] == "tool_result");
    assert_eq!(result.unwrap()["is_error"], false);
    assert_answered(&frames);
    assert_eq!(first.wait().code(), Some(0));
    for client in [&mut idle, &mut working] {
        assert_eq!(client.take_pending(), Vec::<Value>::new());
        assert_answered(&client.turn("2", "read ran"));
        let state = client.call(json!({"id": 3, "type": "get_state"}));
        assert!(
            state["data"]["message_count"].as_u64().unwrap() >= 6,
            "{state}"
        );
    }
    assert_eq!(idle.finish().code, Some(0));
    assert_eq!(working.finish().code, Some(0));
}

#[test]
fn tools_see_no_address_of_the_store_or_the_bus() {
    let fleet = Fleet::start("");
    let _worker = fleet.worker("one");
    let mut client = fleet.attach(&[]);
    let frames = client.turn("1", "run: env; cat /proc/$PPID/environ");
    let output = serde_json::to_string(&frames).unwrap();
    assert!(output.contains("ZOT_HOME"), "{output}");
    for secret in ["nats://", "postgres://"] {
        assert!(!output.contains(secret), "{secret} in {output}");
    }
    assert_eq!(client.finish().code, Some(0));
}

#[test]
fn a_client_that_is_killed_frees_its_session() {
    let fleet = Fleet::start("");
    let _worker = fleet.worker("one");
    let mut client = fleet.attach(&[]);
    client.prompt("1", &slow(60));
    fleet.wait_for_file("ran");
    let id = fleet.session_of(&client);
    // Also after its input has ended, when only the end of the work is awaited.
    client.close_stdin();
    std::thread::sleep(std::time::Duration::from_millis(500));
    drop(client);
    let mut client = fleet.attach(&["--session", &id, "--wait", "25"]);
    assert_answered(&client.turn("2", "read ran"));
    assert_eq!(client.finish().code, Some(0));
    assert_eq!(fs::read_to_string(fleet.path("ran")).unwrap(), "ran\n");
}

#[test]
fn a_restarted_bus_is_survived() {
    let mut fleet = Fleet::start("");
    let _worker = fleet.worker("one");
    let mut idle = fleet.attach(&[]);
    idle.turn("1", "hello");
    let mut working = fleet.attach(&[]);
    working.prompt("1", &slow(60));
    working.event("turn_end");
    fleet.wait_for_file("ran");
    fleet.nats.stop(NatsEnd::Kill);
    fleet.nats.start_again();
    let frames = working.collect_until(|frame| frame["type"] == "done");
    assert_eq!(
        frames[frames.len() - 2]["code"],
        "worker_lost",
        "{frames:?}"
    );
    for client in [&mut idle, &mut working] {
        assert_answered(&client.turn("2", "read ran"));
    }
    assert_eq!(fleet.read("ran").as_deref(), Some("ran\n"));
    assert_eq!(idle.finish().code, Some(0));
    assert_eq!(working.finish().code, Some(0));
}
