//! Ways to start, run and exit.

use std::time::{Duration, Instant};

use serde_json::json;
use testkit::{Signal, poll_until};

use super::{Attack, assert_nothing_left, hostile_extension, left};

/// Checks that zot continues and that the log contains `remark`.
fn check_life(behaviour: &str, remark: &str) {
    let mut attack = Attack::start(behaviour);
    attack.goes_on();
    attack.logs(remark);
    attack.goes_on();
    attack.end();
}

#[test]
fn an_extension_that_exits_immediately() {
    check_life(
        "exits-at-once",
        "given up: extension exited before hello: exit status: 0",
    );
}

#[test]
fn an_extension_that_crashes_after_hello_is_restarted() {
    let mut attack = Attack::start("exits-after-hello");
    attack.goes_on();
    attack.logs("it is started again in 1s");
    let result = attack.bad();
    assert!(result.starts_with("extension bad/bad failed: "), "{result}");
    attack.logs("it is started again in 2s");
    attack.goes_on();
    attack.end();
}

#[test]
fn an_extension_that_exits_normally_stays_down() {
    check_life("leaves-after-hello", "it exited: exit status: 0");
}

#[test]
fn an_extension_that_never_sends_hello() {
    let mut attack = Attack::start_with("mute", |manifest| manifest["start_timeout"] = json!(1));
    attack.goes_on();
    attack.logs("no hello within 1s; it is ended");
    attack.goes_on();
    attack.end();
}

/// An extension that is never ready counts as ready after a while.
#[test]
fn an_extension_that_is_never_ready() {
    let mut attack = Attack::start("never-ready");
    attack.goes_on();
    let started = Instant::now();
    let reloaded = attack.zot.call(json!({"id": "r", "type": "reload_ext"}));
    assert_eq!(reloaded["success"], true, "{reloaded}");
    assert!(
        started.elapsed() < Duration::from_secs(12),
        "{:?}",
        started.elapsed()
    );
    attack.logs("no ready frame, taken as ready");
    attack.goes_on();
    attack.end();
}

#[test]
fn an_extension_that_ignores_signals() {
    let mut attack = Attack::start_with("stubborn", |manifest| {
        let arguments = manifest["args"].as_array().unwrap();
        let program = hostile_extension();
        manifest["args"] = json!([
            "-c",
            r#"trap '' TERM; exec "$0" "$@""#,
            program,
            arguments[0],
            arguments[1]
        ]);
        manifest["exec"] = json!("sh");
    });
    attack.goes_on();
    let workdir = attack.workdir.zot_home().join("logs/ext-bad.log");
    attack.assert_bounded();
    let started = Instant::now();
    attack.zot.close_stdin();
    poll_until("zot says that it is stubborn", || {
        std::fs::read_to_string(&workdir)
            .is_ok_and(|log| log.contains("it did not exit within 2s of shutdown and is ended"))
    });
    attack.end();
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn an_extension_that_closes_its_output() {
    check_life("closes-stdout", "it closed its output; it is ended");
}

#[test]
fn an_extension_that_closes_its_input() {
    let mut attack = Attack::start("closes-stdin");
    attack.goes_on();
    let result = attack.bad();
    assert!(result.starts_with("extension bad/bad failed: "), "{result}");
    attack.logs("it closed its input");
    attack.goes_on();
    attack.end();
}

#[test]
fn an_extension_that_stops_itself() {
    let mut attack = Attack::start("stops-itself");
    attack.goes_on();
    let result = attack.abort_bad();
    assert!(result.contains("context canceled"), "{result}");
    attack.goes_on();
    attack.end();
}

/// Processes that leave the group are ended, too.
#[test]
fn an_extension_that_leaves_a_daemon_behind() {
    let mut attack = Attack::start("daemon");
    attack.goes_on();
    attack.logs("it left processes behind, which were ended");
    attack.goes_on();
    attack.end();
}

#[test]
fn children_end_with_their_extension() {
    let mut attack = Attack::start("children");
    attack.goes_on();
    assert_eq!(attack.bad(), "done");
    assert_eq!(
        left(&attack.workdir).len(),
        6,
        "zot, two extensions and three children"
    );
    attack.end();
    check_life(
        "abandons-children",
        "it left processes behind, which were ended",
    );
}

#[test]
fn two_hundred_children() {
    let mut attack = Attack::start("fork-bomb");
    attack.goes_on();
    poll_until("all children are there", || {
        left(&attack.workdir).len() > 200
    });
    attack.goes_on();
    attack.end();
}

/// When zot is killed, its extensions and their children end, too.
#[test]
fn extensions_die_with_a_killed_zot() {
    for behaviour in [
        "children",
        "fork-bomb",
        "flood-notify",
        "flood-stderr",
        "deaf",
        "stops-itself",
        "mute",
    ] {
        let mut attack = Attack::start(behaviour);
        match behaviour {
            // A prompt would wait for the extension.
            "mute" => poll_until("it is there", || left(&attack.workdir).len() == 3),
            _ => attack.goes_on(),
        }
        attack.zot.signal(Signal::KILL);
        let (finished, workdir) = attack.finish();
        assert_eq!(finished.signal, Some(9));
        poll_until("the extensions are gone", || left(&workdir).is_empty());
        assert_nothing_left(&workdir);
    }
}

#[test]
fn an_interrupted_zot_leaves_no_process() {
    for behaviour in ["flood-garbage", "children", "deaf"] {
        let mut attack = Attack::start(behaviour);
        attack.goes_on();
        attack.zot.signal(Signal::TERM);
        let (finished, workdir) = attack.finish();
        assert_ne!(finished.code, Some(0));
        assert_nothing_left(&workdir);
    }
}
