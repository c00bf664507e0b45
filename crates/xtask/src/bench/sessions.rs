//! Measures sessions: listing and searching many, and continuing a long one.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use testkit::{Wire, Workdir};
use zot_sdk::Durability;
use zot_sdk::conversation::{ContentBlock, Message, Role, Timestamp, Usage};
use zot_sdk::sessions::{SessionLog, SessionMeta};

use super::measure::median;
use super::peer::Peer;
use super::programs::clean_command;
use super::report::{Quantity, Row};
use super::scenarios::{Bench, PING};

/// The number of messages in each of many sessions.
const MESSAGES: usize = 20;

/// The number of messages in the long session.
const LONG: usize = 50_000;

/// A word in exactly one message of one session.
const NEEDLE: &str = "quokka";

/// The time limit for listing.
const MAX_LISTING_MS: f64 = 100.0;

impl Bench<'_> {
    /// Measures listing, searching and continuing sessions, by their number.
    pub(super) fn many_sessions(&self) -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for count in [10, 1_000, 10_000] {
            let workdir = Workdir::new("sessions");
            let bytes = write_sessions(&workdir, count)?;
            let repeats = self.rounds(20).max(3);
            let start = self.command(&workdir, repeats, &["--version"], || Ok(()))?;
            let floor = Some(("`zot --version`", Quantity::Time(start)));
            let mut add = |what: String, value: Duration, target: Option<f64>| {
                rows.push(Row {
                    what,
                    value: Quantity::Time(value),
                    floor,
                    target: target.map(Quantity::milliseconds),
                    original: "",
                });
            };
            let list = ["sessions", "list", "--all", "--json"];
            let listed = self.command(&workdir, repeats, &list, || Ok(()))?;
            add(
                format!("list {count} sessions, wall"),
                listed,
                Some(MAX_LISTING_MS),
            );
            let index = workdir.zot_home().join("sessions/index.jsonl");
            let listed = self.command(&workdir, 3, &list, || Ok(fs::remove_file(&index)?))?;
            add(
                format!(
                    "the same without the index, {}, wall",
                    Quantity::Bytes(bytes)
                ),
                listed,
                None,
            );
            let search = ["sessions", "search", NEEDLE];
            let searched = self.command(&workdir, repeats.min(5), &search, || Ok(()))?;
            add(
                format!("search {count} sessions for a word, wall"),
                searched,
                None,
            );
            let resumed = self.first_answer(&workdir, repeats, &["--continue"])?;
            add(
                format!("`zot rpc --continue` among {count} to `pong`, wall"),
                resumed,
                None,
            );
        }
        Ok(rows)
    }

    /// Measures continuing one session with many messages.
    pub(super) fn long_session(&self) -> anyhow::Result<Vec<Row>> {
        let workdir = Workdir::new("long");
        let path = workdir.path().join("long.jsonl");
        let meta = SessionMeta::new(String::new(), "openai".into(), "gpt-4o".into());
        let log = SessionLog::announce_at(path.clone(), meta, Durability::ProcessEnd)?;
        write(&log, LONG, "long")?;
        drop(log);
        let bytes = path.metadata()?.len();
        let repeats = self.rounds(10).max(3);
        let session = ["--session", path.to_str().context("a path of text")?];
        let opened = self.first_answer(&workdir, repeats, &session)?;
        let fresh = self.first_answer(&workdir, repeats, &[])?;
        let mut read = Vec::new();
        for _ in 0..repeats {
            let start = Instant::now();
            std::hint::black_box(fs::read(&path)?);
            read.push(start.elapsed());
        }
        let mut command = self.zot(&workdir, Wire::OpenAi);
        command.args(session);
        let mut peer = Peer::start(command)?;
        peer.call(PING)?;
        let resident = peer.resident_bytes()?;
        let of = format!("{LONG} messages, {}", Quantity::Bytes(bytes));
        Ok(vec![
            Row {
                what: format!("`zot rpc --session` with {of} to `pong`, wall"),
                value: Quantity::Time(opened),
                floor: Some(("without a session", Quantity::Time(fresh))),
                target: None,
                original: "",
            },
            Row {
                what: "the same without the start of zot, wall".to_owned(),
                value: Quantity::Time(opened.saturating_sub(fresh)),
                floor: Some(("reading the bytes", Quantity::Time(median(read)))),
                target: None,
                original: "",
            },
            Row {
                what: "memory with that session, RSS".to_owned(),
                value: Quantity::Bytes(resident),
                floor: Some(("the file", Quantity::Bytes(bytes))),
                target: None,
                original: "",
            },
        ])
    }

    /// Returns the median wall-clock time of a command that runs to its end.
    fn command(
        &self,
        workdir: &Workdir,
        repeats: usize,
        arguments: &[&str],
        prepare: impl Fn() -> anyhow::Result<()>,
    ) -> anyhow::Result<Duration> {
        let run = || -> anyhow::Result<Duration> {
            let mut command = self.plain(workdir);
            command
                .args(arguments)
                .stdin(Stdio::null())
                .stdout(Stdio::null());
            let start = Instant::now();
            let status = command.status()?;
            let took = start.elapsed();
            ensure!(status.success(), "{command:?} failed");
            Ok(took)
        };
        run()?;
        let mut times = Vec::new();
        for _ in 0..repeats {
            prepare()?;
            times.push(run()?);
        }
        Ok(median(times))
    }

    /// Returns the median wall-clock time from the start of `zot rpc` to its first response.
    fn first_answer(
        &self,
        workdir: &Workdir,
        repeats: usize,
        arguments: &[&str],
    ) -> anyhow::Result<Duration> {
        let mut times = Vec::new();
        for _ in 0..=repeats {
            let mut command = self.zot(workdir, Wire::OpenAi);
            command.args(arguments);
            let start = Instant::now();
            let mut peer = Peer::start(command)?;
            peer.call(PING)?;
            times.push(start.elapsed());
        }
        // The first round warms up.
        Ok(median(times.split_off(1)))
    }

    fn plain(&self, workdir: &Workdir) -> Command {
        let mut command = clean_command(self.zot_binary());
        command
            .env("HOME", workdir.home())
            .env("ZOT_HOME", workdir.zot_home())
            .current_dir(workdir.path());
        command
    }
}

/// Creates sessions, half of them in the working directory, and returns their size in bytes.
fn write_sessions(workdir: &Workdir, count: usize) -> anyhow::Result<u64> {
    let root: PathBuf = workdir.zot_home().join("sessions");
    let here = workdir.path().display().to_string();
    let mut bytes = 0;
    for number in 0..count {
        let cwd = match number % 2 {
            0 => here.clone(),
            _ => format!("/projects/{}", number % 100),
        };
        let meta = SessionMeta::new(cwd, "openai".into(), "gpt-4o".into());
        let log = SessionLog::announce(&root, meta, Durability::ProcessEnd)?;
        let topic = match number == count / 2 {
            true => NEEDLE,
            false => "something",
        };
        write(&log, MESSAGES, topic)?;
        bytes += log.path().metadata()?.len();
    }
    Ok(bytes)
}

/// Returns questions and answers of typical lengths.
fn write(log: &SessionLog, messages: usize, topic: &str) -> anyhow::Result<()> {
    let mut total = Usage::default();
    for number in 0..messages {
        let (role, text) = match number % 2 {
            0 => (Role::User, format!("please tell me about {topic} {number}")),
            _ => (
                Role::Assistant,
                "an answer of a few words, “quoted” and with\nseveral lines. ".repeat(12),
            ),
        };
        log.append_message(&Arc::new(Message {
            role,
            content: vec![ContentBlock::Text(text)],
            time: Timestamp::UNIX_EPOCH,
        }))?;
        if role == Role::Assistant {
            let turn = Usage {
                input: 1_000,
                output: 200,
                cost_usd: 0.01,
                ..Usage::default()
            };
            total += turn;
            log.append_usage(&turn, &total)?;
        }
    }
    Ok(())
}
