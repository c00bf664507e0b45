//! Measures zot: over real pipes against the scripted model server in another process, and its
//! extensions.
//!
//! Every figure is the median of many rounds and stands beside its floor: the same work, done in
//! the same run by a program that does nothing else. Reads `/proc`, so it is for Linux only.

mod extensions;
mod measure;
mod peer;
mod programs;
mod recording;
mod report;
mod samples;
mod scenarios;

use std::io::{self, Write};

use anyhow::ensure;

use programs::Programs;
use report::Row;
use scenarios::Bench;

/// How long to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    Full,
    /// Few rounds and no transcript of 10,000 messages.
    Quick,
}

impl Effort {
    fn rounds(self, full: usize) -> usize {
        match self {
            Self::Full => full,
            Self::Quick => full.div_ceil(5),
        }
    }
}

pub(crate) fn rpc(effort: Effort) -> anyhow::Result<()> {
    check_system()?;
    let programs = Programs::build()?;
    let bench = Bench::new(&programs, effort)?;
    print_heading("rpc", effort)?;
    print(bench.start()?)?;
    print(bench.idle_memory()?)?;
    print(bench.streaming()?)?;
    print(bench.tool_steps()?)?;
    print(bench.long_transcripts()?)?;
    print(bench.recording()?)?;
    print(bench.replay()?)
}

/// Measures what extensions cost. The host runs in this process for some of it, so that is built
/// as zot is.
pub(crate) fn extensions(effort: Effort) -> anyhow::Result<()> {
    check_system()?;
    let programs = Programs::build()?;
    if cfg!(debug_assertions) {
        let mut command = programs.optimised();
        command.args(["bench", "ext"]);
        if effort == Effort::Quick {
            command.arg("--quick");
        }
        let status = command.status()?;
        ensure!(status.success(), "the bench failed");
        return Ok(());
    }
    let bench = Bench::new(&programs, effort)?;
    print_heading("ext", effort)?;
    print(bench.tool_round_trips()?)?;
    print(bench.extension_start_up()?)?;
    print(bench.fan_out()?)?;
    print(bench.extension_memory()?)
}

fn check_system() -> anyhow::Result<()> {
    ensure!(
        cfg!(target_os = "linux"),
        "the bench reads /proc: it needs Linux"
    );
    Ok(())
}

fn print_heading(bench: &str, effort: Effort) -> anyhow::Result<()> {
    write!(io::stdout(), "{}", report::heading(bench, effort))?;
    Ok(())
}

/// Shows figures as soon as they are known.
fn print(rows: Vec<Row>) -> anyhow::Result<()> {
    let mut out = io::stdout();
    for row in rows {
        writeln!(out, "{row}")?;
    }
    out.flush()?;
    Ok(())
}
