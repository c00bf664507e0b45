//! Everything is restarted, one process after the other, under load: no turn and no prompt fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use testkit::Zot;

use super::Stage;
use super::report::{Report, seconds};
use super::workers::prompt;
use crate::bench::Samples;
use crate::cluster::{
    BusClient, Ending, Entrance, Ledger, Load, Node, Sample, Site, loopback_places,
};

const CHANNELS: usize = 100;

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let site = stage.site()?;
    let mut nodes = stage.equals(&site)?;
    nodes.extend(site.workers(&loopback_places(2))?);
    for node in &mut nodes {
        node.start()?;
    }
    let ledger = Ledger::default();
    let stop = AtomicBool::new(false);
    let prompts = AtomicUsize::new(0);
    let loads = loads(stage, &site)?;
    let (samples, ends) = std::thread::scope(|scope| {
        let loads = loads
            .iter()
            .map(|load| scope.spawn(|| load.run(&ledger, &stop)));
        let loads: Vec<_> = loads.collect();
        let sessions = (0..stage.pick(2, 8)).map(|_| site.attach());
        let sessions: Vec<_> = sessions
            .map(|client| scope.spawn(|| talk(client, &prompts, &stop)))
            .collect();
        let ends = restart_all(stage, &mut nodes);
        stop.store(true, Ordering::Relaxed);
        let samples = loads
            .into_iter()
            .flat_map(|load| load.join().unwrap_or_default());
        let samples: Vec<Sample> = samples.collect();
        for session in sessions {
            session.join().map_err(|_| anyhow!("a client panicked"))??;
        }
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
    let prompts = prompts.load(Ordering::Relaxed);
    report.must(
        &format!("prompts of attached clients, 0 failed: {prompts}"),
        prompts > 0,
    );
    report.alive(&mut nodes);
    report.audit(&ledger, &site)?;
    Ok(())
}

/// Returns turns of different lengths, so that every process has work when it is asked to end.
fn loads(stage: &Stage, site: &Site) -> anyhow::Result<[Load; 2]> {
    let client = Arc::new(BusClient::connect(&site.path())?);
    let load = |name: &str, directive, channels| Load {
        name: name.to_owned(),
        directive,
        entrances: vec![Entrance::Bus(Arc::clone(&client))],
        clients: stage.pick(2, 8),
        channel_prefix: name.to_owned(),
        channels,
        turns: None,
    };
    Ok([
        load("short", "say:1 %NAME%", CHANNELS),
        load("long", "think:%NAME%:slow:20:50", CHANNELS),
    ])
}

/// Restarts all processes in turn; returns how long each took to end.
fn restart_all(stage: &Stage, nodes: &mut [Node]) -> anyhow::Result<Samples> {
    let (rounds, pause) = stage.pick((1, 200), (5, 1_000));
    let mut ends = Samples::default();
    for _ in 0..rounds {
        for node in &mut *nodes {
            std::thread::sleep(Duration::from_millis(pause));
            let start = Instant::now();
            node.stop()?;
            ends.push(start.elapsed());
            node.start()?;
        }
    }
    std::thread::sleep(Duration::from_millis(pause));
    Ok(ends)
}

/// Sends one prompt after the other to a session.
fn talk(mut client: Zot, prompts: &AtomicUsize, stop: &AtomicBool) -> anyhow::Result<()> {
    while !stop.load(Ordering::Relaxed) {
        let number = prompts.fetch_add(1, Ordering::Relaxed);
        let message = match number % 2 {
            0 => format!("say:3 prompt {number}"),
            _ => format!("think:{number}:slow:10:50"),
        };
        prompt(&mut client, &message)?;
        // The workers' restarts meet idle sessions, too.
        std::thread::sleep(Duration::from_millis(number as u64 % 5 * 100));
    }
    Ok(())
}
