//! Invalid responses.

use std::time::Instant;

use serde_json::json;

use super::{Attack, PROMPTLY};

/// Checks the result of the tool and that the log contains `remark`.
fn check_result(behaviour: &str, result: &str, remark: &str) {
    let mut attack = Attack::start(behaviour);
    attack.goes_on();
    let got = attack.bad();
    assert!(got.contains(result), "{got}");
    attack.logs(remark);
    attack.goes_on();
    attack.end();
}

#[test]
fn results_without_a_call() {
    check_result(
        "unknown-ids",
        "asked",
        r#"tool_result: no request waits for "999999""#,
    );
}

#[test]
fn two_results_for_one_call() {
    check_result("twice", "first", "tool_result: no request waits for");
}

#[test]
fn a_result_of_the_wrong_shape() {
    check_result(
        "wrong-shape",
        "it answered with a malformed tool_result: content",
        "content:",
    );
    check_result(
        "wrong-shape-without-id",
        "it answered with a malformed tool_result: id",
        "id:",
    );
}

#[test]
fn a_result_that_is_too_long() {
    let remark = "it sent a frame of more than 16777216 bytes";
    check_result("too-long", remark, remark);
}

#[test]
fn a_result_of_millions_of_blocks() {
    check_result("million-blocks", "a list may have", "a list may have");
}

#[test]
fn a_result_byte_by_byte() {
    let mut attack = Attack::start("byte-by-byte");
    assert_eq!(attack.bad(), "ünï\u{1f600}");
    attack.goes_on();
    attack.end();
}

#[test]
fn half_a_result_ends_with_an_abort() {
    let mut attack = Attack::start("half-frame");
    attack.goes_on();
    let result = attack.abort_bad();
    assert!(result.contains("context canceled"), "{result}");
    attack.goes_on();
    attack.end();
}

#[test]
fn no_result_ends_with_an_abort() {
    let mut attack = Attack::start("never-answers");
    attack.goes_on();
    for _ in 0..3 {
        let result = attack.abort_bad();
        assert!(result.contains("context canceled"), "{result}");
    }
    attack.goes_on();
    attack.end();
}

#[test]
fn results_instead_of_interception_responses() {
    let mut attack = Attack::start("intercepts-with-results");
    for _ in 0..3 {
        attack.goes_on();
    }
    attack.logs("was asked something else");
    attack.end();
}

#[test]
fn a_crash_in_the_middle_of_an_interception_allows() {
    let mut attack = Attack::start("crashes-intercepting");
    for _ in 0..3 {
        attack.goes_on();
    }
    attack.logs("event_intercept tool_call: the extension crashed");
    attack.logs("; allowed");
    attack.end();
}

#[test]
fn a_crash_in_the_middle_of_an_interception_blocks_if_configured() {
    let mut attack = Attack::start_with("crashes-intercepting", |manifest| {
        manifest["on_failure"] = json!("block");
    });
    for _ in 0..3 {
        let result = attack.call("good");
        assert!(result.contains("did not answer"), "{result}");
    }
    attack.logs("; blocked");
    attack.end();
}

#[test]
fn an_abort_ends_an_interception() {
    let mut attack = Attack::start("never-intercepts");
    attack.zot.prompt("aborted", "tool:good:{}");
    attack.zot.event("tool_call");
    let started = Instant::now();
    attack.zot.send(json!({"id": "abort", "type": "abort"}));
    attack.zot.event("done");
    assert!(started.elapsed() < PROMPTLY, "{:?}", started.elapsed());
    attack.end();
}

#[test]
fn arguments_that_need_eighty_times_their_length_in_memory() {
    let mut attack = Attack::start("costly-arguments");
    attack.goes_on_within(super::FIRST_PROMPT);
    attack.logs("modified_args for good are ignored");
    attack.end();
}
