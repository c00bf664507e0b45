//! Measures the chat in a terminal of 120×40: the start, the idle state, a streamed answer and a key
//! press.

mod screen;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use testkit::Workdir;

use super::Effort;
use super::measure::median;
use super::peer::Peer;
use super::programs::build;
use super::report::{Quantity, Row};
use super::scenarios::{MODELS, reset_server, start_server};
use screen::Screen;

/// How long wake-ups are counted.
const IDLE: Duration = Duration::from_secs(5);

/// The number of prompts typed without waiting; fewer than the queue holds.
const PROMPTS_AT_ONCE: usize = 30;

/// 100,000 files in total.
const DIRECTORIES: usize = 1_000;
const FILES_PER_DIRECTORY: usize = 100;

/// 4,000 deltas, 1,000 per second.
const STREAM: Stream = Stream {
    prompt: "slow:4000:1",
    lasts: Duration::from_secs(4),
};
const LONG_STREAM: Stream = Stream {
    prompt: "slow:10000:1",
    lasts: Duration::from_secs(10),
};

/// An answer that arrives in deltas.
#[derive(Clone, Copy)]
struct Stream {
    prompt: &'static str,
    /// The shortest duration.
    lasts: Duration,
}

/// The figures of the best other agents, each in the same terminal.
const PEERS_CPU: &str = "0.95 s; goose 1.1 s, pi 1.9 s, codex 4.9 s";
const PEERS_MEMORY: &str = "18 MB; goose 73, pi 93, codex 488";

pub(super) struct TerminalBench {
    zot: PathBuf,
    effort: Effort,
    port: u16,
    _server: Peer,
}

impl TerminalBench {
    pub(super) fn new(effort: Effort) -> anyhow::Result<Self> {
        let [zot, scripted_model] = build(["zot", "scripted-model"])?;
        let (server, port) = start_server(&scripted_model)?;
        Ok(Self {
            zot,
            effort,
            port,
            _server: server,
        })
    }

    /// Measures the time from starting the program to a prompt on the screen.
    pub(super) fn first_prompt(&self) -> anyhow::Result<Vec<Row>> {
        let workdir = self.workdir()?;
        let (mut own, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..self.effort.rounds(50) {
            let started = Instant::now();
            let mut screen = self.open(&workdir)?;
            screen.wait_for_prompt()?;
            own.push(started.elapsed());
            screen.leave()?;
            let started = Instant::now();
            Screen::open("echo".as_ref(), &["❯"], &workdir)?.wait_for_prompt()?;
            bare.push(started.elapsed());
        }
        Ok(vec![Row {
            what: "start to first prompt on the screen, wall".to_owned(),
            value: Quantity::Time(median(own)),
            floor: Some(("`echo` in the same terminal", Quantity::Time(median(bare)))),
            target: Some(Quantity::milliseconds(15.0)),
            original: "",
        }])
    }

    /// Measures the idle chat.
    pub(super) fn rest(&self) -> anyhow::Result<Vec<Row>> {
        let workdir = self.workdir()?;
        let mut screen = self.open(&workdir)?;
        screen.wait_for_prompt()?;
        screen.settle()?;
        let (switches, cpu) = (screen.wake_ups()?, screen.cpu()?);
        std::thread::sleep(IDLE);
        let woken = screen.wake_ups()? - switches;
        let used = screen.cpu()?.saturating_sub(cpu);
        let memory = screen.resident_bytes()?;
        Ok(vec![
            row(
                "idle, wake-ups",
                Quantity::Nuisance(woken as f64 / IDLE.as_secs_f64()),
                Some(Quantity::Nuisance(0.0)),
                "310/s",
            ),
            row(
                "idle, CPU over 5 s",
                Quantity::Time(used),
                Some(Quantity::Time(Duration::ZERO)),
                "",
            ),
            row("idle, RSS", Quantity::Bytes(memory), None, ""),
        ])
    }

    /// Measures an answer of 4,000 deltas, 1,000 per second.
    pub(super) fn streaming(&self) -> anyhow::Result<Vec<Row>> {
        let (mut cpus, mut memories) = (Vec::new(), Vec::new());
        for _ in 0..self.effort.rounds(5) {
            let workdir = self.workdir()?;
            let mut screen = self.open(&workdir)?;
            screen.wait_for_prompt()?;
            screen.settle()?;
            cpus.push(cost(&mut screen, STREAM)?);
            memories.push(screen.resident_bytes()?);
        }
        Ok(vec![
            row(
                "4,000 deltas at 1,000/s, CPU",
                Quantity::Time(median(cpus)),
                Some(Quantity::milliseconds(300.0)),
                PEERS_CPU,
            ),
            row(
                "RSS after them",
                Quantity::Bytes(median(memories)),
                Some(Quantity::Bytes(12_000_000)),
                PEERS_MEMORY,
            ),
        ])
    }

    /// Measures the same work in a short and in a long conversation, alternating, so that both run under the
    /// same conditions.
    pub(super) fn long_transcripts(&self) -> anyhow::Result<Vec<Row>> {
        let most = match self.effort {
            Effort::Full => 5_000,
            Effort::Quick => 500,
        };
        let sizes = [10, most];
        let workdirs = [self.workdir()?, self.workdir()?];
        let mut screens = [self.open(&workdirs[0])?, self.open(&workdirs[1])?];
        let mut cpus = [Vec::new(), Vec::new()];
        for (screen, size) in screens.iter_mut().zip(sizes) {
            screen.wait_for_prompt()?;
            self.fill_conversation(screen, size)?;
        }
        for _ in 0..self.effort.rounds(3) {
            for (screen, cpus) in screens.iter_mut().zip(&mut cpus) {
                cpus.push(cost(screen, LONG_STREAM)?);
            }
        }
        let mut rows = Vec::new();
        let mut first: Option<Duration> = None;
        for ((screen, size), cpus) in screens.iter_mut().zip(sizes).zip(cpus) {
            let cpu = median(cpus);
            let floor = first.map(|cpu| ("with 10", Quantity::Time(cpu)));
            // Two equal runs differ by about 10 %.
            let target = first.map(|cpu| Quantity::Time(cpu + cpu / 10));
            rows.push(Row {
                what: format!("10,000 deltas at 1,000/s into {size} messages, CPU"),
                value: Quantity::Time(cpu),
                floor,
                target,
                original: "",
            });
            first = Some(cpu);
            let mut keys = Vec::new();
            for _ in 0..self.effort.rounds(100) {
                keys.push(screen.time_of_key(b"x")?);
                screen.time_of_key(b"\x7f")?;
            }
            rows.push(row(
                &format!("key to screen with {size} messages"),
                Quantity::Time(median(keys)),
                None,
                "",
            ));
            rows.push(row(
                &format!("RSS with {size} messages"),
                Quantity::Bytes(screen.resident_bytes()?),
                Some(Quantity::Bytes(12_000_000)),
                "",
            ));
        }
        Ok(rows)
    }

    /// Creates a conversation of `size` messages.
    fn fill_conversation(&self, screen: &mut Screen, size: usize) -> anyhow::Result<()> {
        let mut count = 0;
        while count < size {
            let prompts = PROMPTS_AT_ONCE.min((size - count) / 2);
            screen.write("say:1\r".repeat(prompts).as_bytes())?;
            screen.settle()?;
            reset_server(self.port)?;
            count += 2 * prompts;
        }
        Ok(())
    }

    /// Measures `@` and a name in a repository of 100,000 files.
    pub(super) fn file_picker(&self) -> anyhow::Result<Vec<Row>> {
        let workdir = self.workdir()?;
        for directory in 0..DIRECTORIES {
            let directory = workdir.path().join(format!("crates/part{directory}/src"));
            fs::create_dir_all(&directory)?;
            for file in 0..FILES_PER_DIRECTORY {
                fs::write(directory.join(format!("module_{file}.rs")), "")?;
            }
        }
        let (mut firsts, mut agains, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        let mut memories = Vec::new();
        for _ in 0..self.effort.rounds(5) {
            let mut screen = self.open(&workdir)?;
            screen.wait_for_prompt()?;
            screen.settle()?;
            let before = screen.own_bytes()?;
            for times in [&mut firsts, &mut agains] {
                let started = Instant::now();
                screen.write(b"@")?;
                screen.wait_for("▸")?;
                times.push(started.elapsed());
                screen.settle()?;
                for key in "part77mod42".chars() {
                    keys.push(screen.time_of_key(key.to_string().as_bytes())?);
                }
                // Closes the list and clears the line.
                screen.write(b"\x15")?;
                screen.settle()?;
            }
            memories.push(screen.own_bytes()?.saturating_sub(before));
        }
        let row = |what: &str, value, target| {
            let what = format!("`@` among 100,000 files, {what}");
            row(&what, value, Some(target), "")
        };
        let time = |what: &str, time, target| {
            let target = Quantity::milliseconds(target);
            row(what, Quantity::Time(time), target)
        };
        let slowest = keys.iter().max().copied().unwrap_or_default();
        Ok(vec![
            time("first list", median(firsts), 100.0),
            time("list again", median(agains), 16.0),
            time("each further key", median(keys), 16.0),
            time("the slowest key", slowest, 50.0),
            row(
                "memory that stays, without code",
                Quantity::Bytes(median(memories)),
                Quantity::Bytes(8_000_000),
            ),
        ])
    }

    fn workdir(&self) -> anyhow::Result<Workdir> {
        let workdir = Workdir::new("terminal");
        fs::create_dir_all(workdir.zot_home())?;
        fs::write(workdir.zot_home().join("models.json"), MODELS)?;
        Ok(workdir)
    }

    fn open(&self, workdir: &Workdir) -> anyhow::Result<Screen> {
        let url = format!("http://127.0.0.1:{}/v1", self.port);
        let arguments = ["--provider", "openai", "--model", "gpt-4o"];
        let arguments = [&arguments[..], &["--api-key", "x", "--base-url", &url]].concat();
        Screen::open(&self.zot, &arguments, workdir)
    }
}

/// Returns the CPU time of one prompt.
fn cost(screen: &mut Screen, stream: Stream) -> anyhow::Result<Duration> {
    let before = screen.cpu()?;
    let started = Instant::now();
    screen.write(format!("{}\r", stream.prompt).as_bytes())?;
    // On a busy machine the screen may be still for a moment.
    while started.elapsed() < stream.lasts {
        screen.settle()?;
    }
    Ok(screen.cpu()?.saturating_sub(before))
}

fn row(what: &str, value: Quantity, target: Option<Quantity>, original: &'static str) -> Row {
    Row {
        what: what.to_owned(),
        value,
        floor: None,
        target,
        original,
    }
}
