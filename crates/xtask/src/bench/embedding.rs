//! Measures the runtime inside other programs: the memory of an idle one, and the rate of events.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde::Deserialize;
use testkit::{Wire, Workdir};
use xtask::repository::root;

use super::measure::{median, nothing, rounds};
use super::peer::Peer;
use super::programs::clean_command;
use super::report::{Quantity, Row};
use super::scenarios::{Bench, clear};

const DELTAS: usize = 20_000;

/// The memory limit of an idle runtime.
const MAX_IDLE_BYTES: u64 = 50 << 10;

/// The output of a bench in another language.
#[derive(Deserialize)]
struct EventCount {
    events: u64,
    seconds: f64,
}

#[derive(Deserialize)]
struct FrameTimes {
    p50_ms: f64,
    p95_ms: f64,
    max_ms: f64,
}

/// How many times in a row the recorded response is read.
const GLASSPANE_REPEATS: usize = 25;

impl Bench<'_> {
    /// Measures the memory of each idle runtime.
    pub(super) fn idle_runtimes(&self) -> anyhow::Result<Vec<Row>> {
        let workdir = Workdir::new("runtimes");
        let mut peer = self.runtime(&workdir)?;
        peer.work("idle 0")?;
        let empty = peer.resident_bytes()?;
        let mut rows = Vec::new();
        for count in [1, 1_000, 10_000] {
            let before = peer.cpu()?;
            peer.work(&format!("idle {count}"))?;
            let cpu = peer.cpu()?.saturating_sub(before);
            let grown = peer.resident_bytes()?.saturating_sub(empty);
            rows.push(Row {
                what: format!("idle runtime in a process with {count}, memory of each"),
                value: Quantity::Bytes(grown / count),
                floor: Some(("the process without any", Quantity::Bytes(empty))),
                target: (count > 1).then_some(Quantity::Bytes(MAX_IDLE_BYTES)),
                original: "",
            });
            if count == 10_000 {
                rows.push(Row {
                    what: "making a runtime, CPU".to_owned(),
                    value: Quantity::Time(cpu / 9_000),
                    floor: None,
                    target: None,
                    original: "",
                });
            }
        }
        Ok(rows)
    }

    /// Measures the events per second of one long answer: in the process, over the pipe and through the
    /// Python client.
    pub(super) fn event_rates(&self) -> anyhow::Result<Vec<Row>> {
        let workdir = Workdir::new("events");
        let count = self.rounds(25);
        let say = format!("say:{DELTAS}");
        let mut floor = self.floor()?;
        let least = self.exchange(&mut floor, count, Wire::OpenAi, 1, 1, &say)?;
        let mut runtime = self.runtime(&workdir)?;
        let prompt = format!("prompt {say}");
        let inside = rounds(&mut runtime, count, nothing, |peer| {
            peer.work(&prompt).map(drop)
        })?;
        let mut zot = Peer::start(self.zot(&workdir, Wire::OpenAi))?;
        let piped = rounds(&mut zot, count, clear, |zot| zot.prompt(&say).map(drop))?;
        let rate = |seconds: f64| Quantity::Rate(DELTAS as f64 / seconds);
        let floor = Some(("raw read", rate(least.wall.as_secs_f64())));
        let row = |what: &str, value| Row {
            what: format!("{DELTAS} deltas {what}, events a second"),
            value,
            floor,
            target: None,
            original: "",
        };
        let mut rows = vec![
            row("in the process (SDK)", rate(inside.wall.as_secs_f64())),
            row("over the pipe", rate(piped.wall.as_secs_f64())),
        ];
        let mut times = Vec::new();
        for _ in 0..self.rounds(5) {
            let measured: EventCount = json_output(
                Command::new("python3")
                    .arg(root().join("sdk/python/bench/events.py"))
                    .args(["--deltas", &DELTAS.to_string()])
                    .args([
                        "--base-url",
                        &format!("http://127.0.0.1:{}/v1", self.model_port()),
                    ])
                    .arg("--zot")
                    .arg(self.zot_binary())
                    .env("PYTHONPATH", root().join("sdk/python")),
            )?;
            ensure!(
                measured.events >= DELTAS as u64,
                "only {} events came",
                measured.events
            );
            times.push(Duration::from_secs_f64(measured.seconds));
        }
        let python = median(times).as_secs_f64();
        rows.push(row("through the Python client", rate(python)));
        Ok(rows)
    }

    /// Measures the normalised events per second, compared with `cat`.
    pub(super) fn glasspane_rate(&self) -> anyhow::Result<Vec<Row>> {
        let workdir = Workdir::new("glasspane");
        let mut zot = Peer::start(self.zot(&workdir, Wire::OpenAi))?;
        zot.send(
            &serde_json::json!({"id": "p", "type": "prompt", "message": format!("say:{DELTAS}")})
                .to_string(),
        )?;
        let mut recorded = Vec::new();
        zot.watch(|line, _| recorded.extend_from_slice(line))?;
        let lines = recorded.iter().filter(|byte| **byte == b'\n').count();
        let path = workdir.path().join("recorded.jsonl");
        fs::write(&path, recorded.repeat(GLASSPANE_REPEATS))?;
        let events = (lines * GLASSPANE_REPEATS) as f64;
        let rate = |mut command: Command| {
            let mut times = Vec::new();
            for _ in 0..self.rounds(10) {
                let started = Instant::now();
                let status = command
                    .stdin(fs::File::open(&path)?)
                    .stdout(Stdio::null())
                    .status()?;
                ensure!(status.success(), "{command:?} failed");
                times.push(started.elapsed());
            }
            Ok::<_, anyhow::Error>(Quantity::Rate(events / median(times).as_secs_f64()))
        };
        let mut tail = clean_command(self.glasspane_binary());
        tail.arg("tail");
        Ok(vec![Row {
            what: format!("`glasspane tail`, {events} events, events a second"),
            value: rate(tail)?,
            floor: Some(("`cat`", rate(clean_command("cat"))?)),
            target: None,
            original: "",
        }])
    }

    /// Measures the frame times of the page while 200 agents write. Needs node, chromium and what
    /// `scripts/test` installs for the tests of the page.
    pub(super) fn page_frames(&self) -> anyhow::Result<Vec<Row>> {
        let seconds = self.rounds(20).to_string();
        let measured: FrameTimes = json_output(
            Command::new("node")
                .arg(root().join("crates/glasspane/page-tests/frames.js"))
                .args(["--agents", "200", "--rate", "2000", "--seconds", &seconds])
                .env("GLASSPANE", self.glasspane_binary()),
        )?;
        let row = |what: &str, milliseconds| Row {
            what: format!("page with 200 agents, 2,000 events a second, frame {what}"),
            value: Quantity::milliseconds(milliseconds),
            floor: Some(("60 frames a second", Quantity::milliseconds(1e3 / 60.0))),
            target: None,
            original: "",
        };
        Ok(vec![
            row("p50", measured.p50_ms),
            row("p95", measured.p95_ms),
            row("max", measured.max_ms),
        ])
    }

    fn runtime(&self, workdir: &Workdir) -> anyhow::Result<Peer> {
        let mut command = clean_command(self.runtime_binary());
        command
            .arg(format!("http://127.0.0.1:{}/v1", self.model_port()))
            .env("ZOT_HOME", workdir.zot_home())
            .current_dir(workdir.path());
        Peer::start(command)
    }
}

/// Runs a program and parses the JSON object that it prints.
fn json_output<T: for<'de> Deserialize<'de>>(command: &mut Command) -> anyhow::Result<T> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed");
    Ok(serde_json::from_slice(&output.stdout)?)
}
