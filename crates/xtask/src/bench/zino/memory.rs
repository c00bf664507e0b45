//! Measures long histories and many memories.

use std::fs;
use std::path::PathBuf;

use anyhow::ensure;
use serde_json::{Value, json};

use super::super::Effort;
use super::super::peer::Peer;
use super::super::report::{Quantity, Row};
use super::super::samples::Samples;
use super::super::scenarios::Bench;
use super::client::{Client, frame};
use super::corpus::{Corpus, write_history, write_memories};
use super::installation::Installation;
use super::requests::time_row;

const ECHO: &str = "echo of the same request";

/// The number of memories, the limit of a search in milliseconds, and the figure of the original.
const SIZES: [(usize, Option<f64>, &str); 3] = [
    (1_000, None, ""),
    (50_000, Some(2.0), "2,150 ms"),
    (1_000_000, Some(25.0), ""),
];

/// The number of memories at which storing is measured, too.
const STORED_AT: usize = 50_000;

impl Bench<'_> {
    /// Measures adding an exchange to channels of different lengths.
    pub(in super::super) fn histories(&self) -> anyhow::Result<Vec<Row>> {
        let installation = Installation::new(self, "histories")?;
        let lengths = [(10, ""), (10_000, "41 ms"), (100_000, "")];
        let file = |length: usize| {
            installation
                .path()
                .join(format!("data/mem/channels/c{length}.json"))
        };
        for (length, _) in lengths {
            write_history(&file(length), length)?;
        }
        let _zino = installation.up()?;
        let (_floor, echo) = self.echo(&installation)?;
        let memory = installation.socket("mem");
        let mut rows = Vec::new();
        for (length, original) in lengths {
            let append = json!({
                "type": "append_history",
                "channel_id": format!("c{length}"),
                "messages": exchange(&mut Corpus::new(3)),
            });
            let append = frame(&append)?;
            let before = fs::metadata(file(length))?.len();
            let first = Client::new(&memory).time(&append)?;
            let count = self.rounds(1_000);
            let own = Client::new(&memory).sample(count, |_| Ok(append.clone()))?;
            let floor = Client::new(&echo).sample(count, |_| Ok(append.clone()))?;
            let growth = fs::metadata(file(length))?.len().saturating_sub(before);
            ensure!(
                growth > (count * 100) as u64,
                "the channel's file was left alone"
            );
            let name = format!("`append_history` on {length} messages");
            rows.extend(latency_rows(&name, &own, &floor, Some(0.2), original));
            if length == 100_000 {
                rows.push(time_row(format!("{name}, the first"), first, None));
            }
        }
        Ok(rows)
    }

    /// Measures searching and storing one more. Prints figures as soon as they are known, because the
    /// last size takes long.
    pub(in super::super) fn hard_memories(
        &self,
        mut show: impl FnMut(Vec<Row>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        for (size, target, original) in SIZES {
            if self.effort() == Effort::Quick && size > STORED_AT {
                continue;
            }
            show(self.memories(size, target, original)?)?;
        }
        Ok(())
    }

    fn memories(
        &self,
        size: usize,
        target: Option<f64>,
        original: &'static str,
    ) -> anyhow::Result<Vec<Row>> {
        let installation = Installation::new(self, "memories")?;
        write_memories(
            &installation.path().join("data/mem/hard_memories.json"),
            size,
        )?;
        let zino = installation.up()?;
        let (_floor, echo) = self.echo(&installation)?;
        let socket = installation.socket("mem");
        let mut memory = Client::new(&socket);
        let search = |query: &str| frame(&json!({"type": "search_hard", "query": query}));

        let first = memory.time(&search(&Corpus::new(4).query())?)?;
        let mut queries = Corpus::new(5);
        let found = memory.value(&json!({"type": "search_hard", "query": queries.query()}))?;
        let results = found["results"].as_array().map_or(0, Vec::len);
        ensure!(results == 3, "{results} results: {found}");
        let count = self.rounds(500);
        let own = memory.sample(count, |_| search(&queries.query()))?;
        let mut queries = Corpus::new(5);
        let floor = Client::new(&echo).sample(count, |_| search(&queries.query()))?;
        let name = format!("`search_hard` over {size}");
        let mut rows = latency_rows(&name, &own, &floor, target, original);
        rows.push(time_row(format!("{name}, the first"), first, None));
        rows.push(Row {
            what: format!("RSS with {size} memories"),
            value: Quantity::Bytes(zino.resident_bytes()?),
            floor: None,
            target: None,
            original: "",
        });
        if size == STORED_AT {
            let mut new = Corpus::new(6);
            let mut store = |_| {
                let messages = exchange(&mut new);
                frame(&json!({"type": "store_hard", "messages": messages, "tag": "note"}))
            };
            let count = self.rounds(1_000);
            let own = memory.sample(count, &mut store)?;
            let floor = Client::new(&echo).sample(count, &mut store)?;
            let name = format!("`store_hard` at {size}");
            rows.extend(latency_rows(&name, &own, &floor, Some(0.2), "638 ms"));
        }
        Ok(rows)
    }

    /// Starts a server that echoes requests, and returns its socket.
    pub(super) fn echo(&self, installation: &Installation) -> anyhow::Result<(Peer, PathBuf)> {
        let socket = installation.path().join("echo.sock");
        let mut floor = self.floor()?;
        floor.work(&format!("echo {}", socket.display()))?;
        Ok((floor, socket))
    }
}

fn exchange(corpus: &mut Corpus) -> Value {
    let [question, answer] = corpus.memory();
    json!([
        {"role": "user", "content": question},
        {"role": "assistant", "content": answer},
    ])
}

/// Returns the rows of the median, which has a target of `target` milliseconds, and of the 99th
/// percentile.
fn latency_rows(
    name: &str,
    own: &Samples,
    floor: &Samples,
    target: Option<f64>,
    original: &'static str,
) -> Vec<Row> {
    let row = |per_cent| {
        let floor = floor.percentile(per_cent);
        let name = format!("{name}, p{per_cent}");
        time_row(name, own.percentile(per_cent), Some((ECHO, floor)))
    };
    let median = Row {
        target: target.map(Quantity::milliseconds),
        original,
        ..row(50)
    };
    vec![median, row(99)]
}
