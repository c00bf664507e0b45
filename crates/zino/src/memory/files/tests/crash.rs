//! Processes that write while they are killed, compete or run out of space.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde::de::IgnoredAny;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::open;
use crate::memory::stored::NewMemory;

const DIRECTORY: &str = "ZINO_MEM_TEST_DIRECTORY";
const WRITER: &str = "ZINO_MEM_TEST_WRITER";
const FROM: &str = "ZINO_MEM_TEST_FROM";
const CHILD: [&str; 3] = [
    "--exact",
    "memory::files::tests::crash::child",
    "--nocapture",
];

/// Not a test: the child process that the other tests start. Writes until it is killed or fails.
#[test]
fn child() {
    let Ok(directory) = env::var(DIRECTORY) else {
        return;
    };
    let writer = env::var(WRITER).unwrap();
    let from: usize = env::var(FROM).unwrap().parse().unwrap();
    let store = open(Path::new(&directory));
    for number in from..from + 100_000 {
        let message = message(&writer, number);
        let stored = if writer == "hard" {
            let memory = NewMemory {
                messages: vec![message.into()],
                tag: String::new(),
            };
            store.hard.store(&[memory]).map(drop)
        } else if writer == "pair" {
            // An exchange: both or neither.
            if number % 2 == 0 {
                store.channels.append(
                    "channel",
                    &[message.into(), self::message(&writer, number + 1).into()],
                )
            } else {
                Ok(())
            }
        } else {
            store.channels.append("channel", &[message.into()])
        };
        match stored {
            Ok(()) => println!("ack {number}"),
            Err(error) => {
                println!("failed {error}");
                return;
            }
        }
    }
}

/// Mostly short, some over several pages.
fn message(writer: &str, number: usize) -> Value {
    let length = match number % 10 {
        0 => number * 7919 % 30_000,
        1 | 2 => number * 31 % 5000,
        _ => number * 13 % 200,
    };
    let content = format!("{number} {}", "]\"x\\\n ".repeat(length / 6));
    json!({ "role": writer, "content": content })
}

fn start(directory: &Path, writer: &str, from: usize) -> Child {
    start_as(
        Command::new(env::current_exe().unwrap()).args(CHILD),
        directory,
        writer,
        from,
    )
}

fn start_as(command: &mut Command, directory: &Path, writer: &str, from: usize) -> Child {
    command
        .env(DIRECTORY, directory)
        .env(WRITER, writer)
        .env(FROM, from.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Returns the number of the last acknowledgement, and the error that ended the child.
fn acknowledged(child: &mut Child, until: impl Fn(usize) -> bool) -> (Option<usize>, String) {
    let mut last = None;
    let mut end = String::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        // The harness writes the name of the test in front of the first line.
        if let Some((_, number)) = line.split_once("ack ") {
            let number: usize = number.parse().unwrap();
            last = Some(number);
            if until(number) {
                let _ = child.kill();
            }
        } else if let Some((_, reason)) = line.split_once("failed ") {
            end = reason.to_owned();
        }
    }
    child.wait().unwrap();
    (last, end)
}

fn stored(directory: &Path, writer: &str) -> Vec<Value> {
    let store = open(directory);
    if writer == "hard" {
        let entries = store.hard.entries(0..usize::MAX).unwrap();
        return entries
            .iter()
            .map(|entry| entry["messages"][0].clone())
            .collect();
    }
    let history = store.channels.history("channel", None).unwrap();
    history.into_iter().map(Value::from).collect()
}

fn kill_often(writer: &str, file: &str, rounds: usize) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join(file);
    let (mut written, mut torn, mut state) = (0, 0, 12_345_u64);
    for round in 0..rounds {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let wait = Duration::from_micros((state >> 33) % 4000);
        let mut child = start(directory.path(), writer, written);
        let mut first = None;
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut last = written;
        // Killed from another thread, so that it can happen at any point.
        while let Some(Ok(line)) = lines.next() {
            if let Some((_, number)) = line.split_once("ack ") {
                last = number.parse::<usize>().unwrap() + 1;
                if first.is_none() {
                    first = Some(Instant::now());
                    let id = rustix::process::Pid::from_child(&child);
                    std::thread::spawn(move || {
                        std::thread::sleep(wait);
                        rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
                    });
                }
            }
        }
        child.wait().unwrap();
        assert!(first.is_some(), "round {round}");
        let left = fs::read(&path).unwrap();
        if serde_json::from_slice::<IgnoredAny>(&left).is_err() {
            // Only an append to a long file that crosses a page may be torn.
            assert!(left.len() > 80_000, "round {round}: {} bytes", left.len());
            torn += 1;
        }
        let messages = stored(directory.path(), writer);
        assert!(
            writer != "pair" || messages.len().is_multiple_of(2),
            "round {round}: half an exchange"
        );
        assert!(
            messages.len() >= last,
            "round {round}: {} of {last}",
            messages.len()
        );
        for (number, found) in messages.iter().enumerate() {
            assert_eq!(*found, message(writer, number), "round {round}");
        }
        let text = fs::read(&path).unwrap();
        serde_json::from_slice::<Vec<IgnoredAny>>(&text).unwrap();
        written = messages.len();
        // Large enough for both ways to append, and not slow to check.
        if text.len() > 250_000 && round + 1 < rounds {
            fs::remove_file(&path).unwrap();
            written = 0;
        }
    }
    println!("{rounds} kills, {torn} of them left a torn file");
    let python = Command::new("python3")
        .args([
            "-c",
            "import json,sys; print(len(json.load(open(sys.argv[1]))))",
        ])
        .arg(&path)
        .output();
    if let Ok(python) = python {
        assert_eq!(
            String::from_utf8_lossy(&python.stdout).trim(),
            written.to_string()
        );
    }
}

#[test]
fn killed_while_appending() {
    kill_often("user", "channels/channel.json", 300);
}

#[test]
fn killed_while_appending_exchanges() {
    kill_often("pair", "channels/channel.json", 60);
}

#[test]
fn killed_while_storing() {
    kill_often("hard", "hard_memories.json", 60);
}

#[test]
fn two_concurrent_writers_lose_nothing() {
    let directory = TempDir::new().unwrap();
    let writers = ["one", "two"];
    let children = writers.map(|writer| {
        let directory = directory.path().to_owned();
        std::thread::spawn(move || {
            let mut child = start(&directory, writer, 0);
            acknowledged(&mut child, |number| number >= 400).0.unwrap()
        })
    });
    let last = children.map(|child| child.join().unwrap());
    let messages = stored(directory.path(), "one");
    for (writer, last) in writers.into_iter().zip(last) {
        let own: Vec<_> = messages
            .iter()
            .filter(|message| message["role"] == writer)
            .collect();
        assert!(own.len() > last);
        for (number, found) in own.into_iter().enumerate() {
            assert_eq!(*found, message(writer, number));
        }
    }
}

#[test]
fn a_full_disk_loses_nothing_that_was_acknowledged() {
    for (writer, file) in [
        ("user", "channels/channel.json"),
        ("hard", "hard_memories.json"),
    ] {
        let directory = TempDir::new().unwrap();
        // A limit on the size of files acts as a full disk: writes succeed until they no longer fit.
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\""])
            .arg(env::current_exe().unwrap())
            .args(CHILD);
        let mut child = start_as(&mut shell, directory.path(), writer, 0);
        let (last, end) = acknowledged(&mut child, |_| false);
        assert!(end.contains("cannot use"), "{end}");
        let text = fs::read(directory.path().join(file)).unwrap();
        let whole: Vec<Value> = serde_json::from_slice(&text).unwrap();
        assert_eq!(whole.len(), last.unwrap() + 1);
        let messages = stored(directory.path(), writer);
        for (number, found) in messages.iter().enumerate() {
            assert_eq!(*found, message(writer, number));
        }
    }
}
