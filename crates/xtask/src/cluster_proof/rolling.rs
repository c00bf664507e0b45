//! Everything is restarted, one process after the other, under load: no turn fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Stage;
use super::report::{Report, seconds};
use crate::bench::Samples;
use crate::cluster::{BusClient, Ending, Entrance, Ledger, Load};

const CHANNELS: usize = 100;

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let site = stage.site()?;
    let mut nodes = stage.equals(&site)?;
    for node in &mut nodes {
        node.start()?;
    }
    let client = Arc::new(BusClient::connect(&site.path())?);
    let ledger = Ledger::default();
    // Turns of different lengths, so that every process has work when it is asked to end.
    let load = |name: &str, directive, clients| Load {
        name: name.to_owned(),
        directive,
        entrances: vec![Entrance::Bus(Arc::clone(&client))],
        clients,
        channels: CHANNELS,
        turns: None,
    };
    let short = load("short", "say:1", stage.pick(2, 8));
    let long = Load {
        channels: CHANNELS / 2,
        ..load("long", "slow:20:50", stage.pick(2, 8))
    };
    let stop = AtomicBool::new(false);
    let (rounds, pause) = stage.pick((1, 200), (5, 1_000));
    let (samples, ends) = std::thread::scope(|scope| {
        let short = scope.spawn(|| short.run(&ledger, &stop));
        let long = scope.spawn(|| long.run(&ledger, &stop));
        let mut restarts = || {
            let mut ends = Samples::default();
            for _ in 0..rounds {
                for node in &mut nodes {
                    std::thread::sleep(Duration::from_millis(pause));
                    let start = Instant::now();
                    node.stop()?;
                    ends.push(start.elapsed());
                    node.start()?;
                }
            }
            std::thread::sleep(Duration::from_millis(pause));
            anyhow::Ok(ends)
        };
        let ends = restarts();
        stop.store(true, Ordering::Relaxed);
        let mut samples = short.join().unwrap_or_default();
        samples.extend(long.join().unwrap_or_default());
        ends.map(|ends| (samples, ends))
    })?;
    report.figure("restarts", ends.len());
    report.figure(
        "from SIGTERM to the end, longest",
        seconds(ends.percentile(100)),
    );
    let others = samples
        .iter()
        .filter(|sample| sample.ending != Ending::Saved);
    let first = others.clone().map(|sample| &sample.ending).next();
    let count = others.count();
    report.must(
        &format!(
            "of {} turns, {count} were not saved {first:?}",
            samples.len()
        ),
        count == 0 && !samples.is_empty(),
    );
    let times: Samples = samples.iter().map(|sample| sample.took).collect();
    report.figure("a turn, longest", seconds(times.percentile(100)));
    report.alive(&mut nodes);
    report.audit(&ledger, &site)?;
    Ok(())
}
