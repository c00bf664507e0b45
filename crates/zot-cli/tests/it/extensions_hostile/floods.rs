//! Floods.

use testkit::poll_until;

use super::Attack;

/// The flood is throttled: zot and the other extension are not affected.
fn check_flood(behaviour: &str, remark: &str) {
    let mut attack = Attack::start(behaviour);
    attack.goes_on();
    attack.logs(remark);
    for _ in 0..5 {
        attack.goes_on();
    }
    attack.end();
}

const SLOWED: &str = "it floods its output and is slowed down";

#[test]
fn a_flood_of_notices() {
    check_flood("flood-notify", SLOWED);
}

#[test]
fn a_flood_of_garbage() {
    check_flood("flood-garbage", SLOWED);
}

#[test]
fn a_line_without_an_end() {
    check_flood("flood-endless-line", SLOWED);
}

#[test]
fn a_line_of_a_gibibyte() {
    check_flood("gibibyte-line", SLOWED);
}

#[test]
fn a_flood_before_hello() {
    check_flood("flood-before-hello", SLOWED);
}

#[test]
fn a_flood_on_standard_error() {
    check_flood("flood-stderr", "nothing of importance");
}

#[test]
fn an_extension_that_does_not_read_loses_events() {
    let mut attack = Attack::start("deaf");
    attack.goes_on();
    // More than the pipe and the queue hold.
    let turns = (0..60).map(|_| attack.turn("say:4000"));
    assert!(turns.map(|frames| frames.len()).min() > Some(1));
    // Unless the turns above took longer than the write timeout; then it was killed.
    attack.logs("it does not read its input");
    attack.goes_on();
    attack.end();
}

/// Slow: waits for the write timeout of the program itself. On a paused clock, this timeout and that of
/// floods are tested in `zot-extension-host`.
#[test]
fn an_extension_that_writes_but_does_not_read_is_killed() {
    let mut attack = Attack::start("deaf-and-chatty");
    attack.goes_on();
    for _ in 0..8 {
        attack.turn("say:4000");
    }
    attack.logs("it does not read its input; it is ended");
    attack.end();
}

#[test]
fn a_panel_of_100_mebibytes() {
    let mut attack = Attack::start("huge-panel");
    let result = attack.bad();
    assert!(result.contains("more than 16777216 bytes"), "{result}");
    attack.logs("it sent a frame of more than 16777216 bytes");
    attack.goes_on();
    attack.end();
}

#[test]
fn ten_thousand_hellos() {
    let mut attack = Attack::start("hello-again");
    assert_eq!(attack.bad(), "hello");
    attack.logs("a second hello was ignored");
    attack.goes_on();
    attack.end();
}

#[test]
fn a_hundred_thousand_registrations() {
    let mut attack = Attack::start("many-registrations");
    attack.goes_on();
    attack.logs("is one too many, 256 commands are allowed");
    attack.logs(SLOWED);
    attack.goes_on();
    attack.end();
}

#[test]
fn registrations_of_many_mebibytes() {
    let mut attack = Attack::start("huge-registrations");
    assert_eq!(attack.bad(), "registered");
    attack.goes_on();
    attack.logs("schema: it is longer than");
    attack.end();
}

/// The quota of log messages is per second: later ones are logged again.
#[test]
fn a_log_stays_readable_in_a_flood() {
    let mut attack = Attack::start("flood-garbage");
    attack.goes_on();
    poll_until("remarks left out", || {
        attack.log().contains("more remarks left out")
    });
    let garbage = attack.log().matches("garbage").count();
    assert!(garbage < 1000, "{garbage} remarks");
    attack.end();
}
