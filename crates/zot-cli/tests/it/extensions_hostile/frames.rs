//! Invalid frames, and frames that should not be sent.

use super::Attack;
use crate::support::of_kind;

/// Checks that the tool sends the frames and then a result, and that the log has all `remarks`.
fn check_frames(behaviour: &str, remarks: &[&str]) {
    let mut attack = Attack::start(behaviour);
    attack.goes_on();
    assert_eq!(attack.bad(), "done");
    for remark in remarks {
        attack.logs(remark);
    }
    attack.goes_on();
    attack.end();
}

#[test]
fn invalid_utf8() {
    check_frames(
        "invalid-utf8",
        &[
            "line is not valid UTF-8 at byte 28",
            "valid UTF-8 at byte 0",
        ],
    );
}

#[test]
fn frames_before_hello() {
    check_frames("before-hello", &["a frame before hello was ignored"]);
}

#[test]
fn a_schema_a_hundred_thousand_deep() {
    check_frames("deep-schema", &[r#"register_tool: "deep": schema:"#]);
}

#[test]
fn odd_names() {
    check_frames(
        "odd-names",
        &[
            r#""\u{1b}[31mred" is not a valid tool name"#,
            r#""\u{1b}[31mred" is not a valid command name"#,
            r#""nul\0" is not a valid tool name"#,
            r#""../../etc" is not a valid tool name"#,
        ],
    );
}

#[test]
fn deep_frames() {
    let mut attack = Attack::start("deep-frames");
    attack.goes_on();
    let frames = attack.turn("tool:bad:{}");
    // Fields that are ignored may have any depth.
    let notices = of_kind(&frames, "ext_notify");
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert_eq!(notices[0]["message"], "flat");
    attack.logs("not a frame");
    attack.goes_on();
    attack.end();
}

#[test]
fn duplicate_keys() {
    let mut attack = Attack::start("duplicate-keys");
    attack.goes_on();
    let frames = attack.turn("tool:bad:{}");
    assert_eq!(of_kind(&frames, "ext_notify")[0]["message"], "b");
    assert_eq!(
        super::text(of_kind(&frames, "tool_result")[0]),
        "(extension returned no content)"
    );
    attack.goes_on();
    attack.end();
}

#[test]
fn a_million_fields() {
    let mut attack = Attack::start("million-fields");
    attack.goes_on();
    attack.bad();
    attack.logs("an object may have 1024 fields at most");
    attack.goes_on();
    attack.end();
}

#[test]
fn a_million_lines() {
    check_frames(
        "million-lines",
        &[
            "panel_render: lines: a list may have",
            "subscribe: events: a list may have",
        ],
    );
}

#[test]
fn log_messages_stay_short() {
    let mut attack = Attack::start("long-remarks");
    attack.goes_on();
    assert_eq!(attack.bad(), "done");
    attack.logs("unknown frame type");
    let log = attack.log();
    assert!(log.len() < 16 * 1024, "{} bytes", log.len());
    attack.end();
}
