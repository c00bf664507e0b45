//! Appends that are repeated, at different nodes and at the same time: each is stored once.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::{Value, json};

use super::Stage;
use super::report::Report;
use crate::cluster::{Site, begin, loopback_places, next_frame};

const CLIENTS: usize = 32;
const CHANNELS: usize = 1_000;

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let site = Site::new(&stage.program)?;
    let mut nodes = site.alone(&loopback_places(2))?;
    for node in &mut nodes {
        node.start()?;
    }
    let memories: Vec<PathBuf> = nodes.iter().map(|node| node.socket("mem")).collect();
    let count = stage.pick(1_000, 100_000);
    let (next, sent) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let start = Instant::now();
    let errors: Vec<anyhow::Error> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return anyhow::Ok(());
                        }
                        sent.fetch_add(append(number, &memories)?, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let joined = clients.into_iter().filter_map(|client| client.join().ok());
        joined.filter_map(Result::err).collect()
    });
    let elapsed = start.elapsed();
    report.alive(&mut nodes);
    report.must(&format!("errors: {:?}", errors.first()), errors.is_empty());
    let sent = sent.load(Ordering::Relaxed);
    report.figure("appends sent, with repetitions", sent);
    let rate = sent as f64 / elapsed.as_secs_f64();
    report.figure("requests per second", format_args!("{rate:.0}"));
    let rows = site.sql("select count(*), count(distinct call) from zino_entry");
    report.must(
        &format!("rows and different calls: {rows}"),
        rows == format!("{count}|{count}"),
    );
    let gaps = site.sql(
        "select count(*) from (select channel from zino_entry group by channel \
         having min(sequence) <> 1 or max(sequence) <> count(*)) as odd",
    );
    report.must(&format!("channels with gaps: {gaps}"), gaps == "0");
    Ok(())
}

/// Sends an append and repeats it one to three times; returns how often it was sent.
fn append(number: usize, memories: &[PathBuf]) -> anyhow::Result<usize> {
    let request = json!({
        "type": "append_history",
        "channel_id": format!("append-{}", number % CHANNELS),
        "call": format!("call-{number}"),
        "messages": [
            { "role": "user", "content": format!("message {number}") },
            { "role": "assistant", "content": "ok" },
        ],
    });
    // A multiplicative hash: the same numbers in every run.
    let random = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let times = 2 + random % 3;
    let memory = |time: usize| &memories[(number + time) % memories.len()];
    let mut answers = Vec::new();
    if random & 0x100 == 0 {
        for time in 0..times {
            answers.push(read(begin(memory(time), &request)?)?);
        }
    } else {
        let begun = (0..times).map(|time| begin(memory(time), &request));
        for stream in begun.collect::<anyhow::Result<Vec<_>>>()? {
            answers.push(read(stream)?);
        }
    }
    let same = answers.iter().all(|answer| *answer == answers[0]);
    ensure!(
        same && answers[0]["type"] == "ok" && answers[0]["sequence"].is_i64(),
        "call {number}: {answers:?}"
    );
    Ok(times)
}

fn read(mut stream: std::os::unix::net::UnixStream) -> anyhow::Result<Value> {
    next_frame(&mut stream)?.context("an answer")
}
