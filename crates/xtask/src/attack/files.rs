//! Attacks through files (links, pipes, devices, full disks, permissions), connections and readers that do
//! not respond.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::{Attack, Outcome, Targets};

/// The attacks in Python: mostly system calls.
const SCRIPT: &str = include_str!("../../attacks/files.py");

pub(super) const ATTACKS: &[Attack] = &[
    Attack {
        name: "undo",
        promise: "undo touches no file but the one that was changed",
        run: |targets| attack(targets, "undo"),
    },
    Attack {
        name: "special-files",
        promise: "a pipe, device, socket or directory in place of a file is refused by name at once",
        run: |targets| attack(targets, "special-files"),
    },
    Attack {
        name: "full-disk",
        promise: "nothing is reported that is not in the session file, and the file stays intact",
        run: |targets| attack(targets, "full-disk"),
    },
    Attack {
        name: "private-files",
        promise: "what is written is for its owner only, whatever the umask",
        run: |targets| attack(targets, "private-files"),
    },
    Attack {
        name: "environment-token",
        promise: "ZOTCORE_RPC_TOKEN cannot be read in /proc/PID/environ",
        run: |targets| attack(targets, "environment-token"),
    },
    Attack {
        name: "mention-links",
        promise: "no link in a project attaches a file from outside of it",
        run: |targets| attack(targets, "mention-links"),
    },
    Attack {
        name: "scratch",
        promise: "the scratch directories of killed runs are swept, and no link is followed",
        run: |targets| attack(targets, "scratch"),
    },
    Attack {
        name: "unread-output",
        promise: "zot rpc ends when its input is closed and nobody reads its output",
        run: |targets| attack(targets, "unread-output"),
    },
    Attack {
        name: "half-open",
        promise: "300 connections that ask for nothing keep nobody from Glasspane",
        run: |targets| attack(targets, "half-open"),
    },
];

#[derive(Deserialize)]
struct Verdict {
    held: bool,
    figure: String,
}

fn attack(targets: &Targets, name: &str) -> anyhow::Result<Outcome> {
    let mut python = Command::new("python3")
        .args(["-", name])
        .arg(&targets.directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("the attacks on files need python3")?;
    let script = python.stdin.take().context("a pipe to python3")?;
    { script }.write_all(SCRIPT.as_bytes())?;
    let output = python.wait_with_output()?;
    ensure!(output.status.success(), "python3 failed");
    let verdict: Verdict = serde_json::from_slice(&output.stdout)?;
    Ok(match verdict.held {
        true => Outcome::Held(verdict.figure),
        false => Outcome::Broken(verdict.figure),
    })
}
