//! The database is stopped like a crash, again and again, while clients send turns.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use testkit::postgres::Shutdown;

use super::Stage;
use super::report::{Report, seconds};
use crate::bench::Samples;
use crate::cluster::{Ending, Ledger, Link, Load, Sample, daemons};

const CLIENTS: usize = 16;
const CHANNELS: usize = 200;

/// How often the database is stopped.
const PERIOD: Duration = Duration::from_secs(20);

const SHORT_PERIOD: Duration = Duration::from_secs(4);

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let mut site = stage.site()?;
    let mut nodes = stage.equals(&site)?;
    for node in &mut nodes {
        node.start()?;
    }
    // How the database is used does not depend on the link.
    let few = if stage.link == Link::Nats { 1 } else { 2 };
    let (period, stops) = stage.pick((SHORT_PERIOD, few), (PERIOD, stage.minutes * 3));
    let ledger = Ledger::default();
    let load = Load {
        name: "load".to_owned(),
        directive: "say:1 %NAME%",
        channel_prefix: "load".to_owned(),
        entrances: daemons(&nodes),
        clients: CLIENTS,
        channels: CHANNELS,
        turns: None,
    };
    let stop = AtomicBool::new(false);
    let mut started = Vec::new();
    let samples = std::thread::scope(|scope| {
        let load = scope.spawn(|| load.run(&ledger, &stop));
        for _ in 0..stops {
            std::thread::sleep(period);
            site.postgres.stop(Shutdown::Immediate);
            site.postgres.start_again();
            started.push(Instant::now());
        }
        std::thread::sleep(period);
        stop.store(true, Ordering::Relaxed);
        load.join().unwrap_or_default()
    });
    let saved = |sample: &&Sample| sample.ending == Ending::Saved;
    let recovered: Samples = started
        .iter()
        .filter_map(|started| {
            let ends = samples
                .iter()
                .filter(saved)
                .filter(|sample| sample.begun > *started);
            ends.map(|sample| sample.begun + sample.took).min()
        })
        .zip(&started)
        .map(|(end, started)| end.saturating_duration_since(*started))
        .collect();
    report.figure("stops of the database", stops);
    report.figure("turns", samples.len());
    report.must(
        "turns were saved after every stop",
        recovered.len() == started.len(),
    );
    report.figure(
        "from the database's return to the next saved turn, longest",
        seconds(recovered.percentile(100)),
    );
    let mut codes: BTreeMap<Option<&str>, (usize, &str)> = BTreeMap::new();
    for sample in &samples {
        if let Ending::Failed { code, message } = &sample.ending {
            codes.entry(code.as_deref()).or_insert((0, message)).0 += 1;
        }
    }
    report.figure(
        "turns refused, by code, with a message",
        format_args!("{codes:?}"),
    );
    // A hold may be lost with the database, which confirms it before it is on disk.
    let expected = [Some("store_unavailable"), Some("moved")];
    report.must(
        "no turn failed with another code than store_unavailable or moved",
        codes.iter().all(|(code, (count, _))| {
            expected.contains(code) || *count <= stage.tolerated(samples.len())
        }),
    );
    report.alive(&mut nodes);
    let audit = report.audit(&ledger, &site)?;
    report.must("no client lost its connection", audit.unknown == 0);
    Ok(())
}
