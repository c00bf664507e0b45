//! Lines as clients really write them: long, broken, split, with odd line ends.

use serde_json::{Value, json};
use testkit::Wire;

use crate::support::Session;

fn start() -> Session {
    Session::start(Wire::OpenAi)
}

fn assert_refused(frame: &Value) {
    assert_eq!(frame["type"], "response");
    assert_eq!(frame["success"], false);
    assert!(frame["error"].as_str().is_some_and(|text| !text.is_empty()));
}

fn assert_answers(session: &mut Session) {
    let pong = session
        .zot
        .call(json!({"id": "still here", "type": "ping"}));
    assert_eq!(pong["data"]["pong"], true);
}

#[test]
fn a_line_of_17_mebibytes_is_refused_and_reading_continues() {
    let mut session = start();
    let padding = "x".repeat(17 << 20);
    session.zot.send_line(&format!(
        "{{\"id\":\"1\",\"type\":\"ping\",\"pad\":\"{padding}\"}}"
    ));
    assert_refused(&session.zot.event("response"));
    assert_answers(&mut session);
}

#[test]
fn a_line_of_15_mebibytes_is_served() {
    let mut session = start();
    let padding = "x".repeat(15 << 20);
    let pong = session
        .zot
        .call(json!({"id": "1", "type": "ping", "pad": padding}));
    assert_eq!(pong["success"], true);
}

#[test]
fn broken_lines_are_refused_one_by_one() {
    let mut session = start();
    let deep = "[".repeat(100_000);
    for line in [
        "{",
        "not json",
        "[]",
        "5",
        "null",
        "{\"type\":5}",
        "{\"id\":\"1\"}",
        &deep,
        "{\"type\":\"ping\"} trailing",
        "{\"type\":\"prompt\",\"message\":5}",
    ] {
        session.zot.send_line(line);
        assert_refused(&session.zot.event("response"));
    }
    session.zot.send_bytes(b"\xff\xfe\n");
    assert_refused(&session.zot.event("response"));
    session
        .zot
        .send_bytes(b"{\"type\":\"ping\",\"id\":\"\xff\"}\n");
    session.zot.event("response");
    assert_answers(&mut session);
}

#[test]
fn a_character_may_arrive_in_two_writes() {
    let mut session = start();
    let line = "{\"id\":\"日本\",\"type\":\"ping\"}\n".as_bytes();
    for cut in 0..line.len() {
        session.zot.send_bytes(&line[..cut]);
        session.zot.send_bytes(&line[cut..]);
        let pong = session.zot.event("response");
        assert_eq!(pong["id"], "日本");
    }
}

#[test]
fn line_ends_and_blanks_do_not_matter() {
    let mut session = start();
    session.zot.send_bytes(
        b"\n\r\n   \n  {\"id\":\"1\",\"type\":\"ping\"}  \r\n\n{\"id\":\"2\",\"type\":\"ping\"}",
    );
    session.zot.close_stdin();
    assert_eq!(session.zot.event("response")["id"], "1");
    assert_eq!(session.zot.event("response")["id"], "2");
    let ended = session.zot.finish();
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.stdout.lines().count(), 2, "{}", ended.stdout);
}

#[test]
fn line_separators_in_text_are_escaped_and_do_not_split() {
    let mut session = start();
    let message = "code:a\u{2028}b\u{2029}c";
    session.zot.turn("\u{2028}", message);
    let messages = session.zot.call(json!({"id": "m", "type": "get_messages"}));
    let messages = &messages["data"]["messages"];
    assert_eq!(messages[0]["content"][0]["text"], message);
    assert_eq!(messages[1]["content"][0]["text"], "a\u{2028}b\u{2029}c");
    let output = session.zot.finish().stdout;
    assert!(!output.contains(['\u{2028}', '\u{2029}']));
    assert!(output.contains("\\u2028"));
}

#[test]
fn text_is_not_html_escaped() {
    let mut session = start();
    session.zot.turn("1", "code:<b>&'x");
    assert!(session.zot.finish().stdout.contains("<b>&'x"));
}

#[test]
fn an_empty_input_ends_well() {
    let session = start();
    let ended = session.zot.finish();
    assert_eq!(ended.code, Some(0));
    assert_eq!(ended.stdout, "");
}
