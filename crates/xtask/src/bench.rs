//! Measures zot and zino over real pipes and sockets against the scripted model server in another
//! process, and measures zot's extensions.
//!
//! Every figure is the median of many rounds, next to its floor: the same work, done in the same run by
//! a program that does nothing else. Linux only, because it reads `/proc`.

mod cluster;
mod embedding;
mod extensions;
mod mcp;
mod measure;
mod peer;
mod programs;
mod recording;
mod report;
mod samples;
mod sandbox;
mod scenarios;
mod sessions;
mod terminal;
mod zino;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;

use anyhow::ensure;

use crate::cluster::Program;
use programs::Programs;
use report::Row;
use scenarios::Bench;

pub(crate) use samples::Samples;
pub(crate) use zino::{Corpus, write_memories};

/// How thorough a bench is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    Full,
    /// Few rounds; leaves out transcripts of 10,000 messages and the million memories.
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
    print_heading("rpc", "zot", effort)?;
    print(bench.start()?)?;
    print(bench.idle_memory()?)?;
    print(bench.streaming()?)?;
    print(bench.tool_steps()?)?;
    print(bench.long_transcripts()?)?;
    print(bench.recording()?)?;
    print(bench.replay()?)
}

/// Measures extensions. For some figures the host runs in this process, which is built like zot.
pub(crate) fn extensions(effort: Effort) -> anyhow::Result<()> {
    check_system()?;
    let programs = Programs::build()?;
    if cfg!(debug_assertions) {
        return rerun_optimised(programs.optimised(), "ext", effort);
    }
    let bench = Bench::new(&programs, effort)?;
    print_heading("ext", "zot", effort)?;
    print(bench.tool_round_trips()?)?;
    print(bench.extension_start_up()?)?;
    print(bench.fan_out()?)?;
    print(bench.extension_memory()?)
}

/// Measures what MCP servers cost.
pub(crate) fn mcp(effort: Effort) -> anyhow::Result<()> {
    check_system()?;
    let programs = Programs::build()?;
    let bench = Bench::new(&programs, effort)?;
    print_heading("mcp", "zot", effort)?;
    print(bench.mcp_calls()?)?;
    print(bench.mcp_start()?)?;
    print(bench.mcp_silence()?)
}

/// Measures what the sandbox costs.
pub(crate) fn sandbox(effort: Effort) -> anyhow::Result<()> {
    check_system()?;
    let programs = Programs::build()?;
    let bench = Bench::new(&programs, effort)?;
    print_heading("sandbox", "zot", effort)?;
    print(bench.sandboxed_commands()?)?;
    print(bench.idle_sandboxes()?)
}

/// Measures the runtime inside other programs.
pub(crate) fn embedding(effort: Effort) -> anyhow::Result<()> {
    check_system()?;
    let programs = Programs::build()?;
    let bench = Bench::new(&programs, effort)?;
    print_heading("sdk", "zot", effort)?;
    print(bench.idle_runtimes()?)?;
    print(bench.event_rates()?)?;
    print(bench.glasspane_rate()?)?;
    print(bench.page_frames()?)
}

/// Measures sessions.
pub(crate) fn sessions(effort: Effort) -> anyhow::Result<()> {
    check_system()?;
    let programs = Programs::build()?;
    let bench = Bench::new(&programs, effort)?;
    print_heading("sessions", "zot", effort)?;
    print(bench.many_sessions()?)?;
    print(bench.long_session()?)
}

/// Measures the chat in a terminal.
pub(crate) fn terminal(effort: Effort) -> anyhow::Result<()> {
    check_system()?;
    let bench = terminal::TerminalBench::new(effort)?;
    print_heading("terminal", "zot", effort)?;
    print(bench.first_prompt()?)?;
    print(bench.rest()?)?;
    print(bench.streaming()?)?;
    print(bench.file_picker()?)?;
    print(bench.long_transcripts()?)
}

/// Measures the services of zino. The clients run in this process, which must not be the bottleneck.
pub(crate) fn zino(effort: Effort) -> anyhow::Result<()> {
    check_system()?;
    let programs = Programs::build()?;
    if cfg!(debug_assertions) {
        return rerun_optimised(programs.optimised(), "zino", effort);
    }
    let bench = Bench::new(&programs, effort)?;
    print_heading("zino", "zino", effort)?;
    print(bench.service_start()?)?;
    print(bench.service_memory()?)?;
    print(bench.requests()?)?;
    print(bench.crowds()?)?;
    print(bench.service_streaming()?)?;
    print(bench.long_turns()?)?;
    print(bench.histories()?)?;
    bench.hard_memories(print)
}

/// Measures nodes of zino that call each other over TLS and NATS. The clients run in this process.
pub(crate) fn cluster(effort: Effort) -> anyhow::Result<()> {
    check_system()?;
    let [zino, xtask] = programs::build(["zino", "xtask"])?;
    if cfg!(debug_assertions) {
        return rerun_optimised(Command::new(xtask), "cluster", effort);
    }
    let bench = cluster::ClusterBench::new(Program(zino), effort);
    print_heading("cluster", "zino", effort)?;
    print(bench.hops()?)?;
    print(bench.deltas()?)?;
    print(bench.turns()?)?;
    print(bench.appends()?)
}

/// Builds a program like packages, and returns its path.
pub(crate) fn build_packaged(name: &'static str) -> anyhow::Result<PathBuf> {
    let [path] = programs::build([name])?;
    Ok(path)
}

/// Runs the same bench again in an optimised build of this program.
fn rerun_optimised(mut command: Command, bench: &str, effort: Effort) -> anyhow::Result<()> {
    command.args(["bench", bench]);
    if effort == Effort::Quick {
        command.arg("--quick");
    }
    let status = command.status()?;
    ensure!(status.success(), "the bench failed");
    Ok(())
}

fn check_system() -> anyhow::Result<()> {
    ensure!(
        cfg!(target_os = "linux"),
        "the bench reads /proc: it needs Linux"
    );
    Ok(())
}

fn print_heading(bench: &str, program: &str, effort: Effort) -> anyhow::Result<()> {
    let heading = report::heading(bench, program, effort);
    write!(io::stdout(), "{heading}")?;
    Ok(())
}

/// Prints figures as soon as they are known.
fn print(rows: Vec<Row>) -> anyhow::Result<()> {
    let mut out = io::stdout();
    for row in rows {
        writeln!(out, "{row}")?;
    }
    out.flush()?;
    Ok(())
}
