//! Many clients that read one frame a second: nothing is buffered without limit, and nobody is cut off.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use serde_json::json;
use testkit::process::resident_bytes;

use super::Stage;
use super::report::{Report, seconds};
use crate::cluster::{Node, begin, loopback_places, next_frame};

/// More than all buffers on the way hold.
const DELTAS: usize = 50_000;

/// Work of a caller that is gone ends within this time.
const ABANDONED: Duration = Duration::from_secs(8);

/// How often memory is looked at.
const SAMPLES: usize = 4;

/// By how many percent memory may grow in the second half of the time.
const GROWTH: u64 = 5;

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let mut site = stage.site()?;
    let places = loopback_places(3);
    let (mut front, mut back) = site.front_and_back(stage.link, &places, site.url())?;
    front.start()?;
    for node in &mut back {
        node.start()?;
    }
    // Shorter than the time after which a service disconnects a client that does not take what it writes.
    let (count, settle, watched) = stage.pick((20, 3, 4), (200, 5, 40));
    let mut readers = Vec::new();
    for number in 0..count {
        let request = json!({
            "message": format!("say:{DELTAS} reader {number}"),
            "channel_id": format!("reader-{number}"),
            "stream": true,
        });
        readers.push(Reader {
            stream: begin(&front.socket("daemon"), &request)?,
            text: String::new(),
        });
    }
    read_slowly(&mut readers, settle)?;
    let server = site.bus()?.pid().context("the bus runs")?;
    let pids = [
        ("the caller", front.pid().context("the front runs")?),
        ("a server", back[0].pid().context("the first server runs")?),
        (
            "the other server",
            back[1].pid().context("the second server runs")?,
        ),
        ("the bus", server),
    ];
    let mut memory = pids.map(|_| Vec::new());
    for _ in 0..SAMPLES {
        read_slowly(&mut readers, watched / SAMPLES)?;
        for ((_, pid), samples) in pids.iter().zip(&mut memory) {
            samples.push(resident_bytes(*pid).unwrap_or_default());
        }
    }
    report.figure("clients that read a frame a second", count);
    report.figure("for seconds", watched);
    // Small processes vary by more than a few percent.
    let slack = stage.pick(4 << 20, 1 << 20);
    for ((name, _), samples) in pids.into_iter().zip(memory) {
        let (middle, last) = (samples[SAMPLES / 2], samples[SAMPLES - 1]);
        let kibibytes: Vec<u64> = samples.iter().map(|bytes| bytes >> 10).collect();
        report.must(
            &format!("memory of {name}, KiB: {kibibytes:?}"),
            middle > 0 && last <= middle + middle * GROWTH / 100 + slack,
        );
    }
    let log = site.bus()?.log();
    report.must(
        "the server of the bus has cut nobody off",
        !log.contains("Slow Consumer"),
    );
    finish_one(&mut readers, report)?;
    abandon(readers, &back, report);
    report.alive(&mut back);
    Ok(())
}

/// A client, and what it has read.
struct Reader {
    stream: UnixStream,
    text: String,
}

impl Reader {
    /// Reads a frame; returns whether it was the last.
    fn read(&mut self) -> anyhow::Result<bool> {
        let frame = next_frame(&mut self.stream)?.context("the stream broke off")?;
        match frame["type"].as_str() {
            Some("chunk") => {
                let text = frame["delta"].as_str().context("a text")?;
                self.text.push_str(text);
                Ok(false)
            }
            Some("done") => Ok(true),
            _ => anyhow::bail!("unexpected {frame}"),
        }
    }
}

/// Reads a frame of each, once a second.
fn read_slowly(readers: &mut [Reader], times: usize) -> anyhow::Result<()> {
    let start = Instant::now();
    for second in 1..=times {
        for reader in &mut *readers {
            ensure!(!reader.read()?, "a stream has ended");
        }
        let next = Duration::from_secs(second as u64);
        std::thread::sleep(next.saturating_sub(start.elapsed()));
    }
    Ok(())
}

/// Reads one stream to its end, and compares the others with its beginning.
fn finish_one(readers: &mut Vec<Reader>, report: &mut Report) -> anyhow::Result<()> {
    let mut finished = readers.pop().context("a reader")?;
    while !finished.read()? {}
    let words = finished.text.split(' ').filter(|word| !word.is_empty());
    let words = words.count();
    report.must(
        &format!("words of a stream read to its end: {words}"),
        words == DELTAS,
    );
    let different = readers
        .iter()
        .filter(|reader| !finished.text.starts_with(&reader.text))
        .count();
    report.must(
        &format!("streams with a gap or in another order: {different}"),
        different == 0,
    );
    Ok(())
}

/// Leaves, and waits until nobody works for the clients any more.
fn abandon(readers: Vec<Reader>, back: &[Node], report: &mut Report) {
    drop(readers);
    let left = Instant::now();
    let working = || {
        let nodes = back.iter().map(|node| node.model.responses_in_progress());
        nodes.sum::<usize>()
    };
    while working() > 0 && left.elapsed() < 3 * ABANDONED {
        std::thread::sleep(Duration::from_millis(5));
    }
    report.must(
        &format!(
            "work in progress {} after all clients left: {}",
            seconds(left.elapsed()),
            working()
        ),
        working() == 0,
    );
}
