//! `kill -9` of the node that serves a turn, in the middle of its stream.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;

use super::Stage;
use super::report::Report;
use crate::bench::Samples;
use crate::cluster::{Ending, Ledger, Link, Node, Turn, begin, loopback_places, next_frame, turn};

const CHANNELS: usize = 16;

/// A turn ends, or continues elsewhere, within this time.
const BAR: Duration = Duration::from_secs(5);

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let site = stage.site()?;
    let (mut front, mut back) = site.front_and_back(stage.link, &loopback_places(3), site.url())?;
    front.start()?;
    for node in &mut back {
        node.start()?;
    }
    let ledger = Ledger::default();
    // On the bus a kill is noticed by silence.
    let kills = stage.pick(if stage.link == Link::Nats { 3 } else { 6 }, 200);
    let (mut ended, mut next) = (Samples::default(), Samples::default());
    let mut refused = 0;
    for number in 0..kills {
        let serving = interrupted_turn(number, &front, &mut back, &ledger, &mut ended)?;
        // Another channel: the one of the killed node is busy until its lease ends.
        let again = Turn {
            channel: format!("next-{}", number % CHANNELS),
            message: format!("say:1 again {number}"),
        };
        let start = Instant::now();
        let ending = turn(&front.socket("daemon"), &again);
        next.push(start.elapsed());
        refused += usize::from(ending != Ending::Saved);
        ledger.note(again, ending);
        back[serving].start()?;
    }
    report.figure("kills of the serving node", kills);
    report.time("the turn ended, longest", ended.percentile(100), BAR);
    report.figure(
        "the turn ended, median",
        super::report::seconds(ended.median()),
    );
    report.time("the next turn, longest", next.percentile(100), BAR);
    report.must(
        &format!("the next turn on the survivor: {refused} not saved"),
        refused == 0,
    );
    report.alive(&mut back);
    let audit = report.audit(&ledger, &site)?;
    ensure!(
        audit.saved + audit.unsaved + audit.failed == 2 * kills,
        "a turn is missing"
    );
    Ok(())
}

/// Begins a turn, kills the node that works on it, and notes how the turn ends. Returns that node.
fn interrupted_turn(
    number: usize,
    front: &Node,
    back: &mut [Node],
    ledger: &Ledger,
    ended: &mut Samples,
) -> anyhow::Result<usize> {
    let turn = Turn {
        channel: format!("kill-{number}"),
        message: format!("think:{number}:slow:60:25"),
    };
    let request = json!({ "message": turn.message, "channel_id": turn.channel, "stream": true });
    let mut stream = begin(&front.socket("daemon"), &request)?;
    let first = next_frame(&mut stream)?.context("a first frame")?;
    ensure!(first["type"] == "chunk", "unexpected {first}");
    let serving = back
        .iter()
        .position(|node| node.model.responses_in_progress() > 0)
        .context("no node works on the turn")?;
    // At another point of the stream each time.
    std::thread::sleep(Duration::from_millis((number as u64 * 37) % 300));
    let killed = Instant::now();
    back[serving].kill();
    let ending = Ending::of(&mut stream);
    ended.push(killed.elapsed());
    ledger.note(turn, ending);
    Ok(serving)
}
