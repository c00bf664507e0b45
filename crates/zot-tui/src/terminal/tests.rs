//! Panics, in a separate process on a real terminal: this test program, run again.

use std::fs::File;
use std::io::Read as _;
use std::process::{Command, Stdio};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::tcgetattr;

use super::*;

const ROLE: &str = "ZOT_TUI_TEST_PANICS";

/// Runs `test` of this program on a terminal and returns what it wrote. Asserts that the terminal's
/// settings are restored.
fn on_a_terminal(test: &str) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    fcntl_setfd(&master, FdFlags::CLOEXEC).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let open = || {
        let path = name.to_str().unwrap();
        File::options().read(true).write(true).open(path).unwrap()
    };
    let terminal = open();
    let before = format!("{:?}", tcgetattr(&terminal).unwrap());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(ROLE, "1")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::from(open()))
        .stdout(Stdio::from(open()))
        .stderr(Stdio::from(open()))
        .spawn()
        .unwrap();
    // Read concurrently: it may write more than the terminal buffers.
    let reader = std::thread::spawn(move || {
        let mut written = Vec::new();
        let mut buffer = [0; 4096];
        let mut master = File::from(master);
        while let Ok(count) = master.read(&mut buffer) {
            written.extend_from_slice(&buffer[..count]);
            if count == 0 {
                break;
            }
        }
        String::from_utf8_lossy(&written).into_owned()
    });
    child.wait().unwrap();
    assert_eq!(format!("{:?}", tcgetattr(&terminal).unwrap()), before);
    drop(terminal);
    reader.join().unwrap()
}

/// Asserts that `text` contains `marks` in this order.
fn assert_in_order(text: &str, marks: &[&str]) {
    let mut rest = text;
    for mark in marks {
        let at = rest.find(mark);
        let at = at.unwrap_or_else(|| panic!("{mark:?} is missing in {rest:?} of {text:?}"));
        rest = &rest[at + mark.len()..];
    }
}

const BEGIN: &str = "\x1b[?2004h\x1b[>1u";
const END: &str = "\x1b[<u\x1b[?2004l\x1b[?2026l\x1b[0m\x1b[?25h";

#[tokio::test]
async fn a_panic_restores_the_terminal_before_it_is_reported() {
    if std::env::var_os(ROLE).is_some() {
        let _terminal = Terminal::enter(Kind::Screen).unwrap();
        panic!("on purpose");
    }
    let written =
        on_a_terminal("terminal::tests::a_panic_restores_the_terminal_before_it_is_reported");
    assert_in_order(&written, &[BEGIN, END, "on purpose"]);
    assert_eq!(written.matches(END).count(), 1, "{written:?}");
}

#[tokio::test]
async fn the_terminal_is_set_up_again_after_a_caught_panic() {
    if std::env::var_os(ROLE).is_some() {
        let mut terminal = Terminal::enter(Kind::Screen).unwrap();
        assert_eq!(terminal.regain().unwrap(), None);
        let mut jobs = tokio::task::JoinSet::new();
        jobs.spawn(async { panic!("in a job") });
        assert!(jobs.join_next().await.unwrap().is_err());
        let message = terminal.regain().unwrap().unwrap();
        assert!(message.contains("in a job"), "{message}");
        assert!(mode::is_raw());
        return;
    }
    let written =
        on_a_terminal("terminal::tests::the_terminal_is_set_up_again_after_a_caught_panic");
    assert_in_order(&written, &[BEGIN, END, "in a job", BEGIN, END, "1 passed"]);
}
