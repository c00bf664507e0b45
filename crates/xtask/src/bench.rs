//! Measures `zot rpc` over real pipes against the scripted model server in another process.
//!
//! Every figure is the median of many rounds and stands beside its floor: the same work, done in
//! the same run by a program that does nothing else. Reads `/proc`, so it is for Linux only.

mod measure;
mod peer;
mod programs;
mod recording;
mod report;
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
    ensure!(
        cfg!(target_os = "linux"),
        "the bench reads /proc: it needs Linux"
    );
    let programs = Programs::build()?;
    let bench = Bench::new(&programs, effort)?;
    let mut out = io::stdout();
    write!(out, "{}", report::heading(effort))?;
    let mut print = |rows: Vec<Row>| -> anyhow::Result<()> {
        for row in rows {
            writeln!(out, "{row}")?;
        }
        out.flush()?;
        Ok(())
    };
    print(bench.start()?)?;
    print(bench.idle_memory()?)?;
    print(bench.streaming()?)?;
    print(bench.tool_steps()?)?;
    print(bench.long_transcripts()?)?;
    print(bench.recording()?)?;
    print(bench.replay()?)?;
    Ok(())
}
