//! Many channels with many turns, over two nodes that share the work.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::Stage;
use super::report::{Report, seconds};
use crate::bench::Samples;
use crate::cluster::{Ending, Ledger, Link, Load, Site, loopback_places};

/// How many turns are in flight.
const CLIENTS: usize = 48;

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let site = Site::new(&stage.program)?;
    let mut nodes = site.equals(Link::Tls, &loopback_places(2))?;
    for node in &mut nodes {
        node.start()?;
    }
    let (channels, turns) = stage.pick((50, 6), (1_000, 20));
    let ledger = Ledger::default();
    let load = Load {
        daemons: nodes.iter().map(|node| node.socket("daemon")).collect(),
        clients: CLIENTS,
        channels,
        turns: Some(channels * turns),
    };
    let start = Instant::now();
    let samples = load.run(&ledger, &AtomicBool::new(false));
    let elapsed = start.elapsed();
    let other = samples.iter().find(|sample| sample.ending != Ending::Saved);
    report.must(
        &format!("a turn that was not saved: {:?}", other.map(|s| &s.ending)),
        other.is_none(),
    );
    let times: Samples = samples.iter().map(|sample| sample.took).collect();
    let rate = samples.len() as f64 / elapsed.as_secs_f64();
    report.figure("turns", samples.len());
    report.figure("turns per second", format_args!("{rate:.0}"));
    report.figure("median", seconds(times.median()));
    report.figure("p99", seconds(times.percentile(99)));
    report.alive(&mut nodes);
    let audit = report.audit(&ledger, &site)?;
    report.must(
        "every turn is in the database",
        audit.saved == channels * turns,
    );
    Ok(())
}
