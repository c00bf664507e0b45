//! How the process ends: on signals, and when its reader is gone.

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use testkit::{ModelServer, PATIENCE, Signal, Wire, Workdir, ZotCommand, poll_until};

use crate::support::{Session, binary};

/// How long zot may take to notice that its reader is gone.
const READER_GONE: Duration = Duration::from_secs(5);

/// How long a reader does not read.
const OBSERVED: Duration = Duration::from_secs(3);

const SIGNALS: [(Signal, i32); 2] = [(Signal::TERM, 143), (Signal::INT, 130)];

#[test]
fn signals_end_an_idle_process() {
    for (signal, code) in SIGNALS {
        let mut session = Session::start(Wire::OpenAi);
        session.zot.turn("1", "say:1");
        session.zot.signal(signal);
        assert_eq!(session.zot.wait(PATIENCE).code, Some(code));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn signals_end_the_running_command_too() {
    for (signal, code) in SIGNALS {
        let mut session = Session::start(Wire::OpenAi);
        session.zot.prompt(
            "1",
            "tool:bash:{\"command\":\"trap '' TERM; echo start; sleep 300 & sleep 300\"}",
        );
        session.zot.event("tool_progress");
        let zot = session.zot.pid();
        poll_until("both sleeps run", || {
            testkit::process::descendants(zot).len() >= 3
        });
        let children = testkit::process::descendants(zot);
        session.zot.signal(signal);
        assert_eq!(session.zot.wait(PATIENCE).code, Some(code));
        poll_until("the children are gone", || {
            !children
                .iter()
                .any(|&child| testkit::process::is_running(child))
        });
    }
}

#[test]
fn a_signal_ends_the_wait_for_a_silent_model() {
    let mut session = Session::start(Wire::Anthropic);
    session.zot.prompt("1", "hang");
    poll_until("the request arrives", || {
        session.server.responses_in_progress() == 1
    });
    session.zot.signal(Signal::TERM);
    assert_eq!(session.zot.wait(PATIENCE).code, Some(143));
}

#[test]
fn closing_the_output_ends_the_process() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let command = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi);
    let (mut zot, stdout) = command.spawn_unread();
    zot.prompt("1", "slow:10000:10");
    let mut lines = BufReader::new(stdout).lines();
    let streaming = lines.find(|line| line.as_ref().is_ok_and(|l| l.contains("text_delta")));
    assert!(streaming.is_some());
    drop(lines);
    zot.wait(READER_GONE);
    poll_until("the model's connection is closed", || {
        server.responses_in_progress() == 0
    });
}

#[test]
fn a_reader_that_stops_reading_pauses_the_model() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let command = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi);
    let (mut zot, stdout) = command.spawn_unread();
    zot.prompt("1", "say:400000");
    poll_until("the request arrives", || !server.requests().is_empty());
    // The response has more than 60 MB, of which pipes and sockets hold a tenth. If zot read
    // the rest, the server would be finished well within this time.
    let deadline = Instant::now() + OBSERVED;
    while Instant::now() < deadline {
        assert_eq!(server.responses_in_progress(), 1, "zot read on");
        std::thread::sleep(Duration::from_millis(20));
    }
    drop(stdout);
    zot.wait(READER_GONE);
}
