//! Other agents, simulated by scripts.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use glasspane::{Kind, Record, Status};
use rustix::process::{Pid, Signal, kill_process};

use super::{fixture, glasspane, stderr, stdout};

fn records(text: &str) -> Vec<Record> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn program(directory: &Path, name: &str, script: &str) -> String {
    let path = directory.join(name);
    fs::write(&path, format!("#!/bin/sh\n{script}")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn tail_detects_the_kind_and_how_it_ended() {
    for (name, source, status) in [
        ("gemini.jsonl", "gemini", Status::Done),
        ("goose.txt", "goose", Status::Done),
        ("opencode.jsonl", "opencode", Status::Done),
        ("qwen.jsonl", "qwen", Status::Done),
        ("acp.jsonl", "acp", Status::Interrupted),
        ("codex-app-server.jsonl", "codex-app-server", Status::Done),
        (
            "claude-code-aborted.jsonl",
            "claude-code",
            Status::Interrupted,
        ),
        ("codex-exec-failed.jsonl", "codex", Status::Failed),
        ("README.md", "auto", Status::NotUnderstood),
    ] {
        for forced in [None, Some(source)] {
            let mut command = glasspane(&["tail"]);
            if let Some(source) = forced {
                command.args(["--source", source]);
            }
            let output = command
                .stdin(File::open(fixture(name)).unwrap())
                .output()
                .unwrap();
            let records = records(&stdout(&output));
            let attached = records.iter().rev().find_map(|record| {
                (record.agent == "agent").then_some(record.attached.as_ref())?
            });
            assert_eq!(attached.unwrap().source, source, "{name}");
            let last = records.iter().find_map(|record| {
                (record.agent == "agent").then_some(record.detached.as_ref())?
            });
            assert_eq!(last.unwrap().status, Some(status), "{name}");
        }
    }
}

#[test]
fn a_child_is_a_separate_agent() {
    let output = glasspane(&["tail"])
        .stdin(File::open(fixture("claude-code-children.jsonl")).unwrap())
        .output()
        .unwrap();
    let records = records(&stdout(&output));
    let child: Vec<_> = records
        .iter()
        .filter(|record| record.agent == "agent/call_a")
        .collect();
    let attached = child[0].attached.as_ref().unwrap();
    assert_eq!(attached.parent.as_deref(), Some("agent"));
    assert_eq!(attached.label, "agent › look around");
    let message = child
        .iter()
        .filter_map(|record| record.event.as_ref())
        .find(|event| event.kind == Kind::MessageEnd);
    assert_eq!(message.unwrap().text.as_deref(), Some("One file."));
    let ended = child.last().unwrap().detached.as_ref().unwrap();
    assert_eq!(ended.status, Some(Status::Done));

    let table = glasspane(&["top", "--file", &fixture("claude-code-children.jsonl")])
        .output()
        .unwrap();
    let table = stdout(&table);
    assert!(table.starts_with("2 agents  0 working"), "{table}");
    assert!(table.contains("One file."), "{table}");
    assert!(table.contains("It found one file."), "{table}");
}

#[test]
fn output_that_is_not_understood_is_not_done() {
    let output = glasspane(&["run", "--run", "who=echo hello; echo world"])
        .output()
        .unwrap();
    let text = stdout(&output);
    assert!(text.contains("who: not understood"), "{text}");
    assert!(text.contains("2 lines not understood"), "{text}");
    assert!(!text.contains("done"), "{text}");
    assert!(text.contains(", –, worked"), "{text}");
}

/// Pi ends a run before it retries: its input must stay open, or it would exit.
#[test]
fn an_agent_that_retries_is_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let pi = program(
        directory.path(),
        "pi",
        r#"read -r prompt
echo '{"type":"agent_start"}'
echo '{"type":"turn_start"}'
echo '{"type":"turn_end","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"500: overloaded"},"toolResults":[]}'
echo '{"type":"agent_end","messages":[],"willRetry":true}'
echo '{"type":"auto_retry_start","attempt":1,"maxAttempts":3,"delayMs":2000,"errorMessage":"500: overloaded"}'
# An end of the input within this time ends pi, and with it the retry.
timeout 1 sh -c 'read -r more'
[ $? -eq 124 ] || exit 8
echo '{"type":"agent_start"}'
echo '{"type":"turn_start"}'
echo '{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"ok"}],"stopReason":"stop"}}'
echo '{"type":"turn_end","message":{"role":"assistant","content":[],"stopReason":"stop"},"toolResults":[]}'
echo '{"type":"auto_retry_end","success":true,"attempt":1}'
echo '{"type":"agent_end","messages":[],"willRetry":false}'
echo '{"type":"agent_settled","aborted":false}'
while read -r more; do :; done
"#,
    );
    let output = glasspane(&["run", "--prompt", "hi", "--", &pi])
        .output()
        .unwrap();
    let text = stdout(&output);
    assert!(output.status.success(), "{text}{}", stderr(&output));
    assert!(
        text.contains("retry 1 of 3 in 2.0s after status 500: 500: overloaded"),
        "{text}"
    );
    assert!(text.contains("pi: done, turns 2"), "{text}");
    assert!(!text.contains("error:"), "{text}");
}

#[test]
fn ending_glasspane_interrupts_the_agent() {
    let directory = tempfile::tempdir().unwrap();
    let gemini = program(
        directory.path(),
        "gemini",
        &format!("head -n 4 {}\nexec sleep 1000\n", fixture("gemini.jsonl")),
    );
    for signal in [Signal::INT, Signal::TERM] {
        let mut child = glasspane(&["run", "--", &gemini])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("turn 1") {
            line.clear();
            assert_ne!(lines.read_line(&mut line).unwrap(), 0);
        }
        kill_process(Pid::from_child(&child), signal).unwrap();
        let mut rest = String::new();
        lines.read_to_string(&mut rest).unwrap();
        assert!(rest.contains("gemini: interrupted, turns 1"), "{rest}");
        assert_eq!(child.wait().unwrap().code(), Some(128 + signal.as_raw()));
    }
}

#[test]
fn a_killed_agent_was_interrupted_and_a_crashed_one_failed() {
    let begin = format!("head -n 4 {};", fixture("gemini.jsonl"));
    for (end, status, code) in [
        ("kill -KILL $$", "interrupted", 137),
        ("kill -INT $$", "interrupted", 130),
        ("kill -SEGV $$", "failed", 139),
        ("exit 3", "failed", 3),
        ("exit 0", "interrupted", 130),
    ] {
        let agent = format!("one={begin} {end}");
        let output = glasspane(&["run", "--agent", &agent]).output().unwrap();
        let text = stdout(&output);
        assert!(
            text.contains(&format!("one: {status}, turns 1")),
            "{end}: {text}"
        );
        assert_eq!(output.status.code(), Some(code), "{end}: {text}");
    }
}

/// Codex handles the signal itself and exits with 1; it reports its failures.
#[test]
fn an_interrupted_codex_exits_with_1() {
    let cut = format!("one=head -n 3 {}; exit 1", fixture("codex-exec.jsonl"));
    let failed = format!("two=cat {}; exit 1", fixture("codex-exec-failed.jsonl"));
    let output = glasspane(&["run", "--run", &cut, "--run", &failed])
        .output()
        .unwrap();
    let text = stdout(&output);
    assert!(text.contains("one: interrupted"), "{text}");
    assert!(text.contains("two: failed"), "{text}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn an_ambiguous_label_is_rejected() {
    let agent = format!("my nightly run=cat {}", fixture("qwen.jsonl"));
    let output = glasspane(&["run", "--run", &agent]).output().unwrap();
    assert!(
        stdout(&output).contains("my nightly run: done"),
        "{}",
        stdout(&output)
    );
    // The first word is a program, so that this could be a command.
    let output = glasspane(&["run", "--run", "cat this=true"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", stdout(&output));
    assert!(
        stderr(&output).contains("without spaces"),
        "{}",
        stderr(&output)
    );
}
