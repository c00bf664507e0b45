//! Signals while nobody reads the output, and ignored signals.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use testkit::{ModelServer, PATIENCE, Signal, Workdir, poll_until};

use super::{ENDING, Process, one_shot, prompt, rpc};

const SIGNALS: [(Signal, i32); 3] = [(Signal::HUP, 129), (Signal::INT, 130), (Signal::TERM, 143)];

/// Waits until zot has stopped reading the response, because its own output is not read.
fn poll_until_stalled(server: &ModelServer, zot: &Process) {
    poll_until("the request arrives", || !server.requests().is_empty());
    let mut last = None;
    poll_until("zot stands still", || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let used = testkit::process::cpu_time(zot.0.id());
        std::mem::replace(&mut last, used) == used
    });
}

#[test]
fn signals_end_a_process_with_unread_output() {
    for (signal, code) in SIGNALS {
        let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
        let mut zot = Process::start(
            rpc(&server, &workdir)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped()),
        );
        let mut stdin = zot.0.stdin.take().unwrap();
        stdin.write_all(prompt("say:30000").as_bytes()).unwrap();
        poll_until_stalled(&server, &zot);
        zot.signal(signal);
        assert_eq!(zot.wait(ENDING).code(), Some(code));
    }
}

#[test]
fn signals_end_a_finished_process_with_unread_output() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let mut zot = Process::start(
        rpc(&server, &workdir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped()),
    );
    let mut stdin = zot.0.stdin.take().unwrap();
    stdin.write_all(prompt("say:6000").as_bytes()).unwrap();
    drop(stdin);
    poll_until_stalled(&server, &zot);
    zot.signal(Signal::TERM);
    assert_eq!(zot.wait(ENDING).code(), Some(143));
}

#[test]
fn a_wrong_token_ends_a_process_with_unread_output() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let mut command = rpc(&server, &workdir);
    command
        .env("ZOTCORE_RPC_TOKEN", "secret")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut zot = Process::start(&mut command);
    let mut stdin = zot.0.stdin.take().unwrap();
    // The refusal repeats an id that is larger than a pipe.
    let line = format!("{{\"id\":\"{}\",\"type\":\"ping\"}}\n", "x".repeat(1 << 20));
    stdin.write_all(line.as_bytes()).unwrap();
    assert_eq!(zot.wait(ENDING).code(), Some(1));
}

#[test]
fn signals_end_a_single_prompt_with_unread_output() {
    // Full in the middle of the response, and at its end.
    for arguments in [
        ["--json", "say:30000"],
        ["--json", "say:6000"],
        ["-p", "say:20000"],
    ] {
        let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
        let mut command = one_shot(&server, &workdir, arguments);
        let mut zot = Process::start(command.stdout(Stdio::piped()));
        poll_until_stalled(&server, &zot);
        zot.signal(Signal::TERM);
        assert_eq!(zot.wait(ENDING).code(), Some(143), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_hang_up_ends_the_running_command_too() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let prompt = r#"tool:bash:{"command":"echo start; sleep 300"}"#;
    let mut command = one_shot(&server, &workdir, ["--json", prompt]);
    let mut zot = Process::start(command.stdout(Stdio::piped()));
    let mut lines = BufReader::new(zot.0.stdout.take().unwrap()).lines();
    let running = lines.find(|line| line.as_ref().is_ok_and(|l| l.contains("tool_progress")));
    assert!(running.is_some());
    let children = testkit::process::descendants(zot.0.id());
    assert!(!children.is_empty());
    zot.signal(Signal::HUP);
    assert_eq!(zot.wait(ENDING).code(), Some(129));
    for child in children {
        assert!(!testkit::process::is_running(child), "{child} is left");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_ignored_hang_up_stays_ignored() {
    let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
    let zot = one_shot(&server, &workdir, ["-p", "slow:20:20"]);
    let mut command = Command::new("/bin/sh");
    command
        .args(["-c", "trap '' HUP INT; exec \"$0\" \"$@\""])
        .arg(zot.get_program())
        .args(zot.get_args())
        .env_clear()
        .envs(
            zot.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(workdir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut zot = Process::start(&mut command);
    poll_until("the request arrives", || !server.requests().is_empty());
    zot.signal(Signal::HUP);
    zot.signal(Signal::INT);
    assert!(zot.wait(PATIENCE).success());
}
