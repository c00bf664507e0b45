//! `zot ext dev`: input by hand, and a restart on every save.

use std::fs;

use testkit::{PATIENCE, Signal, Zot, poll_until};

use super::{Bench, GOOD, write_program};

fn shows(zot: &Zot, part: &str) {
    poll_until(part, || zot.lines().iter().any(|line| line.contains(part)));
}

#[test]
fn commands_tools_and_panels_by_hand() {
    let bench = Bench::new();
    let script = GOOD
        .replace(
            "case $line in\n",
            "case $line in\n    *panel_key*) echo '{\"type\":\"panel_render\",\"panel_id\":\"p\",\"lines\":[\"moved\"]}' ;;\n    *'\"name\":\"show\"'*) echo '{\"type\":\"command_response\",\"id\":\"'\"$id\"'\",\"action\":\"open_panel\",\"open_panel\":{\"id\":\"p\",\"lines\":[\"first line\"]}}' ;;\n",
        )
        .replace("while", "echo '{\"type\":\"notify\",\"level\":\"info\",\"message\":\"psst\"}'; echo oops >&2\nwhile");
    let directory = bench.good();
    write_program(&directory.join("run.sh"), &script);
    let mut zot = bench.command(&["dev", "good"]).spawn();
    shows(&zot, "+ tool add: adds");
    shows(&zot, "* info: psst");
    shows(&zot, "stderr: oops");
    zot.send_line("/greet you");
    shows(&zot, "< display: hi there");
    zot.send_line("tool {\"a\": 1}");
    shows(&zot, "< result: sum");
    zot.send_line("panel down");
    shows(&zot, "! no panel is open");
    zot.send_line("/show");
    shows(&zot, "| first line");
    zot.send_line("panel down");
    shows(&zot, "| moved");
    zot.send_line("add {oops");
    shows(&zot, "! expected a JSON object as the arguments");
    zot.send_line("what");
    shows(&zot, "unknown command");
    zot.signal(Signal::INT);
    assert_eq!(zot.wait(PATIENCE).code, Some(130));
}

#[test]
fn a_save_restarts_and_the_end_of_input_ends_everything() {
    let bench = Bench::new();
    let marker = format!("88{:04}", std::process::id() % 10000);
    let with_child = GOOD.replace("while", &format!("sleep {marker} &\nwhile"));
    let directory = bench.good();
    write_program(&directory.join("run.sh"), &with_child);
    let zot = bench.command(&["dev", "good"]).spawn();
    shows(&zot, "+ command /greet");
    // Files that an extension writes are not code.
    fs::write(directory.join("state.db"), "1").unwrap();
    write_program(
        &directory.join("run.sh"),
        &with_child.replace("greet", "welcome"),
    );
    shows(&zot, "run.sh changed: restarting");
    shows(&zot, "+ command /welcome");
    fs::write(directory.join("extension.json"), "{").unwrap();
    shows(&zot, "waiting for a change");
    fs::write(directory.join("extension.json"), super::manifest("good")).unwrap();
    poll_until("it runs again", || {
        let lines = zot.lines();
        lines
            .iter()
            .filter(|line| line.contains("+ command /welcome"))
            .count()
            == 2
    });
    assert!(!zot.lines().iter().any(|line| line.contains("state.db")));
    let sleeper = format!("sleep {marker}");
    poll_until("its child runs", || {
        !testkit::process::with_command_line(&sleeper).is_empty()
    });
    zot.signal(Signal::INT);
    assert_eq!(zot.wait(PATIENCE).code, Some(130));
    poll_until("nothing is left running", || {
        testkit::process::with_command_line(&sleeper).is_empty()
    });
}

#[test]
fn a_crashed_extension_is_waited_for() {
    let bench = Bench::new();
    let directory = bench.good();
    let crashing = GOOD.replace(
        "*'\"type\":\"command_invoked\"'*)",
        "*command_invoked*) echo bye >&2; exit 4 ;;\n    *never*)",
    );
    write_program(&directory.join("run.sh"), &crashing);
    let mut zot = bench.command(&["dev", "good"]).spawn();
    shows(&zot, "+ command /greet");
    zot.send_line("/greet");
    shows(&zot, "the extension ended (exit status: 4)");
    shows(&zot, "stderr: bye");
    write_program(&directory.join("run.sh"), GOOD);
    shows(&zot, "restarting");
    zot.close_stdin();
    zot.signal(Signal::TERM);
    assert_eq!(zot.wait(PATIENCE).code, Some(143));
    assert!(
        bench
            .fail(1, &["dev", "nowhere"])
            .contains("no such directory")
    );
}
