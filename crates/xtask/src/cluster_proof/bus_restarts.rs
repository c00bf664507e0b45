//! The server of the bus is killed or stopped, again and again, while clients send turns.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use testkit::nats::NatsEnd;
use testkit::process::resident_bytes;

use super::Stage;
use super::pause::begin_turns;
use super::report::{Report, seconds};
use crate::bench::Samples;
use crate::cluster::{Ending, Ledger, Load, Node, Sample, daemons};

/// A caller in the middle of a stream notices within this time.
const NOTICED: Duration = Duration::from_secs(3);

/// Turns work again this long after the server is back, and take no longer.
const NEW_CALL: Duration = Duration::from_millis(1_500);

/// How many long turns are in flight when the server ends.
const STREAMS: usize = 4;

const CHANNELS: usize = 200;

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let mut site = stage.site()?;
    let mut nodes = stage.equals(&site)?;
    for node in &mut nodes {
        node.start()?;
    }
    let (period, absence, stops) = stage.pick(
        (Duration::from_secs(3), Duration::from_millis(500), 2),
        (Duration::from_secs(8), Duration::from_secs(2), 15),
    );
    let ledger = Ledger::default();
    let load = Load {
        name: "load".to_owned(),
        directive: "say:1 %NAME%",
        channel_prefix: "load".to_owned(),
        entrances: daemons(&nodes),
        clients: stage.pick(4, 16),
        channels: CHANNELS,
        turns: None,
    };
    let front = nodes.iter().find(|node| node.runs("daemon"));
    let front = front.context("a node with a daemon")?;
    let stop = AtomicBool::new(false);
    let (mut absences, mut noticed) = (Vec::new(), Samples::default());
    let (mut broken, mut memory) = (0, Vec::new());
    let samples = std::thread::scope(|scope| {
        let load = scope.spawn(|| load.run(&ledger, &stop));
        let mut restarts = || {
            for round in 0..stops {
                std::thread::sleep(period / 2);
                let turns = begin_turns(front, round, STREAMS)?;
                let ended = Instant::now();
                site.bus()?.stop(match round % 2 {
                    0 => NatsEnd::Kill,
                    _ => NatsEnd::Stop,
                });
                for (turn, ending, took) in super::pause::endings(turns, ended) {
                    broken += usize::from(ending != Ending::Saved);
                    noticed.push(took);
                    ledger.note(turn, ending);
                }
                std::thread::sleep(absence.saturating_sub(ended.elapsed()));
                site.bus()?.start_again();
                absences.push((ended, Instant::now()));
                std::thread::sleep(period);
                memory.push(resident(&nodes));
            }
            anyhow::Ok(())
        };
        let result = restarts();
        stop.store(true, Ordering::Relaxed);
        let samples = load.join().unwrap_or_default();
        result.map(|()| samples)
    })?;
    report.figure("stops of the server", stops);
    report.must(
        &format!("of {} streams, {broken} were broken off", stops * STREAMS),
        broken == stops * STREAMS,
    );
    report.time("noticed, longest", noticed.percentile(100), NOTICED);
    judge(stage, &samples, &absences, report);
    report.figure(
        "memory of all nodes after each stop, MiB",
        format_args!("{memory:?}"),
    );
    report.alive(&mut nodes);
    let audit = report.audit(&ledger, &site)?;
    report.must("no client lost its connection", audit.unknown == 0);
    Ok(())
}

/// Judges the short turns that clients sent all the time.
fn judge(stage: &Stage, samples: &[Sample], absences: &[(Instant, Instant)], report: &mut Report) {
    let returned = |sample: &&Sample| {
        absences.iter().enumerate().any(|(number, (_, back))| {
            let next = absences.get(number + 1).map(|(ended, _)| *ended);
            let end = sample.begun + sample.took;
            sample.begun > *back + NEW_CALL && next.is_none_or(|next| end < next)
        })
    };
    let after: Vec<&Sample> = samples.iter().filter(returned).collect();
    let failed = after.iter().filter(|sample| sample.ending != Ending::Saved);
    let first = failed.clone().next().map(|sample| &sample.ending);
    report.must(
        &format!(
            "of {} turns begun {} after its return or later, {} failed {first:?}",
            after.len(),
            seconds(NEW_CALL),
            failed.clone().count()
        ),
        !after.is_empty() && failed.count() <= stage.tolerated(after.len()),
    );
    let times: Samples = after.iter().map(|sample| sample.took).collect();
    report.time("their p99", times.percentile(99), NEW_CALL);
    let first_saved: Samples = absences
        .iter()
        .filter_map(|(_, back)| {
            let saved = samples
                .iter()
                .filter(|sample| sample.ending == Ending::Saved);
            let ends = saved.filter(|sample| sample.begun > *back);
            let end = ends.map(|sample| sample.begun + sample.took).min()?;
            Some(end.saturating_duration_since(*back))
        })
        .collect();
    report.figure(
        "from its return to the next saved turn, longest",
        seconds(first_saved.percentile(100)),
    );
}

/// Returns the memory of nodes in MiB.
fn resident(nodes: &[Node]) -> u64 {
    let bytes = nodes.iter().filter_map(|node| resident_bytes(node.pid()?));
    bytes.sum::<u64>() >> 20
}
