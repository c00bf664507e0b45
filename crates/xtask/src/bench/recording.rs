//! Measures recording and replaying cassettes.

use std::process::Command;
use std::time::Instant;

use testkit::{Wire, Workdir};

use super::measure::{Cost, median, rounds};
use super::peer::Peer;
use super::programs::clean_command;
use super::report::{Quantity, Row};
use super::scenarios::{Bench, PING, clear, cpu_row};

/// The number of turns on one cassette.
const TURNS: u32 = 2_000;

/// The cost limit of recording.
const RECORDING_LIMIT: f64 = 1.1;

impl Bench<'_> {
    /// Measures the same work with and without `--record`. The run without it is the floor.
    pub(super) fn recording(&self) -> anyhow::Result<Vec<Row>> {
        let work = [
            ("20000 deltas, recorded", "say:20000".to_owned(), 1, 25),
            ("200 turns, recorded", "say:1".to_owned(), 200, 15),
            (
                "50 `read` steps, recorded",
                r#"loop:50:read:{"path":"a.txt"}"#.to_owned(),
                1,
                20,
            ),
        ];
        let mut rows = Vec::new();
        for (what, prompt, times, count) in work {
            let workdir = Workdir::with_files("recording");
            let measure = |command: Command| -> anyhow::Result<Cost> {
                let mut zot = Peer::start(command)?;
                rounds(&mut zot, self.rounds(count), clear, |zot| {
                    for _ in 0..times {
                        zot.prompt(&prompt)?;
                    }
                    Ok(())
                })
            };
            let plain = measure(self.zot(&workdir, Wire::OpenAi))?;
            let mut recorded = self.zot(&workdir, Wire::OpenAi);
            recorded.args(["--record", "bench.cassette"]);
            let recorded = measure(recorded)?;
            let target = plain.cpu.as_secs_f64() * 1e3 * RECORDING_LIMIT;
            rows.push(cpu_row(
                what,
                recorded,
                ("the same, not recorded", plain),
                Some(target),
                "",
            ));
        }
        Ok(rows)
    }

    /// Measures turns from a cassette, all requested together. A cassette plays only once, so every
    /// round is a new process.
    pub(super) fn replay(&self) -> anyhow::Result<Vec<Row>> {
        let workdir = Workdir::new("replay");
        let mut command = self.zot(&workdir, Wire::OpenAi);
        command.args(["--record", "bench.cassette"]);
        let mut zot = Peer::start(command)?;
        for _ in 0..TURNS {
            zot.prompt("say:1")?;
        }
        drop(zot);
        let mut walls = Vec::new();
        let mut cpus = Vec::new();
        for _ in 0..self.rounds(10) {
            let mut command = clean_command(self.zot_binary());
            command
                .args(["rpc", "--cassette", "bench.cassette"])
                .env("HOME", workdir.home())
                .env("ZOT_HOME", workdir.zot_home())
                .current_dir(workdir.path());
            let mut player = Peer::start(command)?;
            player.call(PING)?;
            let before = player.cpu()?;
            let start = Instant::now();
            player.prompts("say:1", TURNS)?;
            walls.push(start.elapsed() / TURNS);
            cpus.push(player.cpu()?.saturating_sub(before) / TURNS);
        }
        let row = |what: &str, time, target| Row {
            what: what.to_owned(),
            value: Quantity::Time(time),
            floor: None,
            target,
            original: "",
        };
        // Ten thousand turns a second.
        let target = Some(Quantity::milliseconds(0.1));
        Ok(vec![
            row("replayed turn, wall", median(walls), target),
            row("replayed turn, CPU", median(cpus), None),
        ])
    }
}
