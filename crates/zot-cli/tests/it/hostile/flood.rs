//! Clients that send more than they read.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use testkit::{ModelServer, Signal, Wire, Workdir, poll_until};

use super::{ENDING, Process, prompt, rpc};
use crate::support::Session;

/// The number of responses of about a kibibyte that make events wait, but not commands.
const ANSWERS: usize = 1_500;

#[cfg(target_os = "linux")]
#[test]
fn an_abort_reaches_a_command_with_unread_output() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let mut zot = Process::start(
        rpc(&server, &workdir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped()),
    );
    let pid = zot.0.id();
    let mut stdin = zot.0.stdin.take().unwrap();
    let script = r#"tool:bash:{"command":"touch ran; sleep 300 & sleep 300"}"#;
    stdin.write_all(prompt(script).as_bytes()).unwrap();
    poll_until("the command runs", || workdir.read("ran").is_some());
    poll_until("both sleeps run", || {
        testkit::process::descendants(pid).len() >= 3
    });
    let ping = format!("{{\"id\":\"{}\",\"type\":\"ping\"}}\n", "x".repeat(1000));
    stdin.write_all(ping.repeat(ANSWERS).as_bytes()).unwrap();
    stdin
        .write_all(b"{\"id\":\"abort\",\"type\":\"abort\"}\n")
        .unwrap();
    poll_until("the command is ended", || {
        testkit::process::descendants(pid).is_empty()
    });
    // A reader that continues loses nothing.
    drop(stdin);
    let lines = BufReader::new(zot.0.stdout.take().unwrap()).lines();
    let frames: Vec<Value> = lines
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    let answers = frames.iter().filter(|f| f["command"] == "ping");
    assert_eq!(answers.count(), ANSWERS);
    assert_eq!(frames.last().unwrap()["type"], "done");
    assert!(frames.iter().any(|frame| frame["id"] == "abort"));
}

#[test]
fn signals_work_during_endless_input() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let mut yes = Process::start(
        Command::new("yes")
            .arg("{\"type\":\"ping\"}")
            .stdout(Stdio::piped()),
    );
    let commands = yes.0.stdout.take().unwrap();
    let zeros = File::open("/dev/zero").unwrap();
    for stdin in [Stdio::from(commands), Stdio::from(zeros)] {
        let mut command = rpc(&server, &workdir);
        let mut zot = Process::start(command.stdin(stdin).stdout(Stdio::null()));
        // It has to be reading, and busy.
        poll_until("zot is at work", || {
            testkit::process::cpu_time(zot.0.id())
                .is_none_or(|used| used > Duration::from_millis(200))
        });
        zot.signal(Signal::TERM);
        assert_eq!(zot.wait(ENDING).code(), Some(143));
    }
}

/// The most memory a client may cost zot, whatever it sends.
#[cfg(target_os = "linux")]
const MEMORY: u64 = 96 << 20;

#[cfg(target_os = "linux")]
fn assert_memory_stays_bounded(lines: impl IntoIterator<Item = String>) {
    let mut session = Session::start(Wire::OpenAi);
    session.zot.prompt("1", "hang");
    for line in lines {
        session.zot.send_line(&line);
    }
    session.zot.call(json!({"id": "last", "type": "ping"}));
    let peak = testkit::process::peak_resident_bytes(session.zot.pid()).unwrap();
    assert!(peak < MEMORY, "{peak} bytes");
}

#[cfg(target_os = "linux")]
#[test]
fn an_endless_line_needs_no_more_memory_than_the_limit() {
    assert_memory_stays_bounded(["x".repeat(128 << 20)]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_line_of_tiny_fields_needs_no_more_memory_than_the_limit() {
    let fields = "\"a\":1,".repeat(2 << 20);
    assert_memory_stays_bounded([format!("{{{fields}\"type\":\"ping\"}}")]);
}

#[test]
fn more_commands_than_are_read_are_not_lost() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let mut command = rpc(&server, &workdir);
    let mut zot = Process::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut stdin = zot.0.stdin.take().unwrap();
    // More than zot and the pipes hold.
    let ids = || (0..15_000).map(|number| format!("{number:0300}"));
    let writer = std::thread::spawn(move || {
        for id in ids() {
            writeln!(stdin, "{{\"id\":\"{id}\",\"type\":\"ping\"}}").unwrap();
        }
    });
    std::thread::sleep(Duration::from_millis(500));
    assert!(
        !writer.is_finished(),
        "zot keeps reading although its output is not read"
    );
    let lines = BufReader::new(zot.0.stdout.take().unwrap()).lines();
    let answered = lines.map(|line| {
        let frame: Value = serde_json::from_str(&line.unwrap()).unwrap();
        frame["id"].as_str().map(str::to_owned)
    });
    assert!(answered.eq(ids().map(Some)));
    assert!(zot.wait(ENDING).success());
}
