//! Measures nodes of zino that call each other over TLS or NATS and store in PostgreSQL, beside the same nodes
//! over Unix sockets.

mod appends;
mod hops;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;
use testkit::process::cpu_time;

use super::Effort;
use super::measure::{Cost, median};
use super::report::{Quantity, Row};
use super::samples::Samples;
use super::scenarios::{cpu_row, wall_row};
use crate::cluster::{
    Ending, Layout, Ledger, Link, Load, Node, Program, Site, begin, daemons, loopback_places,
    next_frame,
};

const DELTAS: usize = 20_000;

/// How many turns are in flight.
const CLIENTS: usize = 48;

const CHANNELS: usize = 1_000;

/// The figure beside each.
const UNIX: &str = "Unix socket";

/// What is measured.
const LINKS: [(&str, Link); 2] = [("TLS", Link::Tls), ("NATS", Link::Nats)];

/// The program, and how thorough the bench is.
pub(super) struct ClusterBench {
    program: Program,
    effort: Effort,
}

impl ClusterBench {
    pub(super) fn new(program: Program, effort: Effort) -> Self {
        Self { program, effort }
    }

    /// Measures a long answer that passes from one node to another.
    pub(super) fn deltas(&self) -> anyhow::Result<Vec<Row>> {
        let rounds = self.effort.rounds(20);
        let unix = self.stream(Link::Unix, rounds)?;
        let mut rows = Vec::new();
        for (name, link) in LINKS {
            let name = format!("{DELTAS} deltas between two nodes, {name}");
            let cost = self.stream(link, rounds)?;
            rows.push(cpu_row(&name, cost, (UNIX, unix), None, ""));
            rows.push(wall_row(&name, cost, (UNIX, unix)));
        }
        Ok(rows)
    }

    fn stream(&self, link: Link, rounds: usize) -> anyhow::Result<Cost> {
        let site = Site::new(&self.program)?.with_link(link)?;
        let (mut front, mut back) = site.front_and_back(link, &loopback_places(2), site.url())?;
        front.start()?;
        back[0].start()?;
        let (mut walls, mut cpus) = (Vec::new(), Vec::new());
        // The first round warms up.
        for round in 0..=rounds {
            let before = cpu(&[&front, &back[0]])?;
            let start = Instant::now();
            let request = json!({ "message": format!("say:{DELTAS}"), "stream": true });
            let mut stream = begin(&front.socket("daemon"), &request)?;
            let mut frames = 0;
            while next_frame(&mut stream)?.is_some() {
                frames += 1;
            }
            let wall = start.elapsed();
            ensure!(frames == DELTAS + 1, "{frames} frames");
            if round > 0 {
                walls.push(wall);
                cpus.push(cpu(&[&front, &back[0]])?.saturating_sub(before));
            }
        }
        Ok(Cost {
            wall: median(walls),
            cpu: median(cpus),
            children: Duration::ZERO,
        })
    }

    /// Measures turns on two nodes that share their work: of many clients, and one after the other.
    pub(super) fn turns(&self) -> anyhow::Result<Vec<Row>> {
        let mut rows = self.turns_of(Layout::Together, &[("TLS", Link::Tls, 300.0)])?;
        let apart = [("TLS", Link::Tls, 300.0), ("NATS", Link::Nats, 200.0)];
        rows.extend(self.turns_of(Layout::Apart, &apart)?);
        Ok(rows)
    }

    /// Measures turns over these links, each with the least rate.
    fn turns_of(&self, layout: Layout, links: &[(&str, Link, f64)]) -> anyhow::Result<Vec<Row>> {
        let unix = self.loads(Link::Unix, layout)?;
        let processors = std::thread::available_parallelism().map_or(0, usize::from);
        let nodes = match layout {
            Layout::Together => "two nodes",
            Layout::Apart => "two nodes of three processes",
        };
        let time = |samples: &Samples, rank| Quantity::Time(samples.percentile(rank));
        let mut rows = Vec::new();
        for (name, link, target) in links {
            let own = self.loads(*link, layout)?;
            let many = format!("turns on {nodes}, {CLIENTS} clients, {processors} cores, {name}");
            let one = format!("turn after turn in one channel of {nodes}, {name}");
            rows.push(Row {
                what: many.clone(),
                value: own.rate,
                floor: Some((UNIX, unix.rate)),
                target: Some(Quantity::Rate(*target)),
                original: "",
            });
            for (what, own, floor) in [(many, &own.many, &unix.many), (one, &own.one, &unix.one)] {
                for rank in [50, 99] {
                    rows.push(Row {
                        what: format!("{what}, p{rank}"),
                        value: time(own, rank),
                        floor: Some((UNIX, time(floor, rank))),
                        target: None,
                        original: "",
                    });
                }
            }
        }
        Ok(rows)
    }

    fn loads(&self, link: Link, layout: Layout) -> anyhow::Result<Loads> {
        let site = Site::new(&self.program)?.with_link(link)?;
        let mut nodes = site.equals(link, layout, &loopback_places(2))?;
        for node in &mut nodes {
            node.start()?;
        }
        let never = AtomicBool::new(false);
        // Not compared with the database: that is what the proofs do.
        let ledger = Ledger::default();
        let load = |clients, channels, turns| {
            let load = Load {
                name: "load".to_owned(),
                directive: "say:1 %NAME%",
                channel_prefix: "load".to_owned(),
                entrances: daemons(&nodes),
                clients,
                channels,
                turns: Some(turns),
            };
            let start = Instant::now();
            let samples = load.run(&ledger, &never);
            let elapsed = start.elapsed();
            let other = samples.iter().find(|sample| sample.ending != Ending::Saved);
            ensure!(other.is_none(), "a turn was not saved: {other:?}");
            let times: Samples = samples.iter().map(|sample| sample.took).collect();
            Ok((elapsed, times))
        };
        load(CLIENTS, CHANNELS, 500)?;
        let turns = self.effort.rounds(10_000);
        let (elapsed, many) = load(CLIENTS, CHANNELS, turns)?;
        let (_, one) = load(1, 1, self.effort.rounds(500))?;
        Ok(Loads {
            rate: Quantity::Rate(turns as f64 / elapsed.as_secs_f64()),
            many,
            one,
        })
    }
}

/// Figures of turns over one kind of link.
struct Loads {
    rate: Quantity,
    many: Samples,
    one: Samples,
}

/// Returns the CPU time of nodes.
fn cpu(nodes: &[&Node]) -> anyhow::Result<Duration> {
    let times = nodes.iter().map(|node| {
        let pid = node.pid().context("the node runs")?;
        cpu_time(pid).context("the node has ended")
    });
    times.sum()
}
