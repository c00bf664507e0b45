//! What extensions wrote to standard error.

use std::fs::{self, OpenOptions};
use std::io::Write as _;

use testkit::{Signal, poll_until};

use super::Bench;

#[test]
fn a_log_is_shown_whole_or_its_end() {
    let bench = Bench::new();
    let logs = bench.0.zot_home().join("logs");
    fs::create_dir_all(&logs).unwrap();
    fs::write(logs.join("ext-x.log"), "one\ntwo\nthree\n").unwrap();
    assert_eq!(bench.succeed(&["logs", "x"]), "one\ntwo\nthree\n");
    assert_eq!(bench.succeed(&["logs", "x", "-n", "2"]), "two\nthree\n");
    assert_eq!(bench.succeed(&["logs", "x", "-n", "0"]), "");
    assert!(bench.fail(1, &["logs", "nobody"]).contains("nobody"));
    assert!(
        bench
            .fail(1, &["logs", "../ext-x"])
            .contains("not a valid extension name")
    );
    bench.good();
    bench.succeed(&["install", "good", "--yes"]);
    let ended = bench.run(&["logs", "good"]);
    assert_eq!(ended.code, Some(0));
    assert!(
        ended.stderr.contains("not written anything"),
        "{}",
        ended.stderr
    );
}

#[test]
fn following_survives_rotation_and_truncation() {
    let bench = Bench::new();
    let logs = bench.0.zot_home().join("logs");
    fs::create_dir_all(&logs).unwrap();
    let log = logs.join("ext-x.log");
    let append = |text: &str| {
        let mut file = OpenOptions::new().append(true).create(true).open(&log);
        file.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    };
    let zot = bench.command(&["logs", "x", "-f"]).spawn();
    let shows = |line: &str| {
        poll_until(line, || zot.lines().iter().any(|shown| shown == line));
    };
    append("appears later\n");
    shows("appears later");
    append("and grows\n");
    shows("and grows");
    append("last of the old\n");
    fs::rename(&log, logs.join("ext-x.log.1")).unwrap();
    append("first of the new\n");
    shows("last of the old");
    shows("first of the new");
    fs::write(&log, "cut\n").unwrap();
    shows("cut");
    zot.signal(Signal::INT);
    let ended = zot.wait(testkit::PATIENCE);
    assert!(
        ended.code == Some(130) || ended.signal == Some(2),
        "{ended:?}"
    );
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let expected = [
        "appears later",
        "and grows",
        "last of the old",
        "first of the new",
        "cut",
    ];
    assert_eq!(lines, expected);
}
