use std::fs::File;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use glasspane::{Kind, Record};

use super::{fixture, glasspane, stderr, stdout};

fn records(text: &str) -> Vec<Record> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn every_kind_of_agent_is_recognised() {
    for (name, source) in [
        ("zot-rpc.jsonl", "zot"),
        ("zot-json.jsonl", "zot"),
        ("seed-real-key.jsonl", "zot"),
        ("pi-json.jsonl", "pi"),
        ("pi-rpc.jsonl", "pi"),
        ("codex-exec.jsonl", "codex"),
        ("claude-code.jsonl", "claude-code"),
        ("claude-code-partial.jsonl", "claude-code"),
        ("zino.jsonl", "zino"),
        ("zino-frames.bin", "zino"),
    ] {
        let output = glasspane(&["tail", "--agent", "x"])
            .stdin(File::open(fixture(name)).unwrap())
            .output()
            .unwrap();
        assert!(output.status.success(), "{name}: {}", stderr(&output));
        let records = records(&stdout(&output));
        let mut sources = records
            .iter()
            .filter_map(|record| record.attached.as_deref());
        assert_eq!(sources.next_back().unwrap().source, source, "{name}");
        assert!(records.iter().all(|record| record.agent == "x"));
        let numbers = records.iter().map(|record| record.seq);
        assert!(numbers.eq(1..=records.len() as u64), "{name}");
        assert_eq!(
            records.last().unwrap().detached.as_ref().unwrap().reason,
            "end of input"
        );
        let ended = records.iter().any(|record| {
            record
                .event
                .as_ref()
                .is_some_and(|event| event.kind == Kind::AgentEnd)
        });
        assert!(ended, "{name}");
    }
}

#[test]
fn its_own_output_passes_unchanged() {
    let first = glasspane(&["tail"])
        .stdin(File::open(fixture("claude-code.jsonl")).unwrap())
        .output()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log");
    std::fs::write(&path, &first.stdout).unwrap();
    let again = glasspane(&["tail", "--source", "glasspane"])
        .stdin(File::open(&path).unwrap())
        .output()
        .unwrap();
    assert_eq!(stdout(&again), stdout(&first));
}

#[test]
fn a_line_is_written_before_waiting_for_the_next() {
    let mut child = glasspane(&["tail"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().unwrap().unwrap();
    assert!(next().contains("\"attached\""));
    for step in 1..4 {
        writeln!(input, "{{\"type\":\"turn_start\",\"step\":{step}}}").unwrap();
        if step == 1 {
            assert!(next().contains("\"source\":\"zot\""));
        }
        assert!(next().ends_with(&format!("{{\"type\":\"turn_start\",\"step\":{step}}}}}")));
    }
    drop(input);
    assert!(next().contains("detached"));
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_reader_that_leaves_is_not_an_error() {
    let mut child = glasspane(&["tail"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    // Fails once the pipe has no reader.
    while writeln!(input, "{{\"type\":\"turn_start\",\"step\":1}}").is_ok() {}
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(stderr(&output), "");
}

#[test]
fn an_unknown_source_lists_the_known_ones() {
    let output = glasspane(&["tail", "--source", "gpt"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("claude-code"),
        "{}",
        stderr(&output)
    );
}
