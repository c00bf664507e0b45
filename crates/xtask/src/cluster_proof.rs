//! Proofs that nodes of zino with one database lose and double nothing, whatever is killed, cut or stopped.
//!
//! Every proof prints figures beside their bars. In short runs, which CI makes on busy machines, only
//! behaviour counts; times count in long runs.

mod appends;
mod bus_restarts;
mod certificates;
mod cut;
mod failover;
mod kill;
mod large_frames;
mod memories;
mod pause;
mod refusals;
mod report;
mod restarts;
mod rolling;
mod sessions;
mod slow_readers;
mod turns;
mod workers;

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, anyhow, bail, ensure};

use crate::bench::build_packaged;
use crate::cluster::{Layout, Link, Node, Program, Site, loopback_places};
use report::Report;

/// How long a proof takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scale {
    Short,
    Long,
}

/// What a proof needs to know.
struct Stage {
    program: Program,
    scale: Scale,
    /// How nodes call each other.
    link: Link,
    /// How long the database is stopped again and again.
    minutes: u64,
}

impl Stage {
    /// Chooses a number for this scale.
    fn pick<T>(&self, short: T, long: T) -> T {
        match self.scale {
            Scale::Short => short,
            Scale::Long => long,
        }
    }

    /// Makes a site with what the link needs.
    fn site(&self) -> anyhow::Result<Site> {
        Site::new(&self.program)?.with_link(self.link)
    }

    /// Makes two nodes that run everything and share the work.
    fn equals(&self, site: &Site) -> anyhow::Result<Vec<Node>> {
        let layout = match self.link {
            Link::Nats => Layout::Apart,
            Link::Tls | Link::Unix => Layout::Together,
        };
        site.equals(self.link, layout, &loopback_places(2))
    }

    /// Returns how many of `turns` may end with an error although nothing was done to their node: on a busy
    /// machine a service may miss the second in which it must show itself.
    fn tolerated(&self, turns: usize) -> usize {
        self.pick(turns / 10, 0)
    }
}

type Proof = fn(&Stage, &mut Report) -> anyhow::Result<()>;

const PROOFS: [(&str, Link, Proof); 21] = [
    ("kill", Link::Tls, kill::run),
    ("cut", Link::Tls, cut::run),
    ("pause", Link::Tls, pause::run),
    ("turns", Link::Tls, turns::run),
    ("appends", Link::Tls, appends::run),
    ("failover", Link::Tls, failover::run),
    ("restarts", Link::Tls, restarts::run),
    ("certificates", Link::Tls, certificates::run),
    ("memories", Link::Tls, memories::run),
    ("nats-kill", Link::Nats, kill::run),
    ("nats-cut", Link::Nats, cut::run),
    ("nats-pause", Link::Nats, pause::run),
    ("nats-turns", Link::Nats, turns::run),
    ("nats-restarts", Link::Nats, restarts::run),
    ("nats-server", Link::Nats, bus_restarts::run),
    ("nats-slow-readers", Link::Nats, slow_readers::run),
    ("nats-large-frames", Link::Nats, large_frames::run),
    ("nats-rolling", Link::Nats, rolling::run),
    ("nats-refusals", Link::Nats, refusals::run),
    ("sessions", Link::Nats, sessions::run),
    ("workers", Link::Nats, workers::run),
];

/// Runs the proofs with these names, or all.
pub(crate) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    ensure!(cfg!(target_os = "linux"), "the proofs need Linux");
    let (mut scale, mut minutes, mut names) = (Scale::Long, None, Vec::new());
    let mut program = None;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match *word {
            "--short" => scale = Scale::Short,
            "--program" => program = Some(words.next().context("--program needs a path")?),
            "--minutes" => {
                let number = words.next().context("--minutes needs a number")?;
                minutes = Some(number.parse().context("--minutes needs a number")?);
            }
            name if PROOFS.iter().any(|(known, ..)| *known == name) => names.push(name),
            other => bail!("unknown proof {other:?}; there are {}", known()),
        }
    }
    let program = match (program, scale) {
        (Some(path), _) => std::path::absolute(path)?,
        (None, Scale::Short) => build_for_tests()?,
        (None, Scale::Long) => build_packaged("zino")?,
    };
    let run = Run {
        program: Program(program),
        scale,
        minutes: minutes.unwrap_or(5),
        next: AtomicUsize::new(0),
    };
    let wanted = |name: &str| names.is_empty() || names.contains(&name);
    let proofs: Vec<_> = PROOFS.iter().filter(|proof| wanted(proof.0)).collect();
    let reports = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..run.lanes())
            .map(|_| scope.spawn(|| run.lane(&proofs)))
            .collect();
        let joined = lanes.into_iter().map(|lane| lane.join());
        joined
            .map(|lane| lane.map_err(|_| anyhow!("a proof panicked")))
            .collect::<anyhow::Result<Vec<_>>>()
    })?;
    Report::finish(reports.into_iter().flatten())
}

/// All proofs of one command.
struct Run {
    program: Program,
    scale: Scale,
    minutes: u64,
    /// The number of the next proof.
    next: AtomicUsize,
}

impl Run {
    /// Returns how many proofs run at the same time: in short runs they mostly wait, and times do not count.
    fn lanes(&self) -> usize {
        match self.scale {
            Scale::Short => 2,
            Scale::Long => 1,
        }
    }

    /// Runs one proof after the other.
    fn lane(&self, proofs: &[&(&'static str, Link, Proof)]) -> Vec<Report> {
        let mut reports = Vec::new();
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let Some((name, link, proof)) = proofs.get(number).copied() else {
                return reports;
            };
            let stage = Stage {
                program: self.program.clone(),
                scale: self.scale,
                link: *link,
                minutes: self.minutes,
            };
            let start = Instant::now();
            let mut report = Report::new(self.scale, name);
            if let Err(error) = proof(&stage, &mut report) {
                report.must(&format!("it broke off: {error:?}"), false);
            }
            report.figure(
                "seconds",
                format_args!("{:.1}", start.elapsed().as_secs_f64()),
            );
            reports.push(report);
        }
    }
}

fn known() -> String {
    PROOFS.map(|(name, ..)| name).join(", ")
}

/// Builds zino as tests do; returns its path.
fn build_for_tests() -> anyhow::Result<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let root = xtask::repository::root();
    let status = Command::new(cargo)
        .args(["build", "--quiet", "--locked"])
        .args(["--package", "zino", "--bin", "zino"])
        .current_dir(&root)
        .status()?;
    ensure!(status.success(), "zino cannot be built");
    Ok(root.join("target/debug/zino"))
}
