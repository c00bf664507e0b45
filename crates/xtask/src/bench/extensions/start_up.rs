//! Measures the start of `zot rpc` with extensions, and its memory when idle.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use testkit::{Wire, Workdir, process};

use super::super::measure::median;
use super::super::peer::Peer;
use super::super::report::{Quantity, Row};
use super::super::samples::Samples;
use super::super::scenarios::Bench;
use super::children::{Installed, Language};

/// A command whose response arrives once all extensions are ready or have failed.
const GET_COMMANDS: &str = r#"{"id":"c","type":"get_commands"}"#;

/// The numbers of extensions, each with how much longer the start may take than the extensions
/// themselves.
const COUNTS: [(usize, Option<Duration>); 3] = [
    (0, None),
    (1, Some(Duration::from_millis(5))),
    (10, Some(Duration::from_millis(10))),
];

/// How long extensions may outlive zot.
const EXIT_TIME: Duration = Duration::from_secs(10);

/// Installed extensions and a zot that runs them.
struct Setting {
    workdir: Workdir,
    installed: Vec<Installed>,
}

impl Setting {
    fn new(bench: &Bench<'_>, language: Language, count: usize) -> anyhow::Result<Self> {
        let workdir = Workdir::new("start_up");
        let directory: PathBuf = workdir.zot_home().join("extensions");
        fs::create_dir_all(&directory)?;
        let installed = Installed::several(&directory, count, language, bench.child_binary())?;
        Ok(Self { workdir, installed })
    }

    /// Starts zot and waits for its extensions.
    fn start(&self, bench: &Bench<'_>) -> anyhow::Result<Peer> {
        let mut zot = Peer::start(bench.zot(&self.workdir, Wire::OpenAi))?;
        zot.send(GET_COMMANDS)?;
        let answer = zot.first_line()?;
        let answer: serde_json::Value = serde_json::from_str(&answer)?;
        let commands = answer["data"]["commands"].as_array().map_or(0, Vec::len);
        let wanted = self.installed.len();
        ensure!(commands == wanted, "{commands} of {wanted} extensions");
        Ok(zot)
    }

    /// Starts the extensions in parallel without zot, and waits for all of them.
    fn start_bare(&self) -> anyhow::Result<Vec<Peer>> {
        let started: anyhow::Result<Vec<Peer>> =
            self.installed.iter().map(Installed::start_bare).collect();
        let mut started = started?;
        for peer in &mut started {
            peer.until_ready()?;
        }
        Ok(started)
    }
}

impl Bench<'_> {
    /// Measures the time from starting zot until its extensions are ready.
    pub(in super::super) fn extension_start_up(&self) -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        for language in Language::ALL {
            let settings =
                COUNTS.map(|(count, slack)| (Setting::new(self, language, count), slack));
            let mut measured = Vec::new();
            for (setting, slack) in settings {
                measured.push((setting?, slack, Samples::default(), Samples::default()));
            }
            // One round to warm up, which also writes Python's byte code.
            for round in 0..=self.rounds(40) {
                for (setting, _, own, floor) in &mut measured {
                    let start = Instant::now();
                    let zot = setting.start(self)?;
                    let own_time = start.elapsed();
                    end(zot)?;
                    let start = Instant::now();
                    let bare = setting.start_bare()?;
                    let floor_time = start.elapsed();
                    drop(bare);
                    if round > 0 {
                        own.push(own_time);
                        floor.push(floor_time);
                    }
                }
            }
            for (setting, slack, own, floor) in measured {
                rows.push(row(&setting, language, slack, own.median(), floor.median()));
            }
        }
        Ok(rows)
    }

    /// Measures the memory of an idle zot, without that of its extensions.
    pub(in super::super) fn extension_memory(&self) -> anyhow::Result<Vec<Row>> {
        let mut rows = Vec::new();
        let mut without = None;
        for (count, _) in COUNTS {
            let setting = Setting::new(self, Language::Rust, count)?;
            let mut figures = Vec::new();
            for _ in 0..self.rounds(15) {
                let zot = setting.start(self)?;
                zot.cpu()?;
                figures.push(zot.resident_bytes()?);
                end(zot)?;
            }
            let value = Quantity::Bytes(median(figures));
            rows.push(Row {
                what: format!("idle memory of zot, {}, RSS", extensions(count)),
                value,
                floor: without.map(|without| ("without extensions", without)),
                target: None,
                original: "",
            });
            without.get_or_insert(value);
        }
        Ok(rows)
    }
}

/// Ends zot and waits until its extensions have exited, so that they do not disturb the next measurement.
fn end(zot: Peer) -> anyhow::Result<()> {
    let extensions = process::descendants(zot.pid());
    drop(zot);
    let deadline = Instant::now() + EXIT_TIME;
    while extensions.iter().any(|&pid| process::is_running(pid)) {
        if Instant::now() > deadline {
            bail!("extensions outlived zot");
        }
        std::thread::yield_now();
    }
    Ok(())
}

fn row(
    setting: &Setting,
    language: Language,
    slack: Option<Duration>,
    own: Duration,
    floor: Duration,
) -> Row {
    let count = setting.installed.len();
    let name = match count {
        1 => "the child alone",
        _ => "the children side by side",
    };
    Row {
        what: format!(
            "start until {} ready, {}",
            match count {
                1 => "1 extension is".to_owned(),
                count => format!("{} are", extensions(count)),
            },
            language.as_str()
        ),
        value: Quantity::Time(own),
        floor: (count > 0).then_some((name, Quantity::Time(floor))),
        target: slack.map(|slack| Quantity::Time(floor + slack)),
        original: if count == 1 { "46 ms" } else { "" },
    }
}

fn extensions(count: usize) -> String {
    match count {
        1 => "1 extension".to_owned(),
        count => format!("{count} extensions"),
    }
}
