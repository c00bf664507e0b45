//! Extensions that watch and intercept.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{ScriptedExtension, Zot, register_tool};

use super::{Extended, guard, result_of, verdict};
use crate::support::{kinds, of_kind, streamed_text};

/// Longer than any of this takes, shorter than the timeout of an interceptor.
const SOON: Duration = Duration::from_secs(4);

fn rewriting(name: &str, arguments: Value) -> ScriptedExtension {
    guard(
        name,
        json!({"tool_call": verdict(json!({"modified_args": arguments}))}),
    )
}

fn blocking(name: &str, fields: Value) -> ScriptedExtension {
    let mut fields = fields;
    fields["block"] = json!(true);
    guard(name, json!({"tool_call": verdict(fields)}))
}

#[test]
fn rewrites_are_chained_and_the_conversation_keeps_the_original() {
    let chain = [
        rewriting("a", json!({"command": "echo from a"})),
        rewriting("b", json!({"command": "echo from b"})),
    ];
    let mut run = Extended::start(&chain);
    let frames = run.zot.turn("1", r#"tool:bash:{"command":"echo model"}"#);
    assert!(result_of(&frames).1.contains("from b"));
    assert_eq!(
        of_kind(&frames, "tool_call")[0]["args"]["command"],
        "echo model"
    );
    let asked = &run.installed[1].received("event_intercept")[0];
    assert_eq!(asked["tool_args"]["command"], "echo from a");
}

#[test]
fn no_one_is_asked_after_the_first_block() {
    let reason = json!({"reason": "not on my watch"});
    let mut run = Extended::start(&[
        rewriting("a", json!({"command": "touch rewritten"})),
        blocking("b", reason),
        guard("c", json!({"tool_call": verdict(json!({}))})),
    ]);
    let blocked = run.call("bash", json!({"command": "touch ran"}));
    assert_eq!(blocked, (true, "not on my watch".to_owned()));
    assert!(run.installed[2].received("event_intercept").is_empty());
    for file in ["ran", "rewritten"] {
        assert!(!run.workdir.path().join(file).exists());
    }

    let mut run = Extended::start(&[blocking("shy", json!({}))]);
    let (failed, text) = run.call("bash", json!({"command": "true"}));
    assert!(failed && text.contains("shy"), "{text}");
}

#[test]
fn invalid_arguments_are_ignored_and_logged() {
    for bad in [
        json!("echo no"),
        json!([1]),
        json!({}),
        json!({"command": 5}),
    ] {
        let mut run = Extended::start(&[rewriting("bad", bad.clone())]);
        let (failed, text) = run.call("bash", json!({"command": "echo as it was"}));
        assert!(!failed && text.contains("as it was"), "{bad}: {text}");
        let log = run.log("bad");
        assert!(log.contains("modified_args for bash are ignored"), "{log}");
    }
}

#[test]
fn events_come_in_order_and_before_the_question_about_them() {
    let all = json!([
        "session_start",
        "turn_start",
        "turn_end",
        "tool_call",
        "assistant_message"
    ]);
    let subscribe = json!({
        "type": "subscribe", "events": all,
        "intercept": ["tool_call", "turn_start", "assistant_message"],
    });
    let mut run = Extended::start(&[ScriptedExtension::new("probe", [subscribe])]);
    run.call("bash", json!({"command": "true"}));
    let installed = run.installed[0].clone();
    assert_eq!(run.zot.finish().code, Some(0));
    let notes = installed.notes();
    let events = notes.iter().filter_map(|note| note.strip_prefix("> "));
    let events = events.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events: Vec<String> = events
        .map(|frame| match frame["event"].as_str() {
            Some(event) => format!("{} {event}", frame["type"].as_str().unwrap()),
            None => frame["type"].as_str().unwrap().to_owned(),
        })
        .collect();
    assert_eq!(
        events,
        [
            "hello_ack",
            "event session_start",
            "event turn_start",
            "event_intercept turn_start",
            "event assistant_message",
            "event tool_call",
            "event turn_end",
            "event_intercept tool_call",
            "event turn_start",
            "event_intercept turn_start",
            // The event contains what was shown, so it comes after the response.
            "event_intercept assistant_message",
            "event assistant_message",
            "event turn_end",
            "shutdown",
        ]
    );
}

#[test]
fn a_replaced_message_keeps_its_time_and_the_conversation_its_text() {
    let replace = verdict(json!({"replace_text": "[redacted]"}));
    let mut run = Extended::start(&[guard("guard", json!({"assistant_message": replace}))]);
    let before = run.zot.turn("0", "say:1");
    let user = of_kind(&before, "user_message")[0]["time"]
        .as_str()
        .unwrap();
    let message = of_kind(&before, "assistant_message")[0];
    assert_eq!(message["content"][0]["text"], "[redacted]");
    assert!(message["time"].as_str().unwrap() >= user, "{message}");
    // No extension asked to hold it back.
    assert_eq!(streamed_text(&before), "alpha ");
    let kept = run.zot.call(json!({"id": "m", "type": "get_messages"}));
    assert_eq!(kept["data"]["messages"][1]["content"][0]["text"], "alpha ");
}

fn holding(answer: Value) -> ScriptedExtension {
    let subscribe = json!({
        "type": "subscribe", "events": [], "intercept": ["assistant_message"], "hold_text": true
    });
    let steps = json!([{"touch": "asked"}, {"wait_for": "go"}, answer]);
    ScriptedExtension::new("holder", [subscribe])
        .script("intercept", json!({"assistant_message": steps}))
}

#[test]
fn held_text_is_shown_once_it_is_checked() {
    for (answer, text, is_shown) in [
        (json!({}), "alpha beta ", true),
        (json!({"replace_text": "[redacted]"}), "[redacted]", true),
        (json!({"block": true}), "", false),
    ] {
        let mut run = Extended::start(&[holding(verdict(answer.clone()))]);
        run.zot.prompt("1", "say:2");
        testkit::poll_until("it is asked", || run.installed[0].has("asked"));
        let early = run.zot.take_pending();
        assert_eq!(streamed_text(&early), "", "{answer}");
        run.installed[0].release("go");
        let frames = run.zot.collect_until(|frame| frame["type"] == "done");
        assert_eq!(streamed_text(&frames), text, "{answer}");
        let messages = of_kind(&frames, "assistant_message");
        assert_eq!(messages.len(), usize::from(is_shown), "{answer}");
        if is_shown {
            assert_eq!(messages[0]["content"][0]["text"], text);
        }
    }
}

#[test]
fn held_text_that_was_never_checked_is_not_shown() {
    // Aborted before the guard responds.
    let mut run = Extended::start(&[holding(verdict(json!({})))]);
    run.zot.prompt("1", "say:2");
    testkit::poll_until("it is asked", || run.installed[0].has("asked"));
    run.zot.send(json!({"id": "a", "type": "abort"}));
    let frames = collect(&mut run.zot);
    assert_eq!(streamed_text(&frames), "");
    assert!(of_kind(&frames, "assistant_message").is_empty());

    // The guard is gone, which must not allow anything.
    let dying = holding(json!({"exit": 3})).manifest("on_failure", json!("block"));
    let mut run = Extended::start(&[dying]);
    run.installed[0].release("go");
    run.zot.turn("1", "say:2");
    let frames = run.zot.turn("2", "say:2");
    assert_eq!(streamed_text(&frames), "");
    assert!(of_kind(&frames, "assistant_message").is_empty());
}

#[test]
fn a_blocked_turn_ends_the_prompt() {
    let block = verdict(json!({"block": true, "reason": "office hours"}));
    let mut run = Extended::start(&[guard("guard", json!({"turn_start": block}))]);
    let frames = run.zot.turn("1", "say:1");
    assert_eq!(
        kinds(&frames),
        ["response", "user_message", "turn_start", "turn_end", "done"]
    );
    assert_eq!(of_kind(&frames, "turn_end")[0]["error"], "office hours");
    assert!(run.server.requests().is_empty());
}

fn abort_when_asked(run: &mut Extended) -> (Vec<Value>, Duration) {
    run.installed[0].wait_until_received("event_intercept", 1);
    let begin = Instant::now();
    run.zot.send(json!({"id": "a", "type": "abort"}));
    let frames = collect(&mut run.zot);
    (frames, begin.elapsed())
}

fn collect(zot: &mut Zot) -> Vec<Value> {
    zot.collect_until(|frame| frame["type"] == "done")
}

/// Takes the five seconds of an interceptor's timeout.
#[test]
fn silence_counts_as_consent_unless_the_manifest_says_otherwise() {
    let silent = |name: &str| guard(name, json!({"tool_call": []}));
    let mut lax = Extended::start(&[silent("lax")]);
    let strict = silent("strict").manifest("on_failure", json!("block"));
    let mut strict = Extended::start(&[strict]);
    let begin = Instant::now();
    for run in [&mut lax, &mut strict] {
        run.zot.prompt("1", r#"tool:bash:{"command":"touch ran"}"#);
    }
    let (failed, _) = result_of(&collect(&mut lax.zot));
    assert!(!failed && lax.workdir.path().join("ran").exists());
    assert!(
        begin.elapsed() >= Duration::from_secs(4),
        "{:?}",
        begin.elapsed()
    );
    let (failed, text) = result_of(&collect(&mut strict.zot));
    assert!(failed && text.contains("strict"), "{text}");
    assert!(!strict.workdir.path().join("ran").exists());
}

#[test]
fn an_abort_does_not_wait_for_an_interceptor() {
    for event in ["tool_call", "turn_start", "assistant_message"] {
        let mut run = Extended::start(&[guard("silent", json!({event: []}))]);
        let prompt = match event {
            "tool_call" => r#"tool:bash:{"command":"touch ran"}"#,
            _ => "say:1",
        };
        run.zot.prompt("1", prompt);
        let (frames, took) = abort_when_asked(&mut run);
        assert!(took < SOON, "{event}: {took:?}");
        assert_eq!(of_kind(&frames, "done").len(), 1);
        assert!(!run.workdir.path().join("ran").exists());
    }
}

#[test]
fn a_guard_that_crashes_or_never_starts_blocks_if_its_manifest_says_so() {
    let crashing = || guard("guard", json!({"tool_call": {"exit": 7}}));
    let dead = || ScriptedExtension::starting_with("guard", [json!({"exit": 3})]);
    for make in [&crashing as &dyn Fn() -> ScriptedExtension, &dead] {
        let begin = Instant::now();
        let mut lax = Extended::start(&[make()]);
        let (failed, text) = lax.call("bash", json!({"command": "echo ran"}));
        assert!(!failed, "{text}");
        let strict = make().manifest("on_failure", json!("block"));
        let mut strict = Extended::start(&[strict]);
        let (failed, text) = strict.call("bash", json!({"command": "touch ran"}));
        assert!(failed && text.contains("guard"), "{text}");
        assert!(!strict.workdir.path().join("ran").exists());
        // Without the five seconds of the timeout in both.
        let took = begin.elapsed();
        assert!(took < 2 * Duration::from_secs(5), "{took:?}");
    }
}

#[test]
fn tools_of_extensions_are_asked_about_too() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let tool = ScriptedExtension::new("tools", [register_tool("t", schema)])
        .tool("t", json!({"type": "tool_result", "echo": "args"}));
    let mut run = Extended::start(&[tool, rewriting("guard", json!({"n": 2}))]);
    let call = run.call("t", json!({"n": 1}));
    assert_eq!(call, (false, "{\"n\": 2}".to_owned()));
}
