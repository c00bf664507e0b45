//! Extensions that break.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::process::{descendants, is_running};
use testkit::{ScriptedExtension, Signal, echo_tool, poll_until, tool_text};

use super::{Extended, result_of};
use crate::support::of_kind;

/// Shorter than any of the waits that must not happen.
const SOON: Duration = Duration::from_secs(10);

fn with_tool(steps: Value) -> ScriptedExtension {
    ScriptedExtension::new("probe", [echo_tool("t")]).tool("t", steps)
}

#[test]
fn a_crash_fails_the_call_immediately_and_the_tool_comes_back() {
    let mut run = Extended::start(&[with_tool(json!({"exit": 9}))]);
    let begin = Instant::now();
    let (failed, text) = run.call("t", json!({}));
    assert!(failed && text.contains("probe/t failed"), "{text}");
    assert!(text.contains("crashed") && text.contains('9'), "{text}");
    assert!(begin.elapsed() < SOON);
    let mended = json!({"start": [
        {"type": "hello", "name": "probe", "version": "1.0.0"}, echo_tool("t"), {"type": "ready"},
    ], "tools": {"t": tool_text("mended")}});
    run.installed[0].write("script.json", &mended.to_string());
    poll_until("it is started again", || {
        run.installed[0].sent("hello").len() >= 2
    });
    poll_until("it works again", || {
        run.call("t", json!({})) == (false, "mended".to_owned())
    });
}

#[test]
fn an_extension_that_exits_normally_is_not_restarted() {
    let mut run = Extended::start(&[with_tool(json!([tool_text("bye"), {"exit": 0}]))]);
    assert_eq!(run.call("t", json!({})), (false, "bye".to_owned()));
    run.wait_for_log("probe", "it exited");
    let (failed, text) = run.call("t", json!({}));
    assert!(failed, "{text}");
    assert!(!run.log("probe").contains("started again"));
    assert_eq!(run.installed[0].sent("hello").len(), 1);
}

#[test]
fn an_abort_ends_a_call_immediately() {
    let steps = json!([{"touch": "called"}, {"wait_for": "never"}]);
    let mut run = Extended::start(&[with_tool(steps)]);
    run.zot.prompt("1", "tool:t:{}");
    poll_until("it is called", || run.installed[0].has("called"));
    let begin = Instant::now();
    run.zot.send(json!({"id": "a", "type": "abort"}));
    let frames = run.zot.collect_until(|frame| frame["type"] == "done");
    assert!(begin.elapsed() < SOON);
    assert!(result_of(&frames).0);
    assert!(of_kind(&frames, "error").is_empty());
}

#[test]
fn invalid_responses_are_errors() {
    let wrong = [
        json!({"type": "tool_result", "content": "text"}),
        json!({"type": "tool_result", "content": [{"type": "text", "text": 5}]}),
        json!({"type": "command_response"}),
        json!({"type": "tool_result", "repeat": 17 * 1024 * 1024, "text": "x"}),
    ];
    for answer in wrong {
        let mut run = Extended::start(&[with_tool(answer.clone())]);
        let begin = Instant::now();
        let (failed, text) = run.call("t", json!({}));
        assert!(
            failed && text.contains("probe/t failed"),
            "{answer}: {text}"
        );
        assert!(begin.elapsed() < SOON, "{answer}: {:?}", begin.elapsed());
    }
}

#[test]
fn a_command_whose_extension_fails_is_refused() {
    let register = |name: &str| json!({"type": "register_command", "name": name});
    let extension = ScriptedExtension::new("probe", [register("crash"), register("riddle")])
        .script(
            "commands",
            json!({
                "riddle": {"type": "command_response", "action": "dance"},
                "crash": {"exit": 9},
            }),
        );
    let mut run = Extended::start(&[extension]);
    for name in ["riddle", "crash"] {
        let command = json!({"id": name, "type": "invoke_command", "name": name});
        let answer = run.zot.call(command);
        assert_eq!(answer["code"], "extension", "{answer}");
    }
}

/// Its unfinished work does not prevent the exit.
#[test]
fn an_extension_that_does_not_exit_is_killed() {
    let mut run = Extended::start(&[with_tool(json!([
        {"touch": "called"}, {"stop_reading": true},
    ]))]);
    run.zot.prompt("1", "tool:t:{}");
    poll_until("it is called", || run.installed[0].has("called"));
    let family = descendants(run.zot.pid());
    run.zot.signal(Signal::TERM);
    let finished = run.zot.wait(SOON);
    assert_eq!(finished.code, Some(143));
    assert!(!family.iter().any(|&pid| is_running(pid)));
    assert!(run.installed[0].notes().contains(&"# SIGTERM".to_owned()));
}

#[test]
fn noise_is_skipped() {
    let steps = json!([
        {"raw": "not json"}, {"raw": ""}, {"raw": "[]"}, {"type": "news", "x": 1},
        {"type": "tool_result", "id": "nobody", "content": []}, tool_text("ok"),
    ]);
    let mut run = Extended::start(&[with_tool(steps)]);
    assert_eq!(run.call("t", json!({})), (false, "ok".to_owned()));
}

#[test]
fn standard_error_is_kept_in_its_log() {
    let mut run = Extended::start(&[with_tool(json!([{"stderr": "trace 42"}, tool_text("ok")]))]);
    run.call("t", json!({}));
    run.wait_for_log("probe", "trace 42");
}

#[test]
fn the_token_of_the_client_is_not_passed_on() {
    let names = json!({"attempt": "environment", "names": ["ZOTCORE_RPC_TOKEN", "PASSED_ON"]});
    let mut run = Extended::start_with(&[with_tool(names)], |command| {
        command
            .env("ZOTCORE_RPC_TOKEN", "s3cret")
            .env("PASSED_ON", "yes")
    });
    let hello = json!({"id": "h", "type": "hello", "token": "s3cret"});
    assert_eq!(run.zot.call(hello)["success"], true);
    let (_, text) = run.call("t", json!({}));
    assert_eq!(
        text,
        r#"ok: {"ZOTCORE_RPC_TOKEN": null, "PASSED_ON": "yes"}"#
    );
}

#[cfg(target_os = "linux")]
#[test]
fn no_extension_outlives_a_killed_zot() {
    let steps = json!([{"touch": "called"}, {"stop_reading": true}]);
    let busy = with_tool(steps)
        .script("ignore_sigterm", json!(true))
        .script("shutdown", json!("hang"));
    let mut run = Extended::start(&[busy]);
    run.zot.prompt("1", "tool:t:{}");
    poll_until("it is called", || run.installed[0].has("called"));
    let family = descendants(run.zot.pid());
    assert!(!family.is_empty());
    run.zot.signal(Signal::KILL);
    poll_until("all of them are gone", || {
        !family.iter().any(|&pid| is_running(pid))
    });
}
