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
mod memories;
mod pause;
mod refusals;
mod report;
mod restarts;
mod sessions;
mod slow_readers;
mod turns;
mod workers;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail, ensure};

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

const PROOFS: [(&str, Link, Proof); 19] = [
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
    let mut stage = Stage {
        program: Program(program),
        scale,
        link: Link::Tls,
        minutes: minutes.unwrap_or(5),
    };
    let mut report = Report::new(scale);
    for (name, link, proof) in PROOFS {
        stage.link = link;
        if names.is_empty() || names.contains(&name) {
            let start = Instant::now();
            report.begin(name);
            proof(&stage, &mut report).with_context(|| format!("the proof {name} broke off"))?;
            writeln!(io::stdout(), "      {:.1} s", start.elapsed().as_secs_f64())?;
        }
    }
    report.finish()
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
