//! Processes that are killed, and disks that are full.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use testkit::{PATIENCE, Signal, Wire, ZotCommand, poll_until};

use super::{Project, records};
use crate::support::binary;

/// How often a process is killed, unless `ZOT_KILLS` is set.
const KILLS: u64 = 60;

/// After so many kills a new session is started, so that resuming stays quick.
const KILLS_PER_SESSION: u64 = 20;

/// The content of a part of a session file.
#[derive(Debug, Default, PartialEq, PartialOrd)]
struct Kept {
    users: usize,
    assistants: usize,
    results: usize,
    usages: usize,
}

impl Kept {
    /// Returns what these frames reported.
    fn reported(frames: &[Value]) -> Self {
        let count = |kind: &str| frames.iter().filter(|f| f["type"] == kind).count();
        Self {
            users: count("user_message"),
            assistants: count("assistant_message"),
            results: count("tool_result"),
            usages: count("usage"),
        }
    }

    /// Returns what these records contain.
    fn recorded(records: &[Value]) -> Self {
        let mut kept = Self::default();
        let mut waiting = 0;
        for record in records {
            let message = &record["message"];
            match (record["type"].as_str(), message["role"].as_str()) {
                (Some("result"), _) => waiting += 1,
                (Some("usage"), _) => kept.usages += 1,
                (_, Some("tool")) => {
                    waiting = 0;
                    kept.results += message["content"].as_array().map_or(0, Vec::len);
                }
                (_, Some(role)) => {
                    kept.results += std::mem::take(&mut waiting);
                    match role {
                        "user" => kept.users += 1,
                        _ => kept.assistants += 1,
                    }
                }
                _ => {}
            }
        }
        kept.results += waiting;
        kept
    }

    fn covers(&self, reported: &Self) -> bool {
        self.users >= reported.users
            && self.assistants >= reported.assistants
            && self.results >= reported.results
            && self.usages >= reported.usages
    }
}

/// Pseudo-random numbers that are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

#[test]
fn kills_at_any_moment_lose_nothing_that_was_reported() {
    let kills = std::env::var("ZOT_KILLS").map_or(KILLS, |kills| kills.parse().unwrap());
    let project = Project::new();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let prompt = concat!(
        r#"multi:[{"name":"bash","args":{"command":"echo one"}},"#,
        r#"{"name":"write","args":{"path":"w.txt","content":"two"}},"#,
        r#"{"name":"bash","args":{"command":"echo three"}}]"#
    );
    let mut reported_in_all = 0;
    let mut torn = 0;
    for round in 0..kills {
        let path = project
            .workdir
            .path()
            .join(format!("{}.jsonl", round / KILLS_PER_SESSION));
        let before = fs::read(&path).unwrap_or_default();
        let mut zot = ZotCommand::rpc(binary(), &project.workdir, &project.server, Wire::OpenAi)
            .argument("--session")
            .argument(&path)
            .spawn();
        zot.prompt("1", prompt);
        zot.prompt("2", prompt);
        let frames = chance.below(60) as usize;
        poll_until("enough frames", || zot.lines().len() >= frames);
        std::thread::sleep(std::time::Duration::from_micros(chance.below(3000)));
        zot.signal(Signal::KILL);
        let ended = zot.wait(PATIENCE);
        assert_eq!(ended.signal, Some(9), "{}", ended.stderr);

        let reported: Vec<Value> = ended
            .stdout
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let reported = Kept::reported(&reported);
        reported_in_all += reported.users + reported.assistants + reported.results;
        let after = fs::read(&path).unwrap_or_default();
        assert!(after.starts_with(&before), "round {round}: rewritten");
        let kept = Kept::recorded(&whole_records(&after[before.len()..]));
        assert!(
            kept.covers(&reported),
            "round {round}: reported {reported:?}, kept {kept:?}"
        );
        torn += usize::from(!after.is_empty() && !after.ends_with(b"\n"));
    }
    assert!(reported_in_all as u64 > kills, "too little happened");
    for session in 0..kills.div_ceil(KILLS_PER_SESSION) {
        let path = project.workdir.path().join(format!("{session}.jsonl"));
        if path.exists() {
            go_on(&project, &path);
        }
    }
    println!("{kills} kills, {reported_in_all} messages and results reported, {torn} files torn");
}

/// Returns the complete records; a kill may leave parts of others.
fn whole_records(bytes: &[u8]) -> Vec<Value> {
    bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice(line).ok())
        .collect()
}

fn go_on(project: &Project, path: &Path) {
    let command = project.prompting().argument("--session").argument(path);
    let ended = command.argument("say:1").run("");
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "alpha \n"),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_disk_that_fills_up_ends_the_prompt_and_leaves_whole_records() {
    let project = Project::new();
    // A limit on the size of files fails like a full disk: the write that crosses it is cut off.
    let ended = ZotCommand::new("/bin/sh", &project.workdir)
        .arguments(["-c", "trap '' XFSZ; ulimit -f 32; exec \"$@\"", "sh"])
        .argument(binary())
        .argument("-p")
        .model(&project.server, Wire::OpenAi)
        .argument(r#"loop:90:bash:{"command":"seq 300"}"#)
        .run("");
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("zot: session: cannot write")
            && ended.stderr.contains("everything before it is kept"),
        "{}",
        ended.stderr
    );
    let file = project.only_file();
    let kept = records(&file).len();
    assert!(kept > 5, "{kept} records");
    project.prompt(&["--continue", "say:1"]);
    assert!(records(&file).len() > kept);
    assert!(
        project.messages_sent() + 1 >= kept / 2,
        "the old messages were sent"
    );
}

/// The disk fills up at every point of a prompt with a tool.
#[test]
fn nothing_is_reported_that_a_full_disk_rejected() {
    let commands = [
        json!({"id": "1", "type": "prompt", "message": "write note.txt: remember"}),
        json!({"id": "2", "type": "prompt", "message": "read note.txt"}),
    ];
    let commands: String = commands.iter().map(|line| format!("{line}\n")).collect();
    let mut results = 0;
    // In blocks of 512 bytes; dash and bash agree on that in their POSIX modes.
    for blocks in 0..8 {
        let project = Project::new();
        let path = project.workdir.path().join("s.jsonl");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let ended = ZotCommand::new("/bin/sh", &project.workdir)
            .arguments(["-c", &script, "sh"])
            .argument(binary())
            .arguments(["rpc", "--provider", "offline", "--session"])
            .argument(&path)
            .run(&commands);
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(kept.is_empty() || kept.ends_with('\n'), "{kept}");
        for line in ended.stdout.lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            let id = match event["type"].as_str() {
                Some("tool_result") => {
                    results += 1;
                    format!("\"call_id\":{}", event["id"])
                }
                Some("assistant_message" | "user_message") => event["time"].to_string(),
                _ => continue,
            };
            assert!(kept.contains(&id), "{blocks} blocks, not kept: {line}");
        }
    }
    assert!(results > 0, "no disk was large enough for a result");
}

#[test]
fn durable_sessions_read_the_same() {
    let project = Project::new();
    project.prompt(&["--durable", "tool:bash:{\"command\":\"echo hi\"}"]);
    project.prompt(&["--continue", "--durable", "say:1"]);
    assert_eq!(project.messages_sent(), 5);
}
