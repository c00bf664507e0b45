//! A channel continues on another node after `kill -9` of its own.

use std::time::{Duration, Instant};

use super::Stage;
use super::pause::{begin_turns, finish_turns};
use super::report::Report;
use crate::bench::Samples;
use crate::cluster::{Ledger, Site, loopback_places};

/// The lease of ten seconds, and two to take over.
const BAR: Duration = Duration::from_secs(12);

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let site = Site::new(&stage.program)?;
    let mut nodes = site.alone(&loopback_places(2))?;
    for node in &mut nodes {
        node.start()?;
    }
    let ledger = Ledger::default();
    let (rounds, channels) = stage.pick((1, 4), (5, 20));
    let mut took = Samples::default();
    for round in 0..rounds {
        let killed = round % 2;
        let turns = begin_turns(&nodes[killed], round, channels)?;
        let start = Instant::now();
        nodes[killed].kill();
        took.extend(super::pause::continue_elsewhere(
            &nodes[1 - killed],
            round,
            channels,
            start,
            &ledger,
            report,
        ));
        finish_turns(turns, &ledger);
        nodes[killed].start()?;
    }
    report.figure("channels that moved", took.len());
    report.time(
        "until the next turn was saved, longest",
        took.percentile(100),
        BAR,
    );
    report.audit(&ledger, &site)?;
    Ok(())
}
