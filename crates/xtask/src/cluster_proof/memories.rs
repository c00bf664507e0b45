//! A million memories in the database: how long `mem` takes to start and to search, and its memory.

use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::json;
use testkit::process::{peak_resident_bytes, resident_bytes};

use super::Stage;
use super::report::{Report, seconds};
use crate::bench::{Corpus, Samples, write_memories};
use crate::cluster::{Site, ask, loopback_places};

pub(super) fn run(stage: &Stage, report: &mut Report) -> anyhow::Result<()> {
    let site = Site::new(&stage.program)?;
    let count = stage.pick(2_000, 1_000_000);
    let files = site.path().join("files");
    write_memories(&files.join("hard_memories.json"), count)?;
    let start = Instant::now();
    site.zino(&["store", "import", "files"])?;
    report.figure(
        &format!("import of {count} memories"),
        seconds(start.elapsed()),
    );
    let mut nodes = site.alone(&loopback_places(1))?;
    let node = &mut nodes[0];
    let start = Instant::now();
    node.start()?;
    report.figure("`mem` answers after", seconds(start.elapsed()));
    let mut queries = Corpus::new(5);
    let memory = node.socket("mem");
    let mut search = || {
        let start = Instant::now();
        let found = ask(
            &memory,
            &json!({ "type": "search_hard", "query": queries.query() }),
        )?;
        let results = found["results"].as_array().map_or(0, Vec::len);
        ensure!(results > 0, "no results: {found}");
        Ok(start.elapsed())
    };
    search()?;
    report.figure(
        "the first search has answered after",
        seconds(start.elapsed()),
    );
    let mut samples = Samples::default();
    for _ in 0..stage.pick(20, 500) {
        samples.push(search()?);
    }
    report.figure("search, median", seconds(samples.median()));
    report.figure("search, p99", seconds(samples.percentile(99)));
    let pid = node.pid().context("the node runs")?;
    let mebibytes = |bytes: Option<u64>| bytes.unwrap_or_default() >> 20;
    report.figure("memory in MiB", mebibytes(resident_bytes(pid)));
    report.figure("most memory in MiB", mebibytes(peak_resident_bytes(pid)));
    let stored = site.sql("select count(*) from zino_memory");
    report.must(&format!("rows: {stored}"), stored == count.to_string());
    Ok(())
}
