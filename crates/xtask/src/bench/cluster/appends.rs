//! Measures appends of several clients to one `mem`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::ensure;
use tokio::task::JoinSet;
use zino::peer::Peer;
use zot_wire::zino::memory::Request;
use zot_wire::zino::{Message, Response as _};

use super::super::report::{Quantity, Row};
use super::super::samples::Samples;
use super::{CHANNELS, ClusterBench, LINKS, UNIX};
use crate::cluster::{Link, Site, loopback_places};

impl ClusterBench {
    /// Measures named appends, each of which is on disk when it is answered.
    pub(in super::super) fn appends(&self) -> anyhow::Result<Vec<Row>> {
        let site = Site::new(&self.program)?.with_link(Link::Nats)?;
        let (_, mut back) = site.front_and_back(Link::Nats, &loopback_places(2), site.url())?;
        back[0].start()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let mut rows = Vec::new();
        for (clients, count) in [(1, 1_000), (8, 8_000), (32, 16_000)] {
            let count = self.effort.rounds(count);
            let measure = |link, name: &str| {
                runtime.block_on(async {
                    let memory = site.memory(link, &back[0]).await?;
                    append(&memory, clients, count, &format!("{name}-{clients}")).await
                })
            };
            measure(Link::Tls, "warm")?;
            let unix = measure(Link::Unix, "unix")?;
            for (name, link) in LINKS {
                let own = measure(link, name)?;
                rows.push(Row {
                    what: format!("appends, {clients} in flight, {name}"),
                    value: own.0,
                    floor: Some((UNIX, unix.0)),
                    target: None,
                    original: "",
                });
                rows.push(Row {
                    what: format!("append, {clients} in flight, {name}, p50"),
                    value: Quantity::Time(own.1.median()),
                    floor: Some((UNIX, Quantity::Time(unix.1.median()))),
                    target: None,
                    original: "",
                });
            }
        }
        Ok(rows)
    }
}

/// Returns how many appends a second clients made, and how long each took.
async fn append(
    memory: &Peer<Request>,
    clients: usize,
    count: usize,
    name: &str,
) -> anyhow::Result<(Quantity, Samples)> {
    let next = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for _ in 0..clients {
        let (memory, next, name) = (memory.clone(), Arc::clone(&next), name.to_owned());
        tasks.spawn(async move {
            let mut samples = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return anyhow::Ok(samples);
                }
                let start = Instant::now();
                let response = memory.ask(request(&name, number)).await?;
                samples.push(start.elapsed());
                ensure!(response.as_failure().is_none(), "refused: {response:?}");
            }
        });
    }
    let mut samples = Samples::default();
    while let Some(client) = tasks.join_next().await {
        samples.extend(client??);
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    Ok((Quantity::Rate(rate), samples))
}

fn request(name: &str, number: usize) -> Request {
    Request::AppendHistory {
        channel_id: format!("bench-{}", number % CHANNELS),
        messages: vec![
            Message::new("user", "a question of ordinary length, as people ask it"),
            Message::new(
                "assistant",
                "an answer, which is somewhat longer than its question was",
            ),
        ],
        call: Some(format!("{name}-{number}")),
        hold: None,
    }
}
