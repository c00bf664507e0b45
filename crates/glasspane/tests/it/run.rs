use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use glasspane::Record;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::{fixture, glasspane, stderr, stdout};

#[test]
fn several_agents_and_the_worst_exit_code() {
    let good = format!("good=cat {}", fixture("zot-json.jsonl"));
    let output = glasspane(&["run", "--agent", &good, "--agent", "bad=exit 3"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let text = stdout(&output);
    for line in [
        "good  > list the files here",
        "good  says: In the current folder I found 1 file (notes.txt).",
        "bad   exited with 3",
        "good: done, turns 2, tools 1",
        "bad: failed",
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}

#[test]
fn records_are_written_and_printed() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("log.jsonl");
    let path = fixture("codex-exec.jsonl");
    let output = glasspane(&["run", "--json", "--label", "one", "--record"])
        .arg(&log)
        .args(["--", "cat", &path])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&log).unwrap(), stdout(&output));
    let last: Record = serde_json::from_str(stdout(&output).lines().last().unwrap()).unwrap();
    assert_eq!(last.detached.unwrap().reason, "exited with 0");

    let table = glasspane(&["top", "--file"]).arg(&log).output().unwrap();
    assert!(
        stdout(&table).contains("one                 codex        done"),
        "{}",
        stdout(&table)
    );
}

#[test]
fn nothing_to_run_is_a_usage_error() {
    let output = glasspane(&["run"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("--agent COMMAND"),
        "{}",
        stderr(&output)
    );
    let output = glasspane(&["run", "--", "/no/such/agent"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("is it installed"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn agents_end_with_us() {
    for signal in [Signal::TERM, Signal::INT] {
        let mut child = glasspane(&[
            "run",
            "--json",
            "--",
            "sh",
            "-c",
            "echo $$ >&2; sleep 1000 & wait",
        ])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("stderr") {
            line.clear();
            lines.read_line(&mut line).unwrap();
        }
        let record: Record = serde_json::from_str(&line).unwrap();
        let id = record.event.unwrap().message.unwrap().parse().unwrap();
        kill_process(Pid::from_child(&child), signal).unwrap();
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        assert!(rest.contains("ended by glasspane"), "{rest}");
        let code = child.wait().unwrap().code();
        assert_eq!(code, Some(128 + signal.as_raw()));
        assert!(
            test_kill_process(Pid::from_raw(id).unwrap()).is_err(),
            "the agent is still alive"
        );
    }
}

#[test]
fn nothing_is_lost_however_fast_agents_are() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("flood.jsonl");
    let piece = "{\"type\":\"text_delta\",\"delta\":\"x\"}\n".repeat(25_000);
    fs::write(&path, format!("{{\"type\":\"turn_start\",\"step\":1}}\n{piece}{{\"type\":\"turn_end\",\"stop\":\"end\"}}\n{{\"type\":\"done\"}}\n")).unwrap();
    let agents: Vec<_> = (0..4)
        .map(|number| format!("flood{number}=cat {} {0}", path.display()))
        .collect();
    let mut command = glasspane(&["run", "--json"]);
    for agent in &agents {
        command.args(["--agent", agent]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    let deltas = stdout(&output).matches("message_update").count();
    assert_eq!(deltas, 4 * 2 * 25_000);
}
