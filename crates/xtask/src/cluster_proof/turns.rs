//! Many channels with many turns, over two nodes that share the work.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use super::Stage;
use super::report::{Report, seconds};
use crate::bench::Samples;
use crate::cluster::{Ending, Ledger, Load, daemons};

/// How many turns are in flight.
const CLIENTS: usize = 48;

/// Few, so that a busy machine does not let a service miss the time in which it must show itself.
const SHORT_CLIENTS: usize = 8;

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let site = stage.site()?;
    let mut nodes = stage.equals(&site)?;
    for node in &mut nodes {
        node.start()?;
    }
    let (channels, turns) = stage.pick((50, 6), (1_000, 20));
    let ledger = Ledger::default();
    let load = Load {
        name: "load".to_owned(),
        directive: "say:1 %NAME%",
        channel_prefix: "load".to_owned(),
        entrances: daemons(&nodes),
        clients: stage.pick(SHORT_CLIENTS, CLIENTS),
        channels,
        turns: Some(channels * turns),
    };
    let start = Instant::now();
    let samples = load.run(&ledger, &AtomicBool::new(false));
    let elapsed = start.elapsed();
    let others = samples
        .iter()
        .filter(|sample| sample.ending != Ending::Saved);
    let first = others.clone().map(|sample| &sample.ending).next();
    let count = others.count();
    report.must(
        &format!("turns that were not saved: {count} {first:?}"),
        count <= stage.tolerated(samples.len()),
    );
    let times: Samples = samples.iter().map(|sample| sample.took).collect();
    let rate = samples.len() as f64 / elapsed.as_secs_f64();
    report.figure("turns", samples.len());
    report.figure("turns per second", format_args!("{rate:.0}"));
    report.figure("median", seconds(times.median()));
    report.figure("p99", seconds(times.percentile(99)));
    report.alive(&mut nodes);
    let audit = report.audit(&ledger, &site)?;
    report.must("no client lost its connection", audit.unknown == 0);
    Ok(())
}
