//! Frames as long as any may be, in both directions: they arrive whole, and leave no memory behind.

use std::time::Instant;

use anyhow::{Context, ensure};
use testkit::process::resident_bytes;
use zino::peer::Peer;
use zot_wire::MAX_FRAME_BYTES;
use zot_wire::zino::memory::{Request, Response};
use zot_wire::zino::{Message, Response as _};

use super::report::{Report, seconds};
use super::{Scale, Stage};
use crate::bench::Samples;
use crate::cluster::{BusClient, loopback_places};

/// What a request and a response have around a text.
const AROUND: usize = 64 * 1024;

/// By how many percent memory may grow after the first rounds.
const GROWTH: u64 = 5;

/// By how much memory varies, far less than a frame.
const SLACK: u64 = 8 << 20;

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let mut site = stage.site()?;
    let (_, mut back) = site.front_and_back(stage.link, &loopback_places(2), site.url())?;
    back[0].start()?;
    let client = BusClient::connect(&site.path())?;
    let length = stage.pick(MAX_FRAME_BYTES / 16, MAX_FRAME_BYTES - AROUND);
    let pid = back[0].pid().context("the node runs")?;
    let rounds = stage.pick(2, 12);
    let (mut there, mut back_again) = (Samples::default(), Samples::default());
    let (mut memory, mut bus_memory) = (Vec::new(), Vec::new());
    for round in 0..rounds {
        let text = text(length, round);
        let (sent, received) = client.run(async |bus| {
            let peer = Peer::on_bus(bus, "mem");
            exchange(&peer, &text, round).await
        })?;
        there.push(sent);
        back_again.push(received);
        memory.push(resident_bytes(pid).unwrap_or_default());
        let server = site.bus()?.pid().context("the bus runs")?;
        bus_memory.push(resident_bytes(server).unwrap_or_default());
    }
    report.figure("frames in each direction", rounds);
    report.figure("bytes of a text", length);
    report.figure("stored, median", seconds(there.median()));
    report.figure("read, median", seconds(back_again.median()));
    for (name, memory) in [("the service", memory), ("the bus", bus_memory)] {
        let mebibytes: Vec<u64> = memory.iter().map(|bytes| bytes >> 20).collect();
        let what = format!("memory of {name} after each, MiB");
        // The first rounds show how much memory a frame needs.
        let (middle, last) = (memory[rounds / 2], memory[rounds - 1]);
        match stage.scale {
            Scale::Short => report.figure(&what, format_args!("{mebibytes:?}")),
            Scale::Long => report.must(
                &format!("{what}: {mebibytes:?}"),
                last <= middle + middle * GROWTH / 100 + SLACK,
            ),
        }
    }
    report.alive(&mut back);
    Ok(())
}

/// Stores a text and reads it again; returns how long each took.
async fn exchange(
    peer: &Peer<Request>,
    text: &str,
    round: usize,
) -> anyhow::Result<(std::time::Duration, std::time::Duration)> {
    let channel_id = "large".to_owned();
    let start = Instant::now();
    let stored = peer
        .ask(Request::AppendHistory {
            channel_id: channel_id.clone(),
            messages: vec![Message::new("user", text)],
            call: Some(format!("large-{round}")),
            hold: None,
        })
        .await?;
    ensure!(stored.as_failure().is_none(), "refused: {stored:?}");
    let sent = start.elapsed();
    let start = Instant::now();
    let read = peer
        .ask(Request::GetHistory {
            channel_id,
            limit: Some(1),
        })
        .await?;
    let received = start.elapsed();
    let Response::History { messages } = read else {
        anyhow::bail!("expected a history");
    };
    let whole = messages.len() == 1 && messages[0].text() == Some(text);
    ensure!(whole, "another text came back");
    Ok((sent, received))
}

/// Returns a text in which every part is different.
fn text(length: usize, round: usize) -> String {
    let mut text = String::with_capacity(length + 16);
    let mut number = round;
    while text.len() < length {
        text.push_str(&number.to_string());
        text.push(' ');
        number = number
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
    }
    text.truncate(length);
    text
}
