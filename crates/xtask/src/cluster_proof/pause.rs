//! SIGSTOP of the node that holds channels, longer than a lease; then it continues.

use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::report::{Report, seconds};
use super::{Scale, Stage};
use crate::bench::Samples;
use crate::cluster::{
    Ending, Entrance, Ledger, Link, Load, Node, Site, Turn, ask, begin, loopback_places,
    next_frame, turn,
};

/// Twice the lease.
const PAUSE: Duration = Duration::from_secs(20);

/// Longer than the lease; the shortest that proves anything.
const SHORT_PAUSE: Duration = Duration::from_secs(12);

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    // Holders are nodes that share only the database.
    if stage.link == Link::Tls {
        stop_a_holder(stage, report)?;
    }
    stop_behind_callers(stage, report)
}

/// Stops a node with turns in progress. Another takes their channels over, and what the first sends later is
/// refused.
fn stop_a_holder(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let site = Site::new(&stage.program)?;
    let mut nodes = site.alone(&loopback_places(2))?;
    for node in &mut nodes {
        node.start()?;
    }
    let ledger = Ledger::default();
    let channels = stage.pick(4, 20);
    let holds = stage.pick(10, 100);
    let turns = begin_turns(&nodes[0], 0, channels)?;
    let held = hold(&nodes[0], "first", holds)?;
    let start = Instant::now();
    nodes[0].signal(Signal::STOP)?;
    continue_elsewhere(&nodes[1], 0, channels, start, &ledger, report);
    let taken = hold(&nodes[1], "second", holds)?;
    for hold in &taken {
        let appended = hold.append(&nodes[1], "by the new holder")?;
        ensure!(appended["sequence"] == 1, "unexpected {appended}");
    }
    std::thread::sleep(
        stage
            .pick(SHORT_PAUSE, PAUSE)
            .saturating_sub(start.elapsed()),
    );
    nodes[0].signal(Signal::CONT)?;
    let endings = finish_turns(turns, &ledger);
    let saved = endings.iter().filter(|ending| **ending == Ending::Saved);
    report.must(
        &format!(
            "{} of {channels} late turns were saved",
            saved.clone().count()
        ),
        saved.count() == 0,
    );
    let mut accepted = 0;
    for hold in &held {
        for node in &nodes {
            let answer = hold.append(node, "late")?;
            let refused = answer["type"] == "error" && answer["code"] == "moved";
            if !refused {
                report.figure("a late append was answered with", &answer);
            }
            accepted += usize::from(!refused);
        }
    }
    report.must(
        &format!("{accepted} of {} late appends were not refused", 2 * holds),
        accepted == 0,
    );
    // Nobody but the new holder has written.
    let rows =
        site.sql("select count(*), max(sequence) from zino_entry where channel like 'hold-%'");
    report.must(
        &format!("entries of held channels and the last number: {rows}"),
        rows == format!("{holds}|1"),
    );
    drop((held, taken));
    site.sql("delete from zino_entry where channel like 'hold-%'");
    report.audit(&ledger, &site)?;
    Ok(())
}

/// Stops a node that others call, under load: what it had received, it may do twice, and it is stored once.
fn stop_behind_callers(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let site = stage.site()?;
    let (mut front, mut back) = site.front_and_back(stage.link, &loopback_places(3), site.url())?;
    front.start()?;
    for node in &mut back {
        node.start()?;
    }
    let ledger = Ledger::default();
    let load = Load {
        name: "load".to_owned(),
        directive: "say:1 %NAME%",
        channel_prefix: "load".to_owned(),
        entrances: vec![Entrance::Socket(front.socket("daemon"))],
        clients: 8,
        channels: 40,
        turns: None,
    };
    let stop = AtomicBool::new(false);
    let samples = std::thread::scope(|scope| {
        let load = scope.spawn(|| load.run(&ledger, &stop));
        let stopped = || {
            // What the bus does with the second is the same.
            let few = stage.scale == Scale::Short && stage.link == Link::Nats;
            for node in back.iter().take(if few { 1 } else { back.len() }) {
                std::thread::sleep(Duration::from_secs(2));
                node.signal(Signal::STOP)?;
                std::thread::sleep(stage.pick(Duration::from_secs(5), PAUSE));
                node.signal(Signal::CONT)?;
            }
            std::thread::sleep(Duration::from_secs(2));
            anyhow::Ok(())
        };
        let stopped = stopped();
        stop.store(true, Ordering::Relaxed);
        let samples = load.join().unwrap_or_default();
        stopped.map(|()| samples)
    })?;
    let times: Samples = samples.iter().map(|sample| sample.took).collect();
    report.figure("turns while nodes behind their caller stopped", times.len());
    report.alive(&mut back);
    report.figure("their p99", seconds(times.percentile(99)));
    report.figure("the longest", seconds(times.percentile(100)));
    report.audit(&ledger, &site)?;
    Ok(())
}

/// Begins a long turn in each channel and waits until all stream.
pub(super) fn begin_turns(
    node: &Node,
    round: usize,
    channels: usize,
) -> anyhow::Result<Vec<(Turn, UnixStream)>> {
    let mut turns = Vec::new();
    for number in 0..channels {
        let turn = Turn {
            channel: format!("pause-{number}"),
            message: format!("think:{round}-{number}:slow:200:25"),
        };
        let request =
            json!({ "message": turn.message, "channel_id": turn.channel, "stream": true });
        turns.push((turn, begin(&node.socket("daemon"), &request)?));
    }
    for (_, stream) in &mut turns {
        let first = next_frame(stream)?.context("a first frame")?;
        ensure!(first["type"] == "chunk", "unexpected {first}");
    }
    Ok(turns)
}

/// Waits until the turns have ended, all at the same time; returns how, and how long after `start`.
pub(super) fn endings(
    turns: Vec<(Turn, UnixStream)>,
    start: Instant,
) -> Vec<(Turn, Ending, Duration)> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = turns
            .into_iter()
            .map(|(turn, mut stream)| {
                scope.spawn(move || (turn, Ending::of(&mut stream), start.elapsed()))
            })
            .collect();
        let joined = threads.into_iter().filter_map(|thread| thread.join().ok());
        joined.collect()
    })
}

/// Notes how the turns ended.
pub(super) fn finish_turns(turns: Vec<(Turn, UnixStream)>, ledger: &Ledger) -> Vec<Ending> {
    let mut endings = Vec::new();
    for (turn, mut stream) in turns {
        let ending = Ending::of(&mut stream);
        endings.push(ending.clone());
        ledger.note(turn, ending);
    }
    endings
}

/// Sends a turn to each channel of [`begin_turns`] on another node, all at the same time. Returns how long
/// after `start` each was saved.
pub(super) fn continue_elsewhere(
    node: &Node,
    round: usize,
    channels: usize,
    start: Instant,
    ledger: &Ledger,
    report: &mut Report,
) -> Vec<Duration> {
    let daemon = node.socket("daemon");
    let endings: Vec<(Duration, Ending)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..channels)
            .map(|number| {
                let daemon = &daemon;
                scope.spawn(move || {
                    let next = Turn {
                        channel: format!("pause-{number}"),
                        message: format!("say:1 next {round}-{number}"),
                    };
                    let ending = turn(daemon, &next);
                    let took = start.elapsed();
                    ledger.note(next, ending.clone());
                    (took, ending)
                })
            })
            .collect();
        let joined = threads.into_iter().filter_map(|thread| thread.join().ok());
        joined.collect()
    });
    let failed: Vec<_> = endings
        .iter()
        .filter(|end| end.1 != Ending::Saved)
        .collect();
    report.must(
        &format!("turns on the other node that were not saved: {failed:?}"),
        failed.is_empty() && endings.len() == channels,
    );
    endings.into_iter().map(|(took, _)| took).collect()
}

/// A hold on a channel, kept by its connection.
struct Hold {
    channel: String,
    owner: &'static str,
    fence: Value,
    _connection: UnixStream,
}

/// Holds channels directly at a node's `mem`.
fn hold(node: &Node, owner: &'static str, count: usize) -> anyhow::Result<Vec<Hold>> {
    let mut connections = Vec::new();
    for number in 0..count {
        let channel = format!("hold-{number}");
        let request = json!({ "type": "hold_channel", "channel_id": channel, "owner": owner });
        connections.push((channel, begin(&node.socket("mem"), &request)?));
    }
    let mut holds = Vec::new();
    for (channel, mut connection) in connections {
        let held = next_frame(&mut connection)?.context("an answer")?;
        ensure!(held["type"] == "held", "{channel}: {held}");
        holds.push(Hold {
            channel,
            owner,
            fence: held["fence"].clone(),
            _connection: connection,
        });
    }
    Ok(holds)
}

impl Hold {
    fn append(&self, node: &Node, text: &str) -> anyhow::Result<Value> {
        let request = json!({
            "type": "append_history", "channel_id": self.channel, "owner": self.owner,
            "fence": self.fence, "call": format!("{} {text} {}", self.owner, node.name),
            "messages": [{ "role": "user", "content": text }],
        });
        ask(&node.socket("mem"), &request)
    }
}
